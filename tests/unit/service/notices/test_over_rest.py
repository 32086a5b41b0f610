"""Receivers over REST: who may see them, what is shown of their secrets, and tests."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from tests.support.service.hosted import Service

pytestmark = pytest.mark.slow
SECRET_URL = "https://hooks.example.com/services/T0P/s3cr3t?token=hunter2"


def body(**more: Any) -> dict[str, Any]:
    return {"name": "on call", "kind": "webhook", "target": SECRET_URL, **more}


def test_a_secret_is_shown_once_and_the_url_never(service: Service, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    made = service.take("POST", "/v1/receivers", body(), **{"Idempotency-Key": "k"})
    again = service.take("POST", "/v1/receivers", body(), **{"Idempotency-Key": "k"})
    secret = made["secret"]
    assert secret.startswith("whsec_")
    assert (again["id"], again["secret"], made["address"]) == (made["id"], None, "https://hooks.example.com/…")
    path = f"/v1/receivers/{made['id']}"
    shown = [service.ask("GET", p).text for p in ("/v1/receivers", path, f"{path}/deliveries", "/v1/audit")]
    shown += [service.ask("PATCH", path, {"kinds": ["guard"]}).text, service.ask("DELETE", path).text, caplog.text]
    for text in shown:
        assert not [word for word in (secret, "s3cr3t", "hunter2") if word in text]


def test_only_an_administrator_of_the_whole_service_reaches_receivers(service: Service, database: str) -> None:
    path = f"/v1/receivers/{service.take('POST', '/v1/receivers', body())['id']}"
    bound = service.take("POST", f"/v1/databases/{database}/tokens", {"name": "x", "scopes": ["admin"]})["token"]
    operator = service.take("POST", "/v1/tokens", {"name": "x", "scopes": ["operate", "models"]})["token"]
    for token in (bound, operator):
        api = service.as_bearer(token)
        for method, at in (
            ("GET", "/v1/receivers"),
            ("GET", path),
            ("GET", f"{path}/deliveries"),
            ("DELETE", path),
            ("POST", f"{path}/test"),
        ):
            assert api.code(method, at) == (403, "forbidden")
        assert api.code("PATCH", path, {"enabled": False}) == (403, "forbidden")
        assert api.code("POST", "/v1/receivers", body(name="other")) == (403, "forbidden")


@pytest.mark.parametrize(
    "wrong",
    [
        {"target": "ftp://example.com/"},
        {"target": "https://user:secret@example.com/"},
        {"target": "https://example.com/\r\nX: y"},
        {"target": "https://:99999/"},
        {"kind": "apprise", "target": "syslog://"},
        {"kinds": ["digest"]},
        {"databases": ["db_../x"]},
        {"quiet_hours": {"start": "22:00", "end": "22:00"}},
        {"quiet_hours": {"start": "22:00", "end": "25:00"}},
        {"quiet_hours": {"start": "22:00", "end": "07:00", "zone": "Nowhere/Here"}},
        {"enabled": True},
    ],
)
def test_a_receiver_that_cannot_be_told_anything_is_refused(service: Service, wrong: dict[str, Any]) -> None:
    answer = service.ask("POST", "/v1/receivers", body(**wrong))
    assert answer.status_code == 422
    assert "secret@" not in answer.text
    assert service.take("GET", "/v1/receivers")["items"] == []


def test_names_are_unique_and_a_database_has_to_exist(service: Service) -> None:
    service.take("POST", "/v1/receivers", body())
    assert service.code("POST", "/v1/receivers", body()) == (409, "conflict")
    assert service.code("POST", "/v1/receivers", body(name="b", databases=["db_none"])) == (404, "not_found")


def test_a_patch_changes_what_it_names(service: Service, database: str) -> None:
    hours = {"start": "22:00", "end": "07:00", "zone": "UTC"}
    path = f"/v1/receivers/{service.take('POST', '/v1/receivers', body(kinds=['guard'], quiet_hours=hours))['id']}"
    service.take("PATCH", path, {"databases": [database], "name": "night"})
    found = service.take("PATCH", path, {"quiet_hours": None, "enabled": False})
    assert (found["kinds"], found["databases"], found["name"]) == (["guard"], [database], "night")
    assert (found["quiet_hours"], found["enabled"]) == (None, False)
    assert service.code("POST", f"{path}/test") == (409, "conflict")


def test_a_test_that_is_waited_for_tells_its_result(service: Service) -> None:
    made = service.take("POST", "/v1/receivers", body(target="http://127.0.0.1:9/"))
    path = f"/v1/receivers/{made['id']}"
    sent = service.take("POST", f"{path}/test", Prefer="wait=60")
    assert (sent["state"], sent["error"], sent["attempts"]) == ("failed", "no connection: Connection refused", 1)
    (kept,) = service.take("GET", f"{path}/deliveries?state=failed")["items"]
    assert kept == sent
    assert service.take("GET", f"{path}/deliveries?state=waiting")["items"] == []


def test_metrics_count_what_waits_and_what_became_of_the_rest(service: Service) -> None:
    made = service.take("POST", "/v1/receivers", body(target="http://127.0.0.1:9/"))
    service.take("POST", f"/v1/receivers/{made['id']}/test", Prefer="wait=60")
    text = service.client.get("/metrics").text
    assert "lutra_notices_waiting 0.0" in text
    assert 'lutra_deliveries_total{result="failed"}' in text

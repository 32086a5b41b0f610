"""What the log and the metrics tell of a request, and what they never do."""

from __future__ import annotations

import json
import logging
from pathlib import Path

import pytest
from lutra_service.common.logs import JsonLines, Seldom

from tests.support.asgi import ask
from tests.support.service import Service, running


def lines(caplog: pytest.LogCaptureFixture) -> list[dict[str, object]]:
    found = [r for r in caplog.records if r.name == "lutra_service.requests" and r.message == "request"]
    return [vars(record)["fields"] for record in found]


def metric(service: Service, method: str, route: str, status: int) -> float:
    wanted = f'lutra_requests_total{{method="{method}",route="{route}",status="{status}"}} '
    told = service.client.get("/metrics").text.splitlines()
    return sum(float(line.removeprefix(wanted)) for line in told if line.startswith(wanted))


def test_made_up_methods_and_paths_make_no_labels(service: Service) -> None:
    told: list[int] = []
    service.client.get("/metrics")  # which has a label of its own
    for of in range(2):
        for n in range(of * 40, of * 40 + 40):
            ask(service, f"M{n:06}" + "X" * 3000, f"/v1/zz{n}", {})
            ask(service, f"M{n:06}", "/v1/databases", {})
        told.append(len(service.client.get("/metrics").text.splitlines()))
    assert told[0] == told[1]
    assert metric(service, "other", "unmatched", 404) >= 80
    assert metric(service, "other", "/v1/databases", 405) >= 80


def test_requests_with_a_body_are_counted_under_their_route(service: Service, database: str) -> None:
    posted = metric(service, "POST", "/v1/databases", 201)
    changed = metric(service, "PATCH", "/v1/databases/{database}", 200)
    service.database("another")
    service.take("PATCH", f"/v1/databases/{database}", {"policy": {"restart": True}})
    assert metric(service, "POST", "/v1/databases", 201) == posted + 1
    assert metric(service, "PATCH", "/v1/databases/{database}", 200) == changed + 1
    assert metric(service, "PUT", "unmatched", 200) == 0


def test_a_log_line_names_token_address_and_request_and_no_query_nor_header(
    service: Service, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO, "lutra_service.requests"):
        asked = ask(
            service,
            "GET",
            "/v1/databases?after=db_secretqueryxxxxxxxxxxx",
            {**service.headers, "x-secret": "secretheader"},
        )
        ask(service, "GET", "/v1/databases", {"authorization": "Bearer lutra_" + "x" * 43})
    first, second = lines(caplog)
    assert (first["status"], first["path"], first["address"]) == (200, "/v1/databases", "192.0.2.7")
    assert str(first["token"]).startswith("tok_")
    assert second["token"] is None
    assert "secret" not in caplog.text + json.dumps([first, second])
    assert asked.headers["x-request-id"].startswith("req_")


def test_a_log_line_is_short_however_long_the_url_is(service: Service, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "lutra_service.requests"):
        for path in ("/" + "x" * 60_000, "/v1/" + "y/" * 30_000, "/v1/databases?" + "z=1&" * 15_000):
            ask(service, "G" * 60_000, path, {})
    assert max(len(json.dumps(line)) for line in lines(caplog)) < 500


def test_problems_and_log_lines_carry_the_requests_id(
    service: Service, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    formatted: list[str] = []
    monkeypatch.setattr(logging.getLogger("lutra_service.requests"), "handlers", [_Formatting(formatted)])
    with caplog.at_level(logging.INFO, "lutra_service.requests"):
        asked = ask(service, "GET", "/v1/nothing", {})
    assert json.loads(asked.body)["request_id"] == asked.headers["x-request-id"]
    (line,) = formatted
    assert json.loads(line)["request"] == asked.headers["x-request-id"]


def test_a_request_has_an_id_of_its_own_unless_a_proxy_gave_one(tmp_path: Path) -> None:
    given = {"x-request-id": "proxy-1234"}
    with running(tmp_path) as service:
        ids = [ask(service, "GET", "/healthz", given).headers["x-request-id"] for _ in range(3)]
        assert len({*ids, "proxy-1234"}) == 4


def test_behind_a_proxy_its_wellformed_request_id_is_kept(tmp_path: Path) -> None:
    with running(tmp_path, behind_tls_proxy=True) as service:
        assert ask(service, "GET", "/healthz", {"x-request-id": "proxy-1234"}).headers["x-request-id"] == "proxy-1234"
        for bad in ("", "x", "a" * 65, "line\nbreak", "ein Wort", '"}{'):
            assert ask(service, "GET", "/healthz", {"x-request-id": bad}).headers["x-request-id"].startswith("req_")


def test_who_is_refused_for_asking_too_often_fills_no_log(
    tmp_path: Path, five: float, caplog: pytest.LogCaptureFixture
) -> None:
    with running(tmp_path, anonymous_per_s=five) as service, caplog.at_level(logging.INFO, "lutra_service.requests"):
        for _ in range(50):
            ask(service, "GET", "/v1/databases", {})
    assert len(lines(caplog)) == 5


def test_warnings_that_any_client_brings_about_are_logged_seldom() -> None:
    now = [0.0]
    seldom = Seldom(60.0, lambda: now[0])

    def passes(message: str) -> bool:
        return bool(seldom.filter(logging.LogRecord("uvicorn.error", logging.WARNING, "", 0, message, (), None)))

    assert [passes("Invalid HTTP request received.") for _ in range(3)] == [True, False, False]
    assert [passes("Started server process") for _ in range(2)] == [True, True]
    now[0] = 61.0
    assert passes("Invalid HTTP request received.")


class _Formatting(logging.Handler):
    def __init__(self, formatted: list[str]) -> None:
        super().__init__()
        self.formatted = formatted
        self.setFormatter(JsonLines())

    def emit(self, record: logging.LogRecord) -> None:
        self.formatted.append(self.format(record))

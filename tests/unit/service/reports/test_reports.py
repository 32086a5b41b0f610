from __future__ import annotations

import gzip
import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.support.service.hosted import Agent, Service, running, silent_for

pytestmark = pytest.mark.slow


def stored(service: Service, database: str) -> int:
    return len(service.store.read(lambda unit: unit.reports.sequences(database)))


def test_a_report_is_stored_once_however_often_it_comes(service: Service, agent: Agent, database: str) -> None:
    body = agent.report(**agent.window(qps=10.0))
    assert agent.send(body)["duplicate"] is False
    assert agent.send(body, packed=True)["duplicate"] is True
    assert stored(service, database) == 1


def test_a_reinstalled_agents_reports_are_no_duplicates(service: Service, agent: Agent, database: str) -> None:
    agent.send()
    silent_for(service, agent)
    again = service.agent(database, epoch="epoch2")
    assert again.send()["duplicate"] is False
    assert stored(service, database) == 2


def test_a_duplicate_is_answered_with_the_current_directive(service: Service, agent: Agent, database: str) -> None:
    body = agent.report()
    assert agent.send(body)["directive"] is None
    path = f"/v1/databases/{database}/recommendations"
    made = service.take("POST", path, {"settings": {"work_mem": "8MB"}, "approve": True})
    assert agent.send(body)["directive"]["id"] == made["id"]


def test_settings_are_asked_for_until_they_have_come(service: Service, agent: Agent, database: str) -> None:
    body = agent.report(**agent.window(qps=10.0))
    settings = body.pop("settings")
    assert agent.send(body)["settings_wanted"] is True
    later = agent.report() | {"settings": settings}
    assert agent.send(later)["settings_wanted"] is False
    without = agent.report()
    without.pop("settings")
    assert agent.send(without)["settings_wanted"] is False


def test_an_old_report_is_history_and_changes_no_facts(service: Service, agent: Agent, database: str) -> None:
    old = agent.report(peak_connections=5, **agent.window(qps=1.0))
    agent.send(agent.report(engine_version="16.5", **agent.window(qps=2.0)))
    agent.send(old)
    assert service.take("GET", f"/v1/databases/{database}")["engine_version"] == "16.5"
    assert stored(service, database) == 2


BAD: dict[str, Any] = {
    "NaN": '{"qps": NaN}',
    "infinity": '{"qps": Infinity}',
    "minus infinity": '{"qps": -Infinity}',
    "beyond a float": '{"qps": 1e999}',
    "1e308": '{"qps": 1e308}',
    "negative": '{"qps": -1}',
    "text": '{"qps": "12"}',
    "bool": '{"qps": true}',
    "null": '{"qps": null}',
    "huge integer": '{"qps": ' + "9" * 5000 + "}",
    "a name that is none": '{"q ps": 1}',
}


@pytest.mark.parametrize("metrics", BAD.values(), ids=BAD)
def test_bad_numbers_are_refused_and_nothing_changes(
    service: Service, agent: Agent, database: str, metrics: str
) -> None:
    before = service.take("GET", f"/v1/databases/{database}")
    body = json.dumps(agent.report(**agent.window(marker=1.0))).replace('{"marker": 1.0}', metrics)
    response = agent.client.post(
        f"/v1/databases/{database}/reports", content=body, headers={**agent.headers, "Content-Type": "application/json"}
    )
    assert 400 <= response.status_code < 500, response.text
    assert response.headers["content-type"] == "application/problem+json"
    assert response.json()["code"] in ("invalid_json", "invalid_request")
    assert stored(service, database) == 0
    assert service.take("GET", f"/v1/databases/{database}") == before


def test_more_nonsense_is_refused(service: Service, agent: Agent, database: str) -> None:
    future = (agent.clock + timedelta(days=2)).isoformat()
    later = {"start": agent.clock.isoformat(), "end": future}
    nonsense: list[tuple[dict[str, Any], str]] = [
        ({"window": later, "metrics": {"qps": 1.0}}, "invalid_request"),
        ({"engine": "oracle"}, "invalid_report"),
        ({"host": {"memory_bytes": 1, "cores": "nan"}}, "invalid_request"),
        ({"host": {"memory_bytes": -1, "cores": 1}}, "invalid_request"),
        ({"metrics": {"qps": 1.0}}, "invalid_request"),
        ({"sent_at": "0001-01-01T00:00:00+14:00"}, "invalid_request"),
        ({"measures": "rec_of_nobody"}, "invalid_report"),
        ({"agent": "a b"}, "invalid_request"),
        ({"engine_version": "16\x00"}, "invalid_json"),
        ({"sequence": -1}, "invalid_request"),
        ({"sequence": 2**80}, "invalid_json"),
    ]
    for parts, code in nonsense:
        told = agent.code("POST", f"/v1/databases/{database}/reports", agent.report() | parts)
        assert told[1] == code, (parts, told)
        assert 400 <= told[0] < 500
    assert stored(service, database) == 0


def test_an_unknown_field_is_answered_with_the_protocol_that_is_spoken(agent: Agent, database: str) -> None:
    response = agent.ask("POST", f"/v1/databases/{database}/reports", agent.report(mood="good"))
    assert response.status_code == 422
    assert response.json()["code"] == "unknown_field"
    assert response.json()["protocol"] == 1
    assert "mood" in response.json()["detail"]


def test_a_gzip_bomb_is_never_unpacked(tmp_path: Path) -> None:
    with running(tmp_path, max_expanded_bytes=100_000) as service:
        agent = service.agent(service.database())
        bomb = gzip.compress(b" " * 50_000_000)
        assert len(bomb) < 100_000
        headers = {**agent.headers, "Content-Encoding": "gzip", "Content-Type": "application/json"}
        response = agent.client.post(f"/v1/databases/{agent.database}/reports", content=bomb, headers=headers)
        assert (response.status_code, response.json()["code"]) == (413, "too_large")


def test_other_bodies_that_are_none(service: Service, agent: Agent, database: str) -> None:
    path = f"/v1/databases/{database}/reports"
    cases: list[tuple[bytes, dict[str, str], int]] = [
        (b"x" * 3_000_000, {}, 413),
        (b"not gzip", {"Content-Encoding": "gzip"}, 400),
        (gzip.compress(b"{}")[:-4], {"Content-Encoding": "gzip"}, 400),
        (b"{}", {"Content-Encoding": "br"}, 415),
        (b"[" * 100_000, {}, 400),
        (b'{"a":' * 40 + b"1" + b"}" * 40, {}, 400),
        (b"\xff\xfe", {}, 400),
        (b'{"agent": "\\ud800"}', {}, 400),
        (b"{}", {}, 422),
    ]
    for content, more, status in cases:
        headers = {**agent.headers, "Content-Type": "application/json", **more}
        response = agent.client.post(path, content=content, headers=headers)
        assert response.status_code == status, (content[:20], response.text)
        assert response.headers["content-type"] == "application/problem+json"


def test_an_agents_token_reaches_its_own_database_alone(service: Service, agent: Agent, database: str) -> None:
    other = service.database("other")
    assert agent.code("POST", f"/v1/databases/{other}/reports", agent.report()) == (403, "forbidden")
    assert agent.code("GET", f"/v1/databases/{other}") == (403, "forbidden")
    assert agent.code("POST", "/v1/databases", {"name": "x", "engine": "postgresql"}) == (403, "forbidden")
    assert agent.take("GET", f"/v1/databases/{database}")["id"] == database

"""Values that no database takes, and settings that no catalogue reads, are refused by name: on both stores alike."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from lutra_service.db.schema.records import Event
from lutra_service.db.schema.storable import Unstorable

from tests.support.service.hosted import Agent, Document, Service, approved

pytestmark = pytest.mark.slow

FAR_EAST, FAR_WEST = "0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00"


def event(**parts: Any) -> Document:
    figures = {"value": 9.0, "bound": 3.0, "limit": 3.0, "held_s": 10.0, "hold_s": 10.0}
    now = datetime.now(UTC).isoformat()
    return {
        "id": "ev_1",
        "guard": "p99",
        "metric": "p99_ms",
        **figures,
        "since": now,
        "at": now,
        "message": "",
        **parts,
    }


@pytest.mark.parametrize("moment", [FAR_EAST, FAR_WEST, "1969-12-31T23:59:59Z", "3000-01-01T00:00:00Z"])
def test_a_moment_that_no_clock_shows_is_refused_wherever_a_report_holds_it(
    service: Service, agent: Agent, database: str, moment: str
) -> None:
    agent.send()
    made = approved(service, agent, work_mem="8MB")
    outcome = agent.outcome(made, "applied")
    window = {"start": FAR_EAST, "end": moment}
    hostile: list[Document] = [
        {"sent_at": moment},
        {"window": window},
        {"window": {**window, "start": moment, "end": FAR_WEST}},
        {"events": [event(at=moment)]},
        {"events": [event(since=moment)]},
        {"outcomes": [{**outcome, "at": moment}]},
        {"outcomes": [{**outcome, "confirm_by": moment}]},
    ]
    for parts in hostile:
        told = agent.code("POST", f"/v1/databases/{database}/reports", agent.report(**parts))
        assert told == (422, "invalid_request"), parts
    assert agent.send()["directive"]["id"] == made["id"]


ODD_SETTINGS: list[Document] = [
    {"unit": "1" + "0" * 400 + "kB"},
    {"unit": "0kB"},
    {"value": "1e999"},
    {"value": "9" * 400},
    {"kind": "string"},
    {"kind": "enum", "options": []},
    {"kind": "bool", "value": "on"},
    {"value": ""},
    {"persisted": "x" * 5000},
    {"options": ["x" * 5000]},
]


@pytest.mark.parametrize("odd", ODD_SETTINGS, ids=lambda odd: "-".join(odd))
def test_a_setting_that_nobody_can_read_is_left_out_and_the_database_stays_usable(
    service: Service, agent: Agent, database: str, odd: Document
) -> None:
    body = agent.report(**agent.window(qps=10.0))
    body["settings"]["work_mem"] |= odd
    agent.send(body)
    problems = service.take("GET", f"/v1/databases/{database}")["agent"]["problems"]
    assert [p.startswith("a setting is ignored: ") and ("work_mem" in p or "unit" in p) for p in problems] == [True]
    shown = {s["setting"] for s in service.take("GET", f"/v1/databases/{database}/settings")["items"]}
    assert "shared_buffers" in shown
    assert "work_mem" not in shown
    base = f"/v1/databases/{database}"
    service.take("PATCH", base, {"policy": {"memory_fraction": 0.7}})
    session = service.take("POST", f"{base}/sessions", {"objective": {"metric": "qps", "goal": "maximize"}})["id"]
    service.take("GET", f"/v1/sessions/{session}/history")
    service.take("POST", f"{base}/recommendations", {"settings": {"maintenance_work_mem": "128MB"}})
    assert len(service.take("GET", f"{base}/windows")["items"]) == 1
    agent.send()
    assert service.take("GET", base)["agent"]["problems"] == []


def test_the_problem_stays_while_reports_come_without_settings(service: Service, agent: Agent, database: str) -> None:
    body = agent.report()
    body["settings"]["work_mem"]["value"] = "many"
    agent.send(body)
    later = agent.report() | {"settings_hash": body["settings_hash"]}
    del later["settings"]
    agent.send(later)
    assert len(service.take("GET", f"/v1/databases/{database}")["agent"]["problems"]) == 1


def test_settings_of_no_row_of_the_catalogue_are_not_kept(service: Service, agent: Agent, database: str) -> None:
    body = agent.report()
    body["settings"] |= {f"unheard_of_{n}": body["settings"]["jit"] for n in range(1500)}
    agent.send(body)
    kept = service.store.read(lambda unit: unit.databases.settings(database, body["settings_hash"]))
    assert kept is not None
    assert set(kept) == set(agent.settings)


@pytest.mark.parametrize("after", ["9223372036854775808", "9" * 64, "-1", "1.5", "\u0661", "\u00b2"])
def test_a_number_that_no_row_can_have_is_no_cursor(service: Service, database: str, after: str) -> None:
    assert service.code("GET", f"/v1/databases/{database}/windows?after={after}") == (422, "invalid_request")


@pytest.mark.parametrize("level", [0.9999999999999999, 0.4999, 1e-300])
def test_a_level_that_no_interval_has_is_refused(service: Service, agent: Agent, database: str, level: float) -> None:
    agent.send()
    body = {"settings": {}, "level": level}
    assert service.code("POST", f"/v1/databases/{database}/predictions", body) == (422, "invalid_request")


@pytest.mark.parametrize("text", ["db_\x00", "\x00", "db_\ud800"])
def test_what_cannot_be_stored_is_not_looked_for_either(service: Service, text: str) -> None:
    with pytest.raises(Unstorable):
        service.store.read(lambda unit: unit.databases.find(text))
    with pytest.raises(Unstorable):
        service.store.read(lambda unit: unit.events.listed("db_1", 10, text))


def test_a_number_beyond_64_bits_is_not_looked_for(service: Service, database: str) -> None:
    with pytest.raises(Unstorable):
        service.store.read(lambda unit: unit.reports.windows(database, 10, 2**63))


def test_a_moment_beyond_utc_reaches_no_table(service: Service, database: str) -> None:
    at = datetime.min.replace(tzinfo=timezone(timedelta(hours=14)))
    odd = Event("ev_1", database, None, None, "e", "p99", at, datetime.now(UTC), {})
    with pytest.raises(Unstorable):
        service.store.write(lambda unit: unit.events.add_once(odd))


@pytest.mark.parametrize("odd", ["a\x00b", "a\ud800"])
def test_a_text_that_cannot_be_looked_for_is_refused_in_a_list_too(service: Service, odd: str) -> None:
    with pytest.raises(Unstorable):
        service.store.read(lambda unit: unit.tokens.by_hashes(["a", odd]))

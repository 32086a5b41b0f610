"""The summary of a week: of an empty service, of one database and of a fleet."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from lutra_service.app.access import audit
from lutra_service.app.databases import load_hours
from lutra_service.app.observations import week
from lutra_service.app.observations.week_changes import LISTED
from lutra_service.db.schema.recommendation import Measurement
from lutra_service.db.schema.records import Finding, LoadHour
from lutra_service.db.store import UnitOfWork

from tests.support.service.hosted import Agent, Service, applied, guard_event

Document = dict[str, Any]
HOUR = timedelta(hours=1)
NOW = datetime(2026, 3, 30, 8, 20, tzinfo=UTC)
"""The night before it, clocks in Europe were put forward."""
SECRET = "<script>alert(1)</script>\x1b[2J"


def summary(service: Service, query: str = "", now: datetime | None = None) -> Document:
    if now is None:
        found: Document = service.take("GET", f"/v1/summary{query}")
        return found
    return service.store.read(lambda unit: week.summary(_then(unit, now), 7))


def _then(unit: UnitOfWork, now: datetime) -> UnitOfWork:
    unit.now = unit.news.now = now
    return unit


def hours(service: Service, database: str, before: float, after: float, until: datetime = NOW, **more: Any) -> None:
    """Two weeks of a load that repeats daily, with this p99 in the first and in the second week."""

    def keep(unit: UnitOfWork) -> None:
        first = until.replace(minute=0, second=0) - 14 * 24 * HOUR
        for number in range(14 * 24 + 1):
            hour = first + number * HOUR
            busy = 1.0 + 0.5 * (hour.hour / 23)
            p99 = (before if number < 7 * 24 else after) * busy * (1.02 if number % 2 else 0.98)
            told = {"p99_of": "histogram of statement", "windows": 360, "newest": number + 1}
            told |= {"qps": 1000.0 * busy, "p99_ms": p99, **more}
            unit.load_hours.add(LoadHour(unit.new_id("lh"), database, hour, **told))

    service.store.write(keep)


def test_an_empty_service_has_an_empty_summary(service: Service) -> None:
    found = summary(service)
    assert (found["databases"], found["databases_in_all"], found["changes"], found["silent"]) == ([], 0, [], [])
    assert found["text"].splitlines()[1] == "0 databases; no harmful findings"
    assert "no database yet" in found["text"]


def test_p99_and_rate_are_compared_with_the_week_before_at_comparable_load(service: Service, database: str) -> None:
    hours(service, database, before=20.0, after=10.0)
    (told,) = summary(service, now=NOW)["databases"]
    assert round(told["now"]["p99_ms"] / told["before"]["p99_ms"], 1) == 0.5
    assert (told["now"]["hours"], told["before"]["hours"]) == (169, 168)
    assert (told["compared"]["verdict"], round(told["compared"]["ratio"], 1)) == ("better", 0.5)
    assert 0.4 < told["compared"]["low"] < told["compared"]["high"] < 0.6
    assert told["p99_of"] == "histogram of statement"
    assert [day["hours"] for day in told["daily"]] == [24] * 13 + [25]


def test_without_a_week_before_the_figures_are_named_as_plain_ones(service: Service, agent: Agent) -> None:
    agent.observe(6)
    service.store.write(lambda unit: load_hours.add_new(unit, unit.databases.lock(agent.database).id))
    found = summary(service)
    (told,) = found["databases"]
    assert (told["now"]["p99_ms"], told["now"]["qps"], told["compared"]) == (12.0, 900.0, None)
    words = " ".join(found["text"].split())
    assert "p99 12 ms (before unknown), worst hour 12 ms, QPS 900 (before unknown); plain figures" in words


def test_each_window_counts_once_in_its_hour(service: Service, agent: Agent) -> None:
    agent.observe(2, p99_ms=10.0)
    agent.observe(2, p99_ms=20.0)

    def add(unit: UnitOfWork) -> list[LoadHour]:
        load_hours.add_new(unit, unit.databases.lock(agent.database).id)
        return unit.load_hours.between(unit.now - 2 * HOUR, unit.now + HOUR)

    for _ in range(2):
        found = service.store.write(add)
    assert sum(h.windows for h in found) == 4
    assert sum((h.p99_ms or 0.0) * h.windows for h in found) == 60.0


def test_a_change_is_told_with_who_decided_it_and_its_undo(service: Service, agent: Agent) -> None:
    agent.observe(4)
    made = applied(service, agent)
    agent.send(agent.report(events=[guard_event(agent, made)]))
    outcome = agent.outcome(made, "reverted", code="guardrail", message="p99 rose")
    agent.send(agent.report(outcomes=[outcome]))
    found = summary(service)
    told = [(c["what"], c["by"], c["change"]) for c in found["changes"]]
    assert told == [
        ("reverted", "guard p99", "work_mem 8MB → 4MB"),
        ("applied", "test", "work_mem 4MB → 8MB"),
    ]
    assert {what: n for what, n in found["counts"].items() if n} == {"applied": 1, "reverted": 1, "guard fired": 1}
    (guard,) = found["guards"]
    assert (guard["by"], guard["recommendation"]) == ("guard p99", made["id"])
    assert "changes: 1 applied, 1 reverted, 1 guard fired" in found["text"]


def test_settings_that_changed_without_the_service_are_a_list_of_their_own(service: Service, database: str) -> None:
    rolled_back = {"settings": {"work_mem": {"before": "8MB", "after": "4MB"}}, "reason": "nights were slow"}
    drift = {"changes": {"jit": ["on", "off"]}}

    def keep(unit: UnitOfWork) -> None:
        audit.record(unit, "host.rollback", database, None, rolled_back, database_id=database, by=audit.ON_HOST)
        entry = unit.audit.listed(1, None)[0]
        told = replace(entry, id=unit.new_id("aud"), action="settings.drift", after=drift, token_name=audit.BY_HAND)
        unit.audit.add(told)

    service.store.write(keep)
    told = {(e["what"], e["change"], e["by"], e["why"]) for e in summary(service)["outside"]}
    assert told == {
        ("rolled back on the host", "work_mem 8MB → 4MB", "an operator on the host", "nights were slow"),
        ("changed outside Lutra", "jit on → off", "somebody at the server", ""),
    }


def test_findings_are_told_while_they_show_and_when_they_are_gone(service: Service, database: str) -> None:
    def keep(unit: UnitOfWork) -> None:
        for name, gone_at in (("one", None), ("two", NOW - HOUR), ("long_gone", NOW - 8 * 24 * HOUR), ("back", NOW)):
            told = Finding(unit.new_id("fnd"), database, name, "danger", 0.9, f"{name} {SECRET}", NOW, NOW, gone_at)
            unit.findings.add(told)
        unit.findings.add(Finding(unit.new_id("fnd"), database, "back", "fault", 0.5, "again", NOW, NOW))
        unit.findings.add(Finding(unit.new_id("fnd"), database, "a_note", "note", 0.5, "a note", NOW, NOW))

    service.store.write(keep)
    found = summary(service, now=NOW)
    assert [f["name"] for f in found["findings"]] == ["one", "back"]
    assert [f["name"] for f in found["gone"]] == ["two"]
    assert found["findings_by_kind"] == {"outage": 0, "danger": 1, "fault": 1, "elsewhere": 0}
    assert "\x1b" not in found["text"]


def test_hours_without_a_window_are_silence_from_the_registration_on(service: Service) -> None:
    late, early = service.database("late"), service.database("early")
    service.store.write(
        lambda unit: [
            unit.databases.change(id_, created_at=NOW - age, last_report_at=NOW)
            for id_, age in ((late, 4 * HOUR), (early, 30 * 24 * HOUR))
        ]
    )
    hours(service, early, 10.0, 10.0, until=NOW - 5 * HOUR)
    found = {s["database"]: s["hours"] for s in summary(service, now=NOW)["silent"]}
    assert found == {"early": 4, "late": 2}


def test_proposals_and_sessions_are_those_of_now(service: Service, agent: Agent) -> None:
    agent.observe(4)
    path = f"/v1/databases/{agent.database}"
    made = service.take("POST", f"{path}/recommendations", {"settings": {"work_mem": "8MB"}})
    opened = service.take(
        "POST",
        f"{path}/sessions",
        {"objective": {"metric": "p99_ms", "goal": "minimize"}, "mode": "reload_only", "max_trials": 3},
    )
    found = summary(service)
    assert [(p["recommendation"], p["change"]) for p in found["proposals"]] == [(made["id"], "work_mem 4MB → 8MB")]
    assert [(s["session"], s["database"]) for s in found["sessions"]] == [(opened["id"], "shop")]


def test_a_token_of_one_database_reads_only_that_ones_summary(service: Service, database: str) -> None:
    other = service.database("other")
    body = {"name": "reader", "scopes": ["read"]}
    token = service.take("POST", f"/v1/databases/{database}/tokens", body)["token"]
    bound = service.as_bearer(token)
    assert [d["name"] for d in bound.take("GET", "/v1/summary")["databases"]] == ["shop"]
    assert bound.code("GET", f"/v1/summary?database={other}")[0] == 403
    assert [d["name"] for d in service.take("GET", f"/v1/summary?database={other}")["databases"]] == ["other"]
    assert service.code("GET", "/v1/summary?database=db_none")[0] == 404
    assert service.code("GET", "/v1/summary?days=32")[0] == 422


def test_the_lists_of_a_fleet_are_bounded(service: Service) -> None:
    for number in range(60):
        service.database(f"shop {number:02d}")
    found = summary(service)
    assert (len(found["databases"]), found["databases_in_all"], len(found["silent"])) == (60, 60, LISTED)
    assert "  and 42 more" in found["text"]
    assert max(map(len, found["text"].splitlines())) <= 100


def test_the_gains_that_still_hold_are_counted_once_one_was_reported(service: Service, agent: Agent) -> None:
    assert summary(service)["gains"] == {"reported": 0, "holds": 0, "decayed": 0, "unknown": 0, "share": None}
    made = applied(service, agent)
    found = []
    for gain in ("told", "holds", "decayed"):
        service.store.write(
            lambda unit, gain=gain: unit.recommendations.change(made["id"], measurement=Measurement(gain=gain))
        )
        found.append(summary(service))
    assert [(f["gains"]["reported"], f["gains"]["share"]) for f in found] == [(1, None), (1, 1.0), (1, 0.0)]
    assert "1 gain reported in the last 100 days; none was judged again yet" in found[0]["text"]
    assert "1 of 1 that were judged again still hold" in found[1]["text"]

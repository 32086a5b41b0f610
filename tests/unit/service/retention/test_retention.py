"""What is pruned, and what is not."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from lutra_client.commands.program import main
from lutra_models.errors import InvalidReport, NotFound
from lutra_service.app.jobs.recommendation_jobs import stored_answer
from lutra_service.app.retention.policy import merged, prune
from lutra_service.db.repositories import retention
from lutra_service.db.schema.records import StoredReport
from lutra_service.db.schema.tables import RecommendationRow, ReportRow
from sqlalchemy import create_engine, update

from tests.support.service.hosted import Agent, Document, Fakes, Service, a_model, fake_executor, running
from tests.support.waiting import until

pytestmark = pytest.mark.slow

EVERYTHING = timedelta(seconds=-60)
DAY = timedelta(days=1)
NO_DAYS = 1e-12
"""Less than the least that a moment counts: all that came before now is old."""
SESSION = {
    "objective": {"metric": "qps", "goal": "maximize"},
    "mode": "lab",
    "approval": "automatic",
    "max_trials": 3,
    "verification_rounds": 0,
    "seed": 1,
}


def windows(service: Service, database: str) -> list[Document]:
    found: list[Document] = service.take("GET", f"/v1/databases/{database}/windows?limit=200")["items"]
    return found


def watch(agent: Agent, *readings: float) -> None:
    for qps in readings:
        agent.send(agent.report(**agent.window(qps=qps)))


def tuned(service: Service, agent: Agent) -> list[str]:
    """The recommendations of a lab session that ran to its end."""
    agent.send()
    session = service.take("POST", f"/v1/databases/{agent.database}/sessions", SESSION)["id"]
    while service.take("GET", f"/v1/sessions/{session}")["state"] == "running":
        directive = agent.next_directive()
        agent.carry_out(directive)
    trials = service.take("GET", f"/v1/sessions/{session}/trials")["items"]
    return [*(t["recommendation"] for t in trials), service.take("GET", f"/v1/sessions/{session}")["handover"]]


def test_old_windows_become_one_for_each_configuration(service: Service, database: str) -> None:
    agent = service.agent(database, mode="observe")
    watch(agent, 900.0, 1000.0, 1100.0)
    agent.apply({"work_mem": 8192})
    watch(agent, 2000.0, 2200.0)
    before = windows(service, database)
    assert prune(service.store, EVERYTHING)["windows"] == 3
    after = windows(service, database)
    assert [(w["metrics"]["qps"], w["windows"]) for w in after] == [(2100.0, 2), (pytest.approx(1000.0), 3)]
    assert (after[1]["start"], after[1]["end"]) == (before[4]["start"], before[2]["end"])
    watch(agent, 2700.0)
    assert prune(service.store, EVERYTHING)["windows"] == 1
    assert windows(service, database)[0]["metrics"]["qps"] == pytest.approx(2300.0)


def test_old_windows_of_two_loads_are_not_drawn_together(service: Service, database: str) -> None:
    agent = service.agent(database, mode="observe")
    for clients, qps in ((8, 900.0), (64, 300.0), (8, 1100.0), (64, 500.0)):
        agent.send(agent.report(context={"clients": clients}, **agent.window(qps=qps)))
    assert prune(service.store, EVERYTHING)["windows"] == 2
    assert [w["metrics"]["qps"] for w in windows(service, database)] == [400.0, 1000.0]
    assert prune(service.store, EVERYTHING)["windows"] == 0


def test_what_came_within_the_retention_stays(service: Service, database: str, url: str) -> None:
    agent = service.agent(database, mode="observe")
    watch(agent, 1.0, 2.0, 3.0, 4.0)
    engine = create_engine(url)
    with engine.begin() as connection:
        long_ago = datetime.now(UTC) - 15 * DAY
        connection.execute(update(ReportRow).where(ReportRow.sequence <= 2).values(received_at=long_ago))
    engine.dispose()
    pruned = prune(service.store, 14 * DAY)
    assert (pruned["windows"], pruned.total) == (1, 1)
    assert [w["metrics"]["qps"] for w in windows(service, database)] == [4.0, 3.0, 1.5]
    assert prune(service.store, 14 * DAY).total == 0


def test_more_windows_than_one_batch_holds_become_one_too(
    service: Service, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retention, "BATCH", 3)
    monkeypatch.setattr("lutra_service.app.retention.policy.BATCH", 3)
    watch(service.agent(database, mode="observe"), *map(float, range(1, 9)))
    assert prune(service.store, EVERYTHING)["windows"] == 7
    assert [(w["metrics"]["qps"], w["windows"]) for w in windows(service, database)] == [(pytest.approx(4.5), 8)]


def test_a_report_that_was_merged_is_still_known_when_it_comes_again(service: Service, database: str) -> None:
    agent = service.agent(database, mode="observe")
    again = agent.report(**agent.window(qps=5.0))
    agent.send(again)
    watch(agent, 6.0, 7.0)
    prune(service.store, EVERYTHING)
    assert agent.send(again)["duplicate"]
    assert not agent.send(agent.report(**agent.window(qps=8.0)))["duplicate"]
    assert len(windows(service, database)) == 2


def test_heartbeats_go_and_the_agents_numbers_go_on(service: Service, agent: Agent, database: str) -> None:
    agent.send()
    agent.send()
    assert prune(service.store, EVERYTHING)["heartbeats"] == 2
    assert not agent.send()["duplicate"]
    assert service.take("GET", f"/v1/databases/{database}")["last_report_at"]


def test_answers_to_repeated_requests_go(service: Service) -> None:
    body = {"name": "shop", "engine": "postgresql"}
    service.take("POST", "/v1/databases", body, **{"Idempotency-Key": "k1"})
    assert prune(service.store, EVERYTHING)["answers"] == 1


@pytest.mark.slow
def test_a_session_has_the_same_trials_and_history_afterwards(service: Service, agent: Agent) -> None:
    recommendations = tuned(service, agent)
    session = service.take("GET", f"/v1/recommendations/{recommendations[0]}")["session"]
    paths = [f"/v1/sessions/{session}/{what}" for what in ("trials", "history")]
    before = [service.take("GET", path) for path in paths]
    assert prune(service.store, EVERYTHING)["windows"] == 0
    assert [service.take("GET", path) for path in paths] == before


class Learning(Fakes):
    """Every answer comes with a model."""

    def recommend(self, request: Mapping[str, Any]) -> Document:
        return {**super().recommend(request), "snapshot": a_model(request)}


def long_ago(service: Service, ids: list[str], url: str) -> None:
    engine = create_engine(url)
    with engine.begin() as connection:
        rows = update(RecommendationRow).where(RecommendationRow.id.in_(ids))
        connection.execute(rows.values(created_at=datetime.now(UTC) - 15 * DAY))
    engine.dispose()


@pytest.mark.slow
def test_what_was_asked_within_the_retention_can_be_replayed_and_older_says_that_it_cannot(
    tmp_path: Path, url: str
) -> None:
    with running(tmp_path, url, fake_executor(Learning())) as service:
        first = tuned(service, service.agent(service.database("one")))
        second = tuned(service, service.agent(service.database("two")))
        stored = {id_: service.store.read(lambda u, i=id_: stored_answer(u, i)) for id_ in first + second}  # type: ignore[misc]
        assert any(job.payload["past"] for job, _ in stored.values())
        long_ago(service, first, url)
        assert prune(service.store, 14 * DAY)["requests"] == len(first)
        for id_ in second:
            assert service.store.read(lambda u, i=id_: stored_answer(u, i)) == stored[id_]  # type: ignore[misc]
        with pytest.raises(NotFound, match="no longer stored"):
            service.store.read(lambda unit: stored_answer(unit, first[0]))
        assert prune(service.store, EVERYTHING)["snapshots"] == 4, "of three a session, all but the last"


class Broken(Fakes):
    def recommend(self, request: Mapping[str, Any]) -> Document:
        raise InvalidReport("no")


def test_a_request_that_was_never_answered_goes(tmp_path: Path, url: str) -> None:
    with running(tmp_path, url, fake_executor(Broken())) as service:
        agent = service.agent(service.database())
        agent.send()
        session = service.take("POST", f"/v1/databases/{agent.database}/sessions", SESSION)["id"]
        service.until(f"/v1/sessions/{session}", lambda s: s["state"] == "paused")
        assert prune(service.store, EVERYTHING)["requests"] == 1


def test_the_service_prunes_by_itself(tmp_path: Path, url: str) -> None:
    with running(tmp_path, url, retention_days=NO_DAYS, prune_s=0.01) as service:
        database = service.database()
        watch(service.agent(database, mode="observe"), 1.0, 2.0, 3.0)
        until(lambda: [w["windows"] for w in windows(service, database)] == [3])


def test_an_operator_prunes_by_a_command_and_is_told_what_went(
    service: Service, database: str, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    watch(service.agent(database, mode="observe"), 1.0, 2.0)
    monkeypatch.setenv("LUTRA_DATABASE_URL", url)
    told = CliRunner().invoke(main, ["prune"])
    assert told.output.startswith("windows 0, heartbeats 0, requests 0, workloads 0, snapshots 0, answers 0, ")
    told = CliRunner().invoke(main, ["prune", "--days", str(NO_DAYS)])
    assert told.output.startswith("windows 1, heartbeats 0, requests 0, workloads 0, snapshots 0, answers 0, ")
    assert CliRunner().invoke(main, ["prune", "--days", "0"]).exit_code == 2


def stored(start: datetime, metrics: dict[str, float]) -> StoredReport:
    return StoredReport(
        "db_1",
        "a",
        "e",
        1,
        start,
        start,
        "h",
        metrics,
        {},
        [],
        window_start=start,
        window_end=start + timedelta(seconds=10),
        id=1,
    )


def test_merged_windows_forget_the_names_of_objects() -> None:
    start = datetime(2026, 1, 1, tzinfo=UTC)
    rows = [replace(stored(start + i * timedelta(seconds=10), {}), texts={"a.names": "t"}) for i in range(2)]
    assert merged(rows)["texts"] is None


readings = st.dictionaries(st.sampled_from(["qps", "p99_ms"]), st.floats(0, 1e12, allow_subnormal=False), max_size=2)


@given(st.lists(readings, min_size=2, max_size=12), st.data())
def test_in_which_batches_windows_are_merged_changes_nothing(told: list[dict[str, float]], data: st.DataObject) -> None:
    start = datetime(2026, 1, 1, tzinfo=UTC)
    rows = [stored(start + i * timedelta(seconds=10), metrics) for i, metrics in enumerate(told)]
    cut = data.draw(st.integers(1, len(rows) - 1))
    at_once = merged(rows)
    in_two = merged([replace(rows[0], **merged(rows[:cut])), *rows[cut:]])
    assert at_once["windows"] == in_two["windows"] == len(rows)
    assert (at_once["window_start"], at_once["window_end"]) == (rows[0].window_start, rows[-1].window_end)
    for name, mean in at_once["metrics"].items():
        values = [m[name] for m in told if name in m]
        assert min(values) * (1 - 1e-9) <= mean <= max(values) * (1 + 1e-9)
        if len(values) == len(told):
            assert math.isclose(in_two["metrics"][name], mean, rel_tol=1e-9)

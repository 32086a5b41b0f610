"""What a live session proposes, by the worker that serves: evidence, stored with its reasons and what was looked at."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from lutra_models import serial
from lutra_service.app.jobs import recommendation_jobs
from lutra_service.app.workloads import lessons
from lutra_service.db.store import UnitOfWork
from lutra_service.workers import worker

from tests.support.fakes.tasks import Document
from tests.support.service.hosted import Agent, Service

pytestmark = pytest.mark.slow

SPILLING = {
    "p99_ms": 20.0,
    "database.temp_files_per_s": 10.0,
    "database.temp_bytes_per_s": 4e7,
    "tables.seq_scans_per_s": 10.0,
    "tables.idx_scans_per_s": 10.0,
}


def opened(service: Service, agent: Agent, mode: str = "reload_only", **more: Any) -> str:
    """A session on a live database of which an hour's windows are known."""
    agent.mode = mode
    agent.send()
    for _ in range(4):
        agent.send(agent.report(**agent.window(**SPILLING)))
    body = {"objective": {"metric": "p99_ms", "goal": "minimize"}, "mode": mode, **more}
    id_: str = service.take("POST", f"/v1/databases/{agent.database}/sessions", body)["id"]
    for _ in range(4):
        agent.send(agent.report(**agent.window(**SPILLING)))
    return id_


def computed(service: Service, agent: Agent) -> tuple[Document, Document]:
    """What the worker was asked, and what the real one answers."""
    made = service.recommended(agent.database)
    payload = service.store.read(lambda u: recommendation_jobs.task_of(u, made["id"])).payload
    return payload, worker.recommend(payload)


def changes(payload: Document, answer: Document) -> Document:
    before = payload["history"]["current"]
    return {n: v for n, v in answer["configuration"].items() if v != before[n]}


def test_the_first_answer_is_by_symptoms_and_rules_each_with_its_reason(
    service: Service, agent: Agent, database: str
) -> None:
    opened(service, agent)
    payload, answer = computed(service, agent)
    assert payload["exploration"] == 0
    assert answer["origin"] == "evidence"
    assert {"work_mem", "max_wal_size"} <= changes(payload, answer).keys()
    assert "shared_buffers" not in changes(payload, answer)
    reasons = {r["setting"]: r for r in answer["reasons"]}
    assert reasons.keys() == changes(payload, answer).keys()
    assert "temporary files" in reasons["work_mem"]["sentence"]
    assert answer["looked_at"]["shown"] >= 1
    assert any("shared_buffers" in told and "restart" in told for told in answer["looked_at"]["notes"])
    assert worker.recommend(payload) == answer


def test_what_is_told_of_it_is_stored_and_shown(service: Service, agent: Agent, database: str) -> None:
    session = opened(service, agent)
    history = service.take("GET", f"/v1/sessions/{session}/history")
    assert serial.history_from_dict(history).evidence is not None
    payload, answer = computed(service, agent)
    answer["lesson"] = lessons.lesson(payload, answer["snapshot"])
    (made,) = service.take("GET", f"/v1/databases/{database}/recommendations")["items"]
    row = service.store.read(lambda u: u.recommendations.get(made["id"]))

    def computed_so(unit: UnitOfWork) -> None:
        """At once: the service's own worker would compute a row that it sees waiting."""
        unit.recommendations.change(row.id, state="computing")
        recommendation_jobs.complete(unit, row.id, answer)

    service.store.write(computed_so)
    shown = service.take("GET", f"/v1/recommendations/{made['id']}")
    assert (shown["origin"], shown["looked_at"]) == ("evidence", answer["looked_at"])
    assert {r["setting"] for r in shown["reasons"]} == {c["setting"] for c in shown["changes"]}
    assert any(r["against"] for r in shown["reasons"])


@pytest.mark.parametrize(("mode", "restarts"), [("reload_only", False), ("observe", True)])
def test_every_live_mode_is_told_what_the_rules_know(
    service: Service, agent: Agent, database: str, mode: str, restarts: bool
) -> None:
    opened(service, agent, mode)
    _, answer = computed(service, agent)
    assert answer["origin"] == "evidence"
    later = any(told.startswith("For the maintenance window") for told in answer["looked_at"]["notes"])
    assert later == restarts


def test_a_setting_that_is_not_searched_moves_where_a_symptom_asks_for_it(
    service: Service, agent: Agent, database: str
) -> None:
    agent.settings["max_connections"] = replace(agent.settings["max_connections"], applies="reload")
    full = {**SPILLING, "activity.connections": 98.0}
    agent.mode = "reload_only"
    agent.send()
    body = {"objective": {"metric": "p99_ms", "goal": "minimize"}, "mode": "reload_only"}
    service.take("POST", f"/v1/databases/{database}/sessions", body)
    for _ in range(4):
        agent.send(agent.report(**agent.window(**full)))
    payload, answer = computed(service, agent)
    assert changes(payload, answer)["max_connections"] == 150


def test_a_lab_has_no_evidence_and_explores_without_a_bound(service: Service, agent: Agent, database: str) -> None:
    agent.send()
    body = {"objective": {"metric": "qps", "goal": "maximize"}, "mode": "lab"}
    session = service.take("POST", f"/v1/databases/{database}/sessions", body)["id"]
    assert "evidence" not in service.take("GET", f"/v1/sessions/{session}/history")
    payload, _ = computed(service, agent)
    assert payload["exploration"] is None


def test_the_budget_for_exploration_is_the_operators(service: Service, agent: Agent, database: str) -> None:
    session = opened(service, agent, exploration=3)
    assert service.take("GET", f"/v1/sessions/{session}")["exploration"] == 3
    payload, _ = computed(service, agent)
    assert payload["exploration"] == 3

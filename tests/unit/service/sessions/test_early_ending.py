"""A trial whose window its agent ended early: told a level, kept as a bound, never taken for a value."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from lutra_models import serial

from tests.support.service.hosted import Agent, Document, Fakes, Service, fake_executor, running

pytestmark = pytest.mark.slow

SESSION = {
    "objective": {"metric": "qps", "goal": "maximize"},
    "mode": "lab",
    "approval": "automatic",
    "max_trials": 4,
    "verification_rounds": 0,
    "seed": 1,
}
ENDED = {"metric": "qps", "bound": 640.0, "planned_s": 60.0}


class Demanding(Fakes):
    """Wants a thousand from the third trial on."""

    def recommend(self, request: Mapping[str, Any]) -> Document:
        answer = super().recommend(request)
        tried = len(request["history"]["observations"])
        return {**answer, "must_reach": 1000.0 if tried >= 2 else None}


@pytest.fixture
def service(tmp_path: Path, url: str) -> Iterator[Service]:
    with running(tmp_path, url, fake_executor(Demanding())) as started:
        yield started


@pytest.fixture
def agent(service: Service) -> Agent:
    made = service.agent(service.database())
    made.facts = {"status": {"mode": "lab", "driver": "pgbench"}}
    return made


def opened(service: Service, agent: Agent, **more: object) -> str:
    agent.send()
    id_: str = service.take("POST", f"/v1/databases/{agent.database}/sessions", {**SESSION, **more})["id"]
    return id_


def handed(agent: Agent) -> Document:
    return agent.next_directive()


def early(agent: Agent, directive: Document, **more: object) -> Document:
    agent.apply(directive["settings"])
    told = {"measures": directive["id"], "outcomes": [agent.outcome(directive, "applied")]}
    return agent.report(**told, **agent.window(window_s=9.0, cache_hits=7.0), **{"ended_early": ENDED, **more})


def third_trial(service: Service, agent: Agent, **more: object) -> tuple[str, Document]:
    session = opened(service, agent, **more)
    for qps in (900.0, 1050.0):
        directive = handed(agent)
        assert "must_reach" not in directive
        agent.carry_out(directive, qps=qps, p99_ms=10.0)
    return session, handed(agent)


def test_a_directive_says_what_its_window_must_reach(service: Service, agent: Agent) -> None:
    _, directive = third_trial(service, agent)
    assert directive.get("must_reach") == {"metric": "qps", "goal": "maximize", "value": 1000.0}
    found = service.take("GET", f"/v1/recommendations/{directive['recommendation']}")
    assert found["must_reach"] == 1000.0


def test_an_ended_trial_counts_and_shows_its_bound_and_its_seconds(service: Service, agent: Agent) -> None:
    session, directive = third_trial(service, agent)
    agent.send(early(agent, directive))
    trial = service.take("GET", f"/v1/sessions/{session}/trials")["items"][2]
    assert (trial["state"], trial["failed"], trial["ended_early"]) == ("confirmed", None, ENDED)
    assert trial["measured"] == {"window_s": 9.0, "cache_hits": 7.0}
    assert trial["spent_s"] >= 0
    found = service.take("GET", f"/v1/sessions/{session}")
    assert (found["state"], found["trials_done"]) == ("running", 3)
    assert found["incumbent"] == service.take("GET", f"/v1/sessions/{session}/trials")["items"][1]["recommendation"]


def test_the_history_holds_a_bound_and_no_value(service: Service, agent: Agent) -> None:
    session, directive = third_trial(service, agent)
    agent.send(early(agent, directive))
    document = service.take("GET", f"/v1/sessions/{session}/history")
    history = serial.history_from_dict(document)
    assert [value for _, value in history.values("qps")] == [900.0, 1050.0]
    assert [bound for _, bound in history.bounds("qps")] == [640.0]
    assert history.completed[-1].metrics == {"window_s": 9.0, "cache_hits": 7.0}


def test_a_table_has_the_bound_in_a_column_of_its_own(service: Service, agent: Agent) -> None:
    session, directive = third_trial(service, agent)
    agent.send(early(agent, directive))
    text = service.ask("GET", f"/v1/sessions/{session}/trials?format=csv").text
    row = list(csv.DictReader(io.StringIO(text)))[2]
    assert (row["bound.qps"], row["measured.qps"]) == ("640.0", "")


def test_a_window_that_was_to_be_measured_to_its_end_is_not_ended(service: Service, agent: Agent) -> None:
    opened(service, agent)
    body = early(agent, handed(agent))
    assert agent.code("POST", f"/v1/databases/{agent.database}/reports", body) == (422, "invalid_report")


@pytest.mark.parametrize("parts", [{"metrics": {"qps": 700.0}}, {"metrics": {}}, {"measures": None}])
def test_a_report_with_a_value_beside_the_bound_or_without_its_window_is_refused(
    service: Service, agent: Agent, parts: dict[str, Any]
) -> None:
    _, directive = third_trial(service, agent)
    body = {**early(agent, directive), **parts}
    status, _ = agent.code("POST", f"/v1/databases/{agent.database}/reports", body)
    assert status == 422


def test_many_ended_trials_pause_no_session(service: Service, agent: Agent) -> None:
    session, directive = third_trial(service, agent, max_trials=12)
    for _ in range(7):
        agent.send(early(agent, directive))
        directive = handed(agent)
    assert service.take("GET", f"/v1/sessions/{session}")["state"] == "running"

"""What a report says is taken in whatever the order in which it is found out."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pytest
from lutra_service.app.reports import arrival, intake
from lutra_service.app.reports.arrival import Arrival

from tests.support.service.hosted import Agent, Document, Service, applied, guard_event, look

SESSION = {"objective": {"metric": "p99_ms", "goal": "minimize"}, "mode": "reload_only", "max_trials": 5}


def taken_in(service: Service, agent: Agent) -> Document:
    """What becomes of a change that a guard took back, of another one that its operator took back on the host, and of
    their session, all told in one report."""
    session = service.take("POST", f"/v1/databases/{agent.database}/sessions", SESSION)
    made = applied(service, agent)
    event = guard_event(agent, made)
    reverted = agent.outcome({"id": made["id"]}, "reverted", code="guardrail", message=event["message"])
    at, settings = agent.clock.isoformat(), {"jit": {"before": "on", "after": "off"}}
    rolled_back = {"target": "baseline", "at": at, "reason": "3 a.m.", "settings": settings}
    told = {"outcomes": [reverted], "events": [event], "rolled_back": [rolled_back], **agent.window(p99_ms=60.0)}
    agent.apply({"work_mem": 4096})
    agent.send(agent.report(**told))
    found = look(service, made)
    trail = service.take("GET", f"/v1/databases/{agent.database}/audit")["items"]
    events = [e["guard"] for e in found["outcome"]["events"]]
    one = service.take("GET", f"/v1/sessions/{session['id']}")
    return {
        "states": (found["state"], found["failure"], found["reason"], found["undone_by"], events),
        "session": (one["state"], one["message"]),
        "trail": sorted((entry["action"], entry["token_name"]) for entry in trail),
    }


def test_a_report_says_the_same_in_any_order(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    facts, expected = arrival.facts, None
    for seed in range(4):

        def shuffled(told: Arrival, seed: int = seed) -> Iterator[Any]:
            found = list(facts(told))
            random.Random(seed).shuffle(found)
            yield from found

        if expected is not None:
            monkeypatch.setattr(intake, "facts", shuffled)
        became = taken_in(service, service.agent(service.database(f"shop{seed}")))
        expected = became if expected is None else expected
        assert became == expected
    assert expected is not None
    assert expected["states"][0] == "reverted"
    assert expected["states"][-1] == ["p99"]
    assert expected["session"][0] == "paused"

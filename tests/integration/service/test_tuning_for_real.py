"""The service as a process, its real worker, and an agent that is a function of its settings."""

from __future__ import annotations

import math

import pytest
from lutra_models import serial

from tests.support.served import Served
from tests.support.service import Agent, Document

pytestmark = pytest.mark.slow

TRIALS = 6
SESSION = {
    "objective": {"metric": "qps", "goal": "maximize"},
    "mode": "lab",
    "approval": "automatic",
    "max_trials": TRIALS,
    "seed": 7,
}


def qps_of(settings: Document) -> float:
    """More buffers and WAL help, up to a point."""
    return 500 + 80 * math.log2(settings["shared_buffers"] / 1024) + 30 * math.log2(settings["max_wal_size"] / 100)


def test_a_session_runs_predicts_and_can_be_replayed(served: Served) -> None:
    api = served.api
    database = api.take("POST", "/v1/databases", {"name": "shop", "engine": "postgresql"})["id"]
    token = api.take("POST", f"/v1/databases/{database}/tokens", {"name": "a", "scopes": ["agent"]})["token"]
    agent = Agent(served.client, token, database)
    agent.send()
    session = agent.take("POST", f"/v1/databases/{database}/sessions", SESSION)["id"]
    while api.take("GET", f"/v1/sessions/{session}")["state"] == "running":
        directive = agent.directive(wait=60)
        assert directive is not None, api.take("GET", f"/v1/sessions/{session}")
        qps = qps_of(directive["settings"])
        agent.carry_out(directive, qps=qps, tps=qps / 7, p99_ms=8000 / qps)
    found = api.take("GET", f"/v1/sessions/{session}")
    assert (found["state"], found["trials_done"]) == ("completed", TRIALS), found
    trials = api.take("GET", f"/v1/sessions/{session}/trials")["items"]
    assert [t["origin"] for t in trials][:2] == ["current", "rule_based"]
    assert all(set(t["predictions"]) == {"qps", "p99_ms"} for t in trials[2:])
    assert any(t["reasons"] for t in trials[1:])
    handover = api.take("GET", f"/v1/recommendations/{found['handover']}")
    assert handover["measured"]["qps"] >= trials[0]["measured"]["qps"]

    asked = {"settings": {"shared_buffers": "1GB"}}
    what_if = api.take("POST", f"/v1/databases/{database}/predictions", asked)
    prediction = what_if["predictions"]["qps"]
    assert prediction["low"] < prediction["median"] < prediction["high"]
    assert what_if["record"]["qps"]["n"] >= TRIALS - 2
    assert what_if["observations"] == TRIALS
    too_much = api.take("POST", f"/v1/databases/{database}/predictions", {"settings": {"shared_buffers": "7GB"}})
    assert too_much["refusal"]["code"] == "memory_budget_exceeded"

    history = serial.history_from_dict(api.take("GET", f"/v1/sessions/{session}/history"))
    assert len(history.observations) == TRIALS + 1
    for id_ in (trials[0]["recommendation"], trials[4]["recommendation"], found["handover"]):
        assert "the same bits" in served.run("replay", id_)
    assert token not in served.log
    assert served.token not in served.log

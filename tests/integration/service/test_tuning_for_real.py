"""The service as a process, its real worker, and an agent that is a function of its settings."""

from __future__ import annotations

import pytest
from lutra_models import serial

from tests.support.service.hosted import Agent
from tests.support.service.served import Served
from tests.support.service.sessions import more_buffers_help, tune

pytestmark = [pytest.mark.slow, pytest.mark.thorough]

TRIALS = 6


@pytest.fixture(scope="module")
def tuned(served: Served) -> tuple[Agent, str, str]:
    """The agent's own client, the database's id and the session's."""
    return tune(served, TRIALS, rounds=4)


def test_a_session_runs_predicts_and_can_be_replayed(served: Served, tuned: tuple[Agent, str, str]) -> None:
    api = served.api
    agent, database, session = tuned
    found = api.take("GET", f"/v1/sessions/{session}")
    assert (found["state"], found["trials_done"]) == ("completed", TRIALS), found
    trials = api.take("GET", f"/v1/sessions/{session}/trials")["items"]
    assert [t["origin"] for t in trials][:2] == ["current", "rule_based"]
    assert all(set(t["predictions"]) == {"qps", "p99_ms"} for t in trials[2:])
    assert any(t["reasons"] for t in trials[1:])
    handover = api.take("GET", f"/v1/recommendations/{found['handover']}")
    assert more_buffers_help(handover["configuration"]) >= more_buffers_help(trials[0]["configuration"])
    verified = found["verification"]
    readings = sum(len(f["readings"]) for f in verified["finalists"])
    assert verified["sentence"] == found["message"] != ""
    holds = next(f for f in verified["finalists"] if f["name"] == verified["verdict"])
    assert holds["configuration"] == handover["configuration"]

    asked = {"settings": {"shared_buffers": "1GB"}}
    what_if = api.take("POST", f"/v1/databases/{database}/predictions", asked)
    prediction = what_if["predictions"]["qps"]
    assert prediction["low"] < prediction["median"] < prediction["high"]
    assert what_if["record"]["qps"]["n"] >= TRIALS - 2
    assert what_if["observations"] == TRIALS + readings
    too_much = api.take("POST", f"/v1/databases/{database}/predictions", {"settings": {"shared_buffers": "7GB"}})
    assert too_much["refusal"]["code"] == "memory_budget_exceeded"

    history = serial.history_from_dict(api.take("GET", f"/v1/sessions/{session}/history"))
    assert len(history.observations) == TRIALS + readings + 1
    rows = api.take("GET", f"/v1/databases/{database}/recommendations?limit=100")["items"]
    named = min(r["id"] for r in rows if r["kind"] == "verification")
    for id_ in (trials[0]["recommendation"], trials[4]["recommendation"], named, found["handover"]):
        assert "the same bits" in served.run("replay", id_)
    assert agent.headers["Authorization"].split()[-1] not in served.log
    assert served.token not in served.log


def test_a_session_leans_on_what_an_earlier_one_learned(served: Served, tuned: tuple[Agent, str, str]) -> None:
    _, _, session = tune(served, trials=3, name="its twin")
    trials = served.api.take("GET", f"/v1/sessions/{session}/trials")["items"]
    assert trials[2]["origin"] != "space_filling"
    assert "the same bits" in served.run("replay", trials[2]["recommendation"])

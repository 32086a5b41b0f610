"""A session may bound how many settings change, and its answers say what few of them give."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.support.service.hosted import Agent, Document, Fakes, Service, fake_executor, running

pytestmark = pytest.mark.slow

SESSION = {
    "objective": {"metric": "qps", "goal": "maximize"},
    "mode": "lab",
    "approval": "automatic",
    "max_trials": 2,
    "verification_rounds": 0,
    "seed": 1,
}
CURVE = [
    {"settings": 0, "added": [], "share": 0.0, "low": -0.2, "high": 0.2},
    {"settings": 1, "added": ["work_mem"], "share": 1.0, "low": 1.0, "high": 1.0},
]


class Short(Fakes):
    """Keeps what it is asked, and shortens its handover."""

    def __init__(self) -> None:
        self.asked: list[Mapping[str, Any]] = []

    def recommend(self, request: Mapping[str, Any]) -> Document:
        self.asked.append(request)
        return {**super().recommend(request), "curve": CURVE}

    def handover(self, request: Mapping[str, Any]) -> Document:
        self.asked.append(request)
        full = super().handover(request)
        return {**full, "curve": CURVE, "shortened_from": full["configuration"]}


def test_the_workers_are_told_how_many_settings_may_change_and_from_what(tmp_path: Path) -> None:
    fakes = Short()
    with running(tmp_path, executor=fake_executor(fakes)) as service:
        agent = service.agent(service.database())
        agent.send()
        path = f"/v1/databases/{agent.database}/sessions"
        session = service.take("POST", path, {**SESSION, "max_changes": 3})
        assert session["max_changes"] == 3
        for _ in range(3):
            agent.carry_out(agent.next_directive())
        session = service.take("GET", f"/v1/sessions/{session['id']}")
        assert session["state"] == "completed"
        assert [request["max_changes"] for request in fakes.asked] == [3, 3, 3]
        assert all(request["history"]["baseline"] == session["baseline"] for request in fakes.asked)
        handover = service.take("GET", f"/v1/recommendations/{session['handover']}")
        assert handover["curve"] == CURVE
        assert handover["shortened_from"] == handover["configuration"]
        first, second = service.take("GET", f"/v1/sessions/{session['id']}/trials")["items"]
        assert first["curve"] == second["curve"] == CURVE
        assert service.take("GET", f"/v1/recommendations/{second['recommendation']}")["shortened_from"] is None


def test_a_session_without_a_bound_has_none(service: Service, agent: Agent) -> None:
    agent.send()
    session = service.take("POST", f"/v1/databases/{agent.database}/sessions", SESSION)
    assert session["max_changes"] is None


@pytest.mark.parametrize("bound", [0, -1, 501, 2.5, "few"])
def test_a_bound_is_a_whole_number_from_1_on(service: Service, agent: Agent, bound: object) -> None:
    agent.send()
    path = f"/v1/databases/{agent.database}/sessions"
    assert service.code("POST", path, {**SESSION, "max_changes": bound})[0] == 422

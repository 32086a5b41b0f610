"""Going back is always allowed, whoever asks: who proposes it, who approves it, and who carries it out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.support.fakes.tasks import Document, Fakes, answer
from tests.support.service.hosted import Agent, Service, fake_executor, running

pytestmark = pytest.mark.slow

LITTLE_MEMORY = {"policy": {"memory_fraction": 0.02}}


class BackToTheBaseline(Fakes):
    """One trial with less memory, then back to where the session began."""

    def recommend(self, request: Mapping[str, Any]) -> Document:
        return answer({**request["history"]["current"], "work_mem": 2048}, "improvement", 0)

    def handover(self, request: Mapping[str, Any]) -> Document:
        return answer(dict(request["baseline"]), "baseline", 0)


@pytest.fixture
def service(tmp_path: Path, url: str) -> Iterator[Service]:
    with running(tmp_path, url, fake_executor(BackToTheBaseline())) as service:
        yield service


def handed_over(service: Service, agent: Agent) -> Document:
    """The baseline, proposed where the policy allows so little memory by now that more than it needs is refused.

    Nothing was measured under it: the session's only trial was another configuration, and failed.
    """
    agent.send()
    wish = {
        "objective": {"metric": "qps", "goal": "maximize"},
        "mode": "lab",
        "max_trials": 1,
        "verification_rounds": 0,
    }
    service.take("POST", f"/v1/databases/{agent.database}/sessions", wish)
    ask = f"/v1/databases/{agent.database}/recommendations"
    trial = service.recommended(agent.database)
    service.take("POST", f"/v1/recommendations/{trial['id']}/approve")
    directive = agent.next_directive()
    agent.apply(directive["settings"])
    outcome = agent.outcome(directive, "applied")
    agent.send(agent.report(outcomes=[outcome], measures=directive["id"], failure="driver_failed"))
    service.take("PATCH", f"/v1/databases/{agent.database}", LITTLE_MEMORY)
    assert service.code("POST", ask, {"settings": {"work_mem": "5MB"}}) == (422, "memory_budget_exceeded")
    return service.recommended(agent.database)


def test_a_baseline_that_may_be_proposed_may_be_approved_and_carried_out(service: Service, agent: Agent) -> None:
    handover = handed_over(service, agent)
    assert (handover["kind"], handover["origin"], handover["state"]) == ("handover", "baseline", "proposed")
    assert [c["setting"] for c in handover["changes"]] == ["work_mem"]
    approved = service.take("POST", f"/v1/recommendations/{handover['id']}/approve")
    assert approved["state"] == "approved"
    directive = agent.directive() or {}
    assert directive["settings"]["work_mem"] == 4096
    assert directive["restore"]


def test_a_part_of_a_way_back_is_one_too_where_the_rest_stands_there_already(service: Service, agent: Agent) -> None:
    handover = handed_over(service, agent)
    part = service.take("POST", f"/v1/recommendations/{handover['id']}/approve", {"settings": ["work_mem"]})
    assert (part["kind"], part["state"]) == ("subset", "approved")

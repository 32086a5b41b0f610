"""A row is led on from the state that it was read in, or not at all."""

from __future__ import annotations

import pytest
from lutra_models.errors import IllegalTransition
from lutra_models.lifecycle import RecommendationState, SessionState
from lutra_service.db.repositories.repository import RowMoved

from tests.support.service.hosted import Agent, Service, approved


def test_a_recommendation_that_moved_meanwhile_is_left_as_it_is(service: Service, agent: Agent) -> None:
    agent.mode = "reload_only"
    agent.send()
    made = approved(service, agent, work_mem="8MB")
    read = service.store.read(lambda u: u.recommendations.get(made["id"]))
    service.take("POST", f"/v1/recommendations/{made['id']}/reject")
    with pytest.raises(RowMoved, match=f"{made['id']} changed meanwhile"):
        service.store.write(lambda u: u.recommendations.step(read, RecommendationState.APPLIED, "service"))
    found = service.store.read(lambda u: u.recommendations.get(made["id"]))
    assert found.state == RecommendationState.REJECTED
    with pytest.raises(IllegalTransition, match="rejected cannot become approved"):
        service.store.write(lambda u: u.recommendations.step(found, RecommendationState.APPROVED, "service"))


def test_a_session_that_moved_meanwhile_is_left_as_it_is(service: Service, agent: Agent) -> None:
    agent.send()
    wish = {"objective": {"metric": "qps", "goal": "maximize"}}
    id_ = service.take("POST", f"/v1/databases/{agent.database}/sessions", wish)["id"]
    read = service.store.read(lambda u: u.sessions.get(id_))
    service.take("POST", f"/v1/sessions/{id_}/stop")
    with pytest.raises(RowMoved, match=f"{id_} changed meanwhile"):
        service.store.write(lambda u: u.sessions.step(read, SessionState.PAUSED, "service"))
    found = service.store.read(lambda u: u.sessions.get(id_))
    assert found.state == SessionState.STOPPED
    with pytest.raises(IllegalTransition, match="stopped session cannot become running"):
        service.store.write(lambda u: u.sessions.step(found, SessionState.RUNNING, "service"))

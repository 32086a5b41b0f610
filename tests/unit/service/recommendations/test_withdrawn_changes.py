"""Changes that are called off while their agent makes them: nothing that is active is forgotten."""

from __future__ import annotations

from datetime import timedelta

import pytest
from lutra_models.errors import Failure
from lutra_service.app.tuning.result import expiry

from tests.support.service.hosted import Agent, Document, Service, approved, look, silent_for, some_minutes_later

pytestmark = pytest.mark.slow

SESSION = {"objective": {"metric": "qps", "goal": "maximize"}, "mode": "reload_only"}


@pytest.fixture
def agent(service: Service, database: str) -> Agent:
    agent = service.agent(database, mode="reload_only")
    agent.send()
    return agent


def given(service: Service, agent: Agent, **settings: object) -> Document:
    """A change that its agent was handed and has not answered yet."""
    made = approved(service, agent, **(settings or {"work_mem": "8MB"}))
    directive = agent.directive()
    assert directive is not None
    assert directive["id"] == made["id"]
    return directive


def answer(agent: Agent, directive: Document, state: str = "applied", **more: object) -> Document | None:
    """What its agent did with it, in a report whose receipt may hold the next directive."""
    if state in ("applied", "confirmed"):
        agent.apply(directive["settings"])
    told: Document | None = agent.send(agent.report(outcomes=[agent.outcome(directive, state, **more)]))["directive"]
    return told


def overdue_now(service: Service) -> None:
    for id_ in service.store.read(expiry.overdue):
        service.store.write(lambda unit, id_=id_: expiry.end_overdue(unit, id_))  # type: ignore[misc]


def call_off(service: Service, how: str, made: Document, session: Document) -> None:
    path = f"/v1/sessions/{session['id']}/stop" if how == "stop" else f"/v1/recommendations/{made['id']}/{how}"
    service.take("POST", path)


@pytest.mark.parametrize("how", ["reject", "stop", "rollback"])
def test_a_change_called_off_in_its_agents_hands_is_rolled_back_once_it_is_active(
    service: Service, agent: Agent, how: str
) -> None:
    session = service.take("POST", f"/v1/databases/{agent.database}/sessions", SESSION)
    directive = given(service, agent)
    call_off(service, how, directive, session)
    held = look(service, directive)
    assert (held["state"], held["withdrawn_at"] is not None) == ("approved", True)
    assert "carrying it out" in held["error"]
    back = answer(agent, directive)
    assert back is not None
    assert (back["rollback"], back["settings"]["work_mem"]) == (True, 4096)
    assert look(service, directive)["state"] == "applied"
    if how != "rollback":
        assert back["id"] in look(service, directive)["error"]
        assert back["id"] in service.take("GET", f"/v1/sessions/{session['id']}")["message"]
    assert look(service, back)["decided_by"] == held["withdrawn_by"]
    answer(agent, back)
    assert look(service, directive)["state"] == "reverted"
    assert agent.directive() is None


def test_a_directive_that_was_handed_out_does_not_expire_under_its_agents_hands(service: Service, agent: Agent) -> None:
    directive = given(service, agent)
    some_minutes_later(service, directive, minutes=24 * 60 + 5)
    assert agent.directive() is None
    assert look(service, directive)["state"] == "approved"
    assert answer(agent, directive) is None
    assert look(service, directive)["state"] == "applied"
    service.take("POST", f"/v1/recommendations/{directive['id']}/rollback")


def test_what_an_agent_does_not_carry_out_ends_with_its_next_reports(service: Service, agent: Agent) -> None:
    directive = given(service, agent)
    service.take("POST", f"/v1/recommendations/{directive['id']}/reject")
    agent.send()
    assert look(service, directive)["state"] == "approved"
    some_minutes_later(service, directive)
    agent.send()
    found = look(service, directive)
    assert (found["state"], found["error"]) == ("rejected", None)
    assert found["failure"] == {"code": "rejected", "message": "", "by": "operator"}
    given(service, agent, work_mem="9MB")


def test_an_agent_that_never_answers_does_not_block_its_database_for_ever(service: Service, agent: Agent) -> None:
    directive = given(service, agent)
    service.take("POST", f"/v1/recommendations/{directive['id']}/reject")
    overdue_now(service)
    path = f"/v1/databases/{agent.database}/recommendations"
    wish = {"settings": {"work_mem": "9MB"}, "approve": True}
    assert service.code("POST", path, wish) == (409, "conflict")
    some_minutes_later(service, directive, minutes=61)
    overdue_now(service)
    found = look(service, directive)
    assert (found["state"], "never answered" in found["error"]) == ("rejected", True)
    service.take("POST", path, wish)


@pytest.mark.parametrize("ended", ["rejected", "expired", "refused", "failed"])
@pytest.mark.parametrize("told", ["applied", "confirmed"])
def test_what_an_agent_tells_late_wins(service: Service, agent: Agent, ended: str, told: str) -> None:
    directive = given(service, agent)
    service.store.write(
        lambda u: u.recommendations.change(directive["id"], state=ended, ended_at=u.now, failure=Failure.told(ended))
    )
    answer(agent, directive, told)
    found = look(service, directive)
    assert (found["state"], found["applied_at"] is not None, found["ended_at"]) == ("applied", True, None)
    back = service.take("POST", f"/v1/recommendations/{directive['id']}/rollback")
    assert back["configuration"]["work_mem"] == 4096


def test_an_agent_that_lost_its_state_in_the_middle_of_a_withdrawn_change_has_it_found_and_undone(
    service: Service, agent: Agent
) -> None:
    directive = given(service, agent)
    service.take("POST", f"/v1/recommendations/{directive['id']}/reject")
    agent.apply(directive["settings"])
    silent_for(service, agent)
    agent.epoch, agent.sequence = "epoch2", 0
    some_minutes_later(service, directive)
    back = agent.send()["directive"]
    assert back is not None
    assert (back["rollback"], back["settings"]["work_mem"]) == (True, 4096)
    assert look(service, directive)["state"] == "applied"


@pytest.mark.parametrize("state", ["applied", "confirmed", "reverted", "refused", "failed"])
@pytest.mark.parametrize("approve", [False, True])
def test_an_outcome_of_what_no_agent_was_given_changes_nothing(
    service: Service, agent: Agent, state: str, approve: bool
) -> None:
    wish = {"settings": {"work_mem": "8MB"}, "approve": approve}
    made = service.take("POST", f"/v1/databases/{agent.database}/recommendations", wish)
    body = agent.report(outcomes=[agent.outcome(made, state)])
    agent.send(body)
    found = look(service, made)
    assert (found["state"], found["outcome"]) == (made["state"], None)


def test_a_rollback_of_another_change_withdraws_the_one_under_way_and_both_are_undone(
    service: Service, agent: Agent
) -> None:
    first = given(service, agent)
    answer(agent, first)
    for p99 in (90.0, 40.0, 41.0, 42.0):
        agent.clock += timedelta(seconds=60)
        agent.send(agent.report(**agent.window(p99_ms=p99)))
    assert look(service, first)["state"] == "confirmed"
    second = given(service, agent, random_page_cost=2.0)
    back = service.take("POST", f"/v1/recommendations/{first['id']}/rollback")
    directive = answer(agent, second)
    assert directive is not None
    assert directive["id"] == back["id"]
    last = answer(agent, directive)
    assert last is None
    assert agent.settings["work_mem"].value == "4096"
    assert agent.settings["random_page_cost"].value in ("4", "4.0")
    assert [look(service, r)["state"] for r in (first, second)] == ["reverted", "reverted"]


def test_a_change_whose_rollback_is_refused_is_left_to_the_operator(service: Service, agent: Agent) -> None:
    directive = given(service, agent)
    service.take("POST", f"/v1/recommendations/{directive['id']}/reject")
    back = answer(agent, directive)
    assert back is not None
    assert answer(agent, back, "refused", code="not_primary") is None
    assert agent.send()["directive"] is None
    assert look(service, directive)["state"] == "applied"
    assert service.take("POST", f"/v1/recommendations/{directive['id']}/rollback")["state"] == "approved"


def test_rejecting_twice_says_that_it_is_withdrawn_already(service: Service, agent: Agent) -> None:
    directive = given(service, agent)
    path = f"/v1/recommendations/{directive['id']}/reject"
    service.take("POST", path)
    told = service.ask("POST", path).json()
    assert (told["code"], "already withdrawn" in told["detail"]) == ("illegal_transition", True)


def test_a_trial_that_nobody_measured_is_still_rolled_back(service: Service, agent: Agent) -> None:
    agent.mode = "lab"
    agent.send()
    directive = given(service, agent)
    agent.apply(directive["settings"])
    outcome = agent.outcome(directive, "applied")
    agent.send(agent.report(outcomes=[outcome], measures=directive["id"], failure="driver_failed"))
    assert look(service, directive)["state"] == "failed"
    assert service.take("POST", f"/v1/recommendations/{directive['id']}/rollback")["kind"] == "rollback"

"""An agent's token tunes a lab, and nothing else without an operator's yes."""

from __future__ import annotations

import pytest

from tests.support.service.hosted import Agent, Document, Service, look

pytestmark = pytest.mark.slow

SESSION = {"objective": {"metric": "qps", "goal": "maximize"}, "max_trials": 1000}


@pytest.mark.parametrize("approval", ["manual", "automatic"])
@pytest.mark.parametrize("mode", ["observe", "reload_only", "restart_in_window"])
def test_an_agents_token_opens_no_session_outside_a_lab(
    service: Service, database: str, mode: str, approval: str
) -> None:
    agent = service.agent(database, mode="lab")
    agent.send()
    wish = {**SESSION, "mode": mode, "approval": approval}
    assert agent.code("POST", f"/v1/databases/{database}/sessions", wish) == (403, "forbidden")


@pytest.mark.parametrize("reported", [None, "observe", "reload_only", "restart_in_window"])
def test_no_agents_token_has_a_database_changed_whose_agent_is_in_no_lab(
    service: Service, database: str, reported: str | None
) -> None:
    agent = service.agent(database, mode=reported or "observe")
    if reported is not None:
        agent.send()
    path, wish = f"/v1/databases/{database}/sessions", {**SESSION, "mode": "lab"}
    assert agent.code("POST", path, {**wish, "approval": "automatic"}) == (403, "forbidden")
    assert agent.take("POST", path, {**wish, "approval": "manual"})["state"] == "running"


def opened_by_a_liar(service: Service, database: str) -> tuple[Agent, Agent, Document]:
    """A database's agent in mode reload_only, and somebody with its token who says that it is a lab."""
    agent = service.agent(database, mode="reload_only")
    agent.send()
    liar = Agent(agent.client, "", database, mode="lab", epoch="made-up")
    liar.headers, liar.name = agent.headers, "agent2"
    liar.send()
    wish = {**SESSION, "mode": "lab", "approval": "automatic"}
    return agent, liar, liar.take("POST", f"/v1/databases/{database}/sessions", wish)


def test_a_directive_that_no_operator_approved_reaches_no_agent_but_the_one_that_says_it_is_a_lab(
    service: Service, database: str
) -> None:
    agent, _, session = opened_by_a_liar(service, database)
    path = f"/v1/sessions/{session['id']}"
    current = service.until(path, lambda s: s["current"] is not None)["current"]
    service.until(f"/v1/recommendations/{current}", lambda r: r["state"] == "approved")
    assert agent.directive() is None
    assert agent.ask("GET", f"/v1/databases/{database}/directive").status_code == 204
    assert agent.send()["directive"] is None


def test_a_session_that_an_agent_opened_pauses_once_its_agent_is_in_no_lab(service: Service, database: str) -> None:
    agent, _, session = opened_by_a_liar(service, database)
    agent.send()
    found = service.take("GET", f"/v1/sessions/{session['id']}")
    assert (found["state"], found["opened_by_agent"]) == ("paused", True)
    assert "no operator approved" in found["message"]


def test_an_operator_opens_a_session_in_any_mode(service: Service, database: str) -> None:
    service.agent(database, mode="reload_only").send()
    wish = {**SESSION, "mode": "reload_only", "approval": "automatic"}
    assert service.take("POST", f"/v1/databases/{database}/sessions", wish)["opened_by_agent"] is False


def test_nobody_reads_under_which_epoch_an_agent_reports(service: Service, agent: Agent, database: str) -> None:
    agent.send()
    wish = {"settings": {"work_mem": "8MB"}, "approve": True}
    made = service.take("POST", f"/v1/databases/{database}/recommendations", wish)
    agent.carry_out(agent.directive() or {})
    assert "epoch" not in look(service, made)["outcome"]
    for path in (f"/v1/databases/{database}", f"/v1/recommendations/{made['id']}", f"/v1/databases/{database}/windows"):
        assert agent.epoch not in agent.ask("GET", path).text

"""Two agents of one database, with one token: a directive is in one agent's hands at a time."""

from __future__ import annotations

import pytest

from tests.support.service import Agent, Service, approved, silent_for, some_minutes_later

pytestmark = pytest.mark.slow


@pytest.fixture
def first(service: Service, database: str) -> Agent:
    agent = service.agent(database, mode="reload_only")
    agent.send()
    return agent


def beside(first: Agent, name: str) -> Agent:
    """Another agent with the same token."""
    other = Agent(first.client, "", first.database, mode=first.mode, epoch="epoch2")
    other.headers, other.name = first.headers, name
    other.send()
    return other


def test_the_second_agent_gets_none_while_the_first_holds_it(service: Service, first: Agent) -> None:
    second = beside(first, "agent2")
    made = approved(service, first, work_mem="8MB")
    directive = first.directive()
    assert directive is not None
    assert second.directive() is None
    assert second.send()["directive"] is None
    assert (first.directive() or {})["id"] == made["id"]


def test_who_does_not_say_its_name_is_the_agent_that_reported_last(service: Service, first: Agent) -> None:
    second = beside(first, "agent2")
    made = approved(service, first, work_mem="8MB")
    assert first.directive() is not None
    path = f"/v1/databases/{first.database}/directive"
    assert second.ask("GET", path).status_code == 204
    first.send()
    assert first.take("GET", path)["id"] == made["id"]


def test_an_agent_that_fell_silent_holds_its_directive_no_longer(service: Service, first: Agent) -> None:
    second = beside(first, "agent2")
    made = approved(service, first, work_mem="8MB")
    assert first.directive() is not None
    some_minutes_later(service, made, minutes=59)
    silent_for(service, first, minutes=59)
    assert second.directive() is None
    some_minutes_later(service, made, minutes=2)
    silent_for(service, first, minutes=2)
    assert (second.directive() or {})["id"] == made["id"]
    assert first.directive() is None


def test_an_agent_that_began_anew_takes_its_directive_over(service: Service, first: Agent) -> None:
    made = approved(service, first, work_mem="8MB")
    assert first.directive() is not None
    some_minutes_later(service, made)
    silent_for(service, first)
    assert (beside(first, first.name).directive() or {})["id"] == made["id"]


def test_the_reports_of_another_agent_do_not_end_what_the_first_carries_out(service: Service, first: Agent) -> None:
    second = beside(first, "agent2")
    made = approved(service, first, work_mem="8MB")
    assert first.directive() is not None
    service.take("POST", f"/v1/recommendations/{made['id']}/reject")
    some_minutes_later(service, made)
    second.send()
    assert service.take("GET", f"/v1/recommendations/{made['id']}")["state"] == "approved"

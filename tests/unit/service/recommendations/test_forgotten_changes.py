"""A change whose agent lost its state before confirming it, and what else ends one that nobody answers for."""

from __future__ import annotations

from datetime import timedelta

import pytest
from lutra_models.errors import Failure, Party

from tests.support.service.hosted import MEMORY_BYTES, Agent, Document, Service, applied, approved, look, silent_for

pytestmark = pytest.mark.slow


def reinstalled(service: Service, agent: Agent) -> None:
    """The same agent without its state, some minutes later: what it had changed provisionally it no longer knows."""
    silent_for(service, agent)
    agent.epoch, agent.sequence = "epoch2", 0


def test_a_change_whose_agent_lost_its_state_before_confirming_it_is_taken_back_by_the_service(
    service: Service, agent: Agent
) -> None:
    made = applied(service, agent)
    reinstalled(service, agent)
    agent.send()
    directive = agent.directive()
    assert directive is not None
    assert (directive["rollback"], directive["settings"]["work_mem"]) == (True, 4096)
    assert "lost its state" in look(service, made)["error"]
    agent.apply(directive["settings"])
    agent.send(agent.report(outcomes=[agent.outcome(directive, "applied")]))
    assert look(service, made)["state"] == "reverted"
    assert agent.directive() is None


def test_a_change_that_was_told_late_and_then_forgotten_is_taken_back_too(service: Service, agent: Agent) -> None:
    agent.mode = "reload_only"
    agent.send()
    made = approved(service, agent, work_mem="8MB")
    directive = agent.directive()
    assert directive is not None
    expired = {"state": "expired", "failure": Failure.told("expired", Party.SERVICE)}
    service.store.write(lambda u: u.recommendations.change(made["id"], ended_at=u.now, **expired))
    agent.apply(directive["settings"])
    confirm_by = (agent.clock + timedelta(minutes=15)).isoformat()
    agent.send(agent.report(outcomes=[agent.outcome(directive, "applied", confirm_by=confirm_by)]))
    assert look(service, made)["state"] == "applied"
    reinstalled(service, agent)
    agent.send()
    back = agent.directive()
    assert back is not None
    assert (back["rollback"], back["settings"]["work_mem"]) == (True, 4096)
    assert look(service, made)["failure"]["code"] == "state_lost"


def test_what_the_service_could_not_have_taken_back_is_not_asked_for_again(service: Service, agent: Agent) -> None:
    made = applied(service, agent)
    reinstalled(service, agent)
    agent.send()
    directive = agent.directive()
    assert directive is not None
    agent.send(agent.report(outcomes=[agent.outcome(directive, "refused", code="not_primary", message="a replica")]))
    agent.send()
    assert agent.directive() is None
    assert "lost its state" in look(service, made)["error"]


@pytest.mark.parametrize("knows", [False, True])
def test_an_agent_that_still_knows_its_change_or_has_confirmed_it_keeps_it(
    service: Service, agent: Agent, knows: bool
) -> None:
    made = applied(service, agent)
    if not knows:
        agent.send(agent.report(outcomes=[agent.outcome({"id": made["id"]}, "confirmed")]))
    reinstalled(service, agent)
    agent.send(agent.report(status={"mode": "reload_only", "provisional": made["id"] if knows else None}))
    assert agent.directive() is None
    assert look(service, made)["error"] is None


def test_the_service_takes_back_what_was_changed_and_no_more(service: Service, agent: Agent) -> None:
    applied(service, agent)
    agent.apply({"random_page_cost": 2.0})
    reinstalled(service, agent)
    agent.send()
    directive = agent.directive()
    assert directive is not None
    assert {n: v for n, v in directive["settings"].items() if str(v) != agent.settings[n].value} == {"work_mem": 4096}
    assert directive["expects"]["memory_bytes"] == MEMORY_BYTES


@pytest.mark.parametrize("other", [{"identifier": "another"}, {"host": {"memory_bytes": 1 << 30, "cores": 4}}])
def test_nothing_is_taken_back_on_another_server_than_the_one_that_was_changed(
    service: Service, agent: Agent, other: Document
) -> None:
    agent.send(agent.report(identifier="one"))
    agent.facts = {"identifier": "one"}
    made = applied(service, agent)
    reinstalled(service, agent)
    agent.facts = {"identifier": "one", **other}
    agent.send()
    assert agent.directive() is None
    found = look(service, made)
    assert (found["state"], found["error"]) == ("failed", "another server took over before this was confirmed")


def test_what_cannot_be_taken_back_costs_no_report_and_is_told(service: Service, agent: Agent) -> None:
    made = applied(service, agent)
    reinstalled(service, agent)
    del agent.settings["work_mem"]
    agent.send()
    agent.send()
    assert agent.directive() is None
    assert "but cannot" in look(service, made)["error"]


def test_a_rollback_of_an_earlier_change_ends_the_later_one_too(service: Service, agent: Agent) -> None:
    earlier = applied(service, agent)
    for p99 in (90.0, 40.0, 41.0, 42.0):
        agent.send(agent.report(**agent.window(p99_ms=p99)))
    agent.send(agent.report(outcomes=[agent.outcome({"id": earlier["id"]}, "confirmed")]))
    later = approved(service, agent, random_page_cost=2.0)
    directive = agent.directive()
    assert directive is not None
    agent.apply(directive["settings"])
    agent.send(agent.report(outcomes=[agent.outcome(directive, "applied", confirm_by=agent.clock.isoformat())]))
    service.take("POST", f"/v1/recommendations/{earlier['id']}/rollback")
    directive = agent.directive()
    assert directive is not None
    agent.apply(directive["settings"])
    agent.send(agent.report(outcomes=[agent.outcome(directive, "applied")]))
    assert [look(service, r)["state"] for r in (earlier, later)] == ["reverted", "reverted"]
    assert "undone by the rollback" in look(service, later)["error"]


def test_a_long_word_of_an_agent_is_kept_as_far_as_there_is_room(service: Service, agent: Agent) -> None:
    agent.mode = "reload_only"
    agent.send()
    made = approved(service, agent, work_mem="8MB")
    assert agent.directive() is not None
    outcome = agent.outcome({"id": made["id"]}, "refused", code="insufficient_privilege", message="x" * 1000)
    agent.send(agent.report(outcomes=[outcome]))
    assert len(look(service, made)["error"]) == 1000


def test_a_clock_that_was_ahead_makes_nothing_after_it_old(service: Service, agent: Agent) -> None:
    agent.clock += timedelta(days=400)
    agent.send(agent.report(**agent.window(qps=100.0)))
    agent.clock -= timedelta(days=400)
    agent.mode = "reload_only"
    agent.send(agent.report(**agent.window(qps=100.0)))
    found = service.take("GET", f"/v1/databases/{agent.database}")
    assert found["agent"]["mode"] == "reload_only"

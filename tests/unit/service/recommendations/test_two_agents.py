"""Two agents of one database, with one token: a directive is in one agent's hands at a time."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tests.support.service.hosted import Agent, Service, approved, silent_for, some_minutes_later

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


def again(first: Agent, epoch: str = "epoch2") -> Agent:
    """An agent of the same name with a state folder of its own, or with a copy of the first one's."""
    other = Agent(first.client, "", first.database, mode="observe", epoch=epoch)
    other.headers, other.name = first.headers, first.name
    return other


def problems(service: Service, database: str) -> list[str]:
    found: list[str] = service.take("GET", f"/v1/databases/{database}")["agent"]["problems"]
    return found


@pytest.mark.parametrize("busy", [False, True], ids=["stored together", "stored alone"])
def test_a_second_agent_of_the_same_name_is_refused_and_everybody_says_so(
    service: Service, first: Agent, caplog: pytest.LogCaptureFixture, busy: bool
) -> None:
    second, path = again(first), f"/v1/databases/{first.database}"
    if busy:
        approved(service, first, work_mem="8MB")
    for _ in range(3):
        body = second.report(**second.window(qps=1.0))
        if not busy:
            del body["settings"]
        refused = second.ask("POST", f"{path}/reports", body)
        assert (refused.status_code, refused.json()["code"]) == (409, "name_taken"), refused.text
        assert int(refused.headers["Retry-After"]) > 0
        assert "a different `name` in [agent]" in refused.json()["detail"]
        first.send()
    assert second.code("GET", f"{path}/directive?agent={second.name}&epoch={second.epoch}") == (409, "name_taken")
    assert len([r for r in caplog.records if "a report was refused" in r.getMessage()]) == 1
    (told,) = problems(service, first.database)
    assert told.startswith("a second agent is refused: an agent with a different state folder reports")
    assert service.take("GET", path)["agent"]["mode"] == first.mode


def test_it_takes_over_once_the_first_has_been_silent(service: Service, first: Agent) -> None:
    second = again(first)
    silent_for(service, first, minutes=2)
    assert second.send()["duplicate"] is False
    assert first.code("POST", f"/v1/databases/{first.database}/reports", first.report()) == (409, "name_taken")


def test_an_agent_of_long_windows_is_waited_for_longer(service: Service, first: Agent) -> None:
    second = again(first)
    silent_for(service, first, minutes=2)
    body = second.report()
    end = second.clock
    body |= {"window": {"start": (end - timedelta(seconds=60)).isoformat(), "end": end.isoformat()}}
    assert second.code("POST", f"/v1/databases/{first.database}/reports", body) == (409, "name_taken")


def test_a_restarted_agent_and_one_that_moved_with_its_state_go_on_at_once(service: Service, first: Agent) -> None:
    moved = again(first, first.epoch)
    moved.sequence = first.sequence
    assert moved.send()["duplicate"] is False
    assert problems(service, first.database) == []


def test_a_copy_of_a_state_folder_is_no_duplicate_but_a_second_agent(service: Service, first: Agent) -> None:
    copy = again(first, first.epoch)
    copy.sequence = first.sequence
    again_the_same = first.report()
    first.send(again_the_same)
    assert first.send(again_the_same)["duplicate"]
    copy.clock += timedelta(seconds=1)
    refused = copy.ask("POST", f"/v1/databases/{first.database}/reports", copy.report())
    assert (refused.status_code, refused.json()["code"]) == (409, "name_taken")
    assert "is a copy of another agent's" in refused.json()["detail"]

"""Requests that wait: few of each, and an answer only for a token that is still valid."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest
from lutra_service.api.http.notifier import Notifier

from tests.support.service.hosted import LONGEST, Agent, Service, approved, running
from tests.support.service.listening import head, listening
from tests.support.waiting import PATIENCE_S, until

pytestmark = pytest.mark.slow


def waiting(notifier: Notifier, id_: str) -> int:
    return len(vars(notifier)["_waiting"].get(id_, ()))


def notifier_of(service: Service) -> Notifier:
    found: Any = service.client
    return found.app.state.notifier  # type: ignore[no-any-return]


def polled(agent: Agent) -> httpx.Response:
    return agent.ask("GET", f"/v1/databases/{agent.database}/directive", Prefer=LONGEST)


def test_no_more_requests_wait_for_one_database_than_its_share(tmp_path: Path) -> None:
    with running(tmp_path, polls_per_item=3) as service, ThreadPoolExecutor(4) as pool:
        agent = service.agent(service.database())
        agent.send()
        polls = [pool.submit(polled, agent) for _ in range(3)]
        until(lambda: waiting(notifier_of(service), agent.database) == 3)
        refused = polled(agent)
        assert (refused.status_code, refused.json()["code"]) == (429, "too_many_requests")
        assert "retry-after" in refused.headers
        now = agent.ask("GET", f"/v1/databases/{agent.database}/directive")
        assert now.status_code == 204  # who does not wait takes no place
        approved(service, agent, work_mem="8MB")
        assert {poll.result(PATIENCE_S).status_code for poll in polls} == {200}
        assert waiting(notifier_of(service), agent.database) == 0


def test_no_more_requests_of_one_token_wait_than_its_share(tmp_path: Path) -> None:
    with running(tmp_path, polls_per_item=3, polls_per_token=2) as service, ThreadPoolExecutor(4) as pool:
        agent = service.agent(service.database())
        other = service.agent(agent.database)
        agent.send()
        polls = [pool.submit(polled, agent) for _ in range(2)]
        until(lambda: waiting(notifier_of(service), agent.database) == 2)
        assert polled(agent).status_code == 429
        polls.append(pool.submit(polled, other))
        until(lambda: waiting(notifier_of(service), agent.database) == 3)
        approved(service, agent, work_mem="8MB")
        assert {poll.result(PATIENCE_S).status_code for poll in polls} == {200}


def test_a_token_that_is_revoked_while_it_waits_gets_no_directive(service: Service, agent: Agent) -> None:
    agent.send()
    tokens = f"/v1/databases/{agent.database}/tokens"
    with ThreadPoolExecutor(1) as pool:
        poll: Future[httpx.Response] = pool.submit(polled, agent)
        until(lambda: waiting(notifier_of(service), agent.database) == 1)
        (made,) = service.take("GET", tokens)["items"]
        service.take("DELETE", f"{tokens}/{made['id']}")
        approved(service, agent, work_mem="8MB")
        answer = poll.result(PATIENCE_S)
    assert (answer.status_code, answer.json()["code"]) == (401, "unauthorized")


def test_a_client_that_leaves_gives_its_place_back(tmp_path: Path) -> None:
    with listening(tmp_path) as served:
        agent = served.service.agent(served.service.database())
        agent.send()
        path, token = f"/v1/databases/{agent.database}/directive", f"Authorization: {agent.headers['Authorization']}"
        notifier = served.notifier
        with served.raw(head("GET", path, token, f"Prefer: {LONGEST}")):
            until(lambda: waiting(notifier, agent.database) == 1)
        until(lambda: waiting(notifier, agent.database) == 0)

"""`Prefer: wait` waits for what one waits for."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from prometheus_client import REGISTRY

from tests.support.service.hosted import LONGEST, Agent, Service, approved
from tests.support.waiting import PATIENCE_S, until

pytestmark = pytest.mark.slow


def opened(service: Service, database: str, **more: object) -> str:
    body = {"objective": {"metric": "qps", "goal": "maximize"}, "mode": "lab", **more}
    id_: str = service.take("POST", f"/v1/databases/{database}/sessions", body)["id"]
    return id_


def in_hand(service: Service, agent: Agent) -> tuple[dict[str, Any], dict[str, Any]]:
    """A recommendation that its agent is carrying out, and the directive."""
    agent.send()
    opened(service, agent.database)
    path = f"/v1/databases/{agent.database}/recommendations"
    made = service.take("POST", path, Prefer=LONGEST)
    service.take("POST", f"/v1/recommendations/{made['id']}/approve")
    directive = agent.directive()
    assert directive is not None
    return made, directive


def test_who_asks_while_a_change_is_under_way_is_shown_it_as_not_there_yet(service: Service, agent: Agent) -> None:
    made, _ = in_hand(service, agent)
    response = service.ask("POST", f"/v1/databases/{agent.database}/recommendations")
    assert (response.status_code, response.json()["id"]) == (202, made["id"])
    assert response.headers["location"] == f"/v1/recommendations/{made['id']}"
    assert "preference-applied" not in response.headers


def test_who_waits_while_a_change_is_under_way_is_given_the_next_one(service: Service, agent: Agent) -> None:
    made, directive = in_hand(service, agent)
    with ThreadPoolExecutor(1) as pool:
        path = f"/v1/databases/{agent.database}/recommendations"
        waiting = pool.submit(service.ask, "POST", path, Prefer=LONGEST)
        _until_somebody_waits()
        assert not waiting.done()
        agent.carry_out(directive)
        response = waiting.result(PATIENCE_S)
    assert (response.status_code, response.json()["state"]) == (201, "proposed")
    assert response.json()["id"] != made["id"]
    assert response.headers["location"].endswith(response.json()["id"])
    assert response.headers["preference-applied"] == LONGEST


def test_when_the_time_is_over_the_answer_is_the_one_under_way(service: Service, agent: Agent) -> None:
    made, _ = in_hand(service, agent)
    response = service.ask("POST", f"/v1/databases/{agent.database}/recommendations", Prefer="wait=1")
    assert (response.status_code, response.json()["id"]) == (202, made["id"])
    assert response.headers["preference-applied"] == "wait=1"


def test_who_repeats_a_request_with_its_key_is_given_the_next_one_too(service: Service, agent: Agent) -> None:
    _, directive = in_hand(service, agent)
    path = f"/v1/databases/{agent.database}/recommendations"
    first = service.ask("POST", path, **{"Idempotency-Key": "k", "Prefer": "wait=1"})
    assert first.status_code == 202
    agent.carry_out(directive)
    again = [service.ask("POST", path, **{"Idempotency-Key": "k", "Prefer": LONGEST}) for _ in range(2)]
    assert {r.status_code for r in again} == {201}
    assert len({r.json()["id"] for r in again} | {first.json()["id"]}) == 2


def test_a_session_that_ends_meanwhile_says_so(service: Service, agent: Agent) -> None:
    made, _ = in_hand(service, agent)
    session = made["session"]
    with ThreadPoolExecutor(1) as pool:
        path = f"/v1/databases/{agent.database}/recommendations"
        waiting = pool.submit(service.ask, "POST", path, Prefer=LONGEST)
        _until_somebody_waits()
        service.take("POST", f"/v1/sessions/{session}/stop")
        agent.send(agent.report(outcomes=[agent.outcome({"id": made["id"]}, "refused", code="paused")]))
        response = waiting.result(PATIENCE_S)
    assert (response.status_code, response.json()["code"]) == (409, "session_closed")


def test_a_program_waits_for_the_measurement(service: Service, agent: Agent) -> None:
    made, directive = in_hand(service, agent)
    path = f"/v1/recommendations/{made['id']}?until=measured"
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(service.ask, "GET", path, Prefer=LONGEST)
        _until_somebody_waits()
        agent.carry_out(directive, qps=1234.0)
        response = waiting.result(PATIENCE_S)
    assert response.json()["measured"]["qps"] == 1234.0
    assert response.headers["preference-applied"] == LONGEST


def test_a_program_waits_for_the_decision(service: Service, agent: Agent) -> None:
    agent.send()
    opened(service, agent.database)
    made = service.take("POST", f"/v1/databases/{agent.database}/recommendations", Prefer=LONGEST)
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(service.ask, "GET", f"/v1/recommendations/{made['id']}?until=decided", Prefer=LONGEST)
        _until_somebody_waits()
        service.take("POST", f"/v1/recommendations/{made['id']}/reject")
        assert waiting.result(PATIENCE_S).json()["state"] == "rejected"


@pytest.mark.parametrize("until", ["computed", "decided", "applied", "measured", "ended"])
def test_what_will_never_come_is_not_waited_for(service: Service, agent: Agent, until: str) -> None:
    agent.send()
    made = approved(service, agent, work_mem="8MB")
    directive = agent.directive()
    assert directive is not None
    agent.send(agent.report(outcomes=[agent.outcome(directive, "refused", code="invalid_value")]))
    response = service.ask("GET", f"/v1/recommendations/{made['id']}?until={until}", Prefer=LONGEST)
    assert response.json()["state"] == "refused"


def test_without_prefer_the_answer_is_what_is_known_now(service: Service, agent: Agent) -> None:
    agent.send()
    made = approved(service, agent, work_mem="8MB")
    response = service.ask("GET", f"/v1/recommendations/{made['id']}?until=measured")
    assert response.json()["state"] == "approved"
    assert "preference-applied" not in response.headers


def test_a_moment_that_no_recommendation_reaches_is_refused(service: Service, agent: Agent) -> None:
    agent.send()
    made = approved(service, agent, work_mem="8MB")
    assert service.code("GET", f"/v1/recommendations/{made['id']}?until=tomorrow") == (422, "invalid_request")


def test_a_token_that_was_revoked_while_it_waited_asks_for_nothing(service: Service, agent: Agent) -> None:
    _, directive = in_hand(service, agent)
    tokens = f"/v1/databases/{agent.database}/tokens"
    token = service.take("POST", tokens, {"name": "operator", "scopes": ["operate"]})
    with ThreadPoolExecutor(1) as pool:
        path = f"/v1/databases/{agent.database}/recommendations"
        waiting = pool.submit(service.as_bearer(token["token"]).ask, "POST", path, Prefer=LONGEST)
        _until_somebody_waits()
        service.take("DELETE", f"{tokens}/{token['id']}")
        agent.carry_out(directive)
        response = waiting.result(PATIENCE_S)
    assert (response.status_code, response.json()["code"]) == (401, "unauthorized")
    assert len(service.take("GET", path)["items"]) == 1


def _until_somebody_waits() -> None:
    until(lambda: REGISTRY.get_sample_value("lutra_waiters", {"kind": "recommendation"}))

"""A token of the scope `propose`: it reads, asks and proposes, and a person decides."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.service.hosted import Agent, Api, Document, Service, applied

OPENAPI = json.loads((Path(__file__).parents[4] / "service" / "openapi.json").read_text())
PROPOSING = {
    "POST /v1/databases/{database}/predictions",
    "POST /v1/databases/{database}/recommendations",
    "POST /v1/databases/{database}/sessions",
}
SETTINGS = {"settings": {"work_mem": "8MB"}}
OBJECTIVE = {"objective": {"metric": "p99_ms", "goal": "minimize"}}


@pytest.fixture
def assistant(service: Service) -> Api:
    return service.as_bearer(service.take("POST", "/v1/tokens", {"name": "AI", "scopes": ["propose"]})["token"])


def states(service: Service, database: str) -> list[str]:
    return [r["state"] for r in service.take("GET", f"/v1/databases/{database}/recommendations")["items"]]


def test_every_other_call_that_changes_something_is_forbidden(service: Service, database: str, assistant: Api) -> None:
    made = applied(service, service.agent(database, mode="reload_only"))
    session = service.take("POST", f"/v1/databases/{database}/sessions", OBJECTIVE)["id"]
    ids = {"database": database, "session": session, "recommendation": made["id"]}
    before = service.take("GET", "/v1/audit?limit=500")["items"]
    refused: dict[str, Any] = {}
    for path, calls in OPENAPI["paths"].items():
        for method in {"post", "put", "patch", "delete"} & calls.keys():
            filled = path
            for name in calls[method].get("parameters", ()):
                filled = filled.replace(f"{{{name['name']}}}", ids.get(name["name"], "x"))
            if (call := f"{method.upper()} {path}") not in PROPOSING:
                refused[call] = assistant.code(method.upper(), filled, {})
    assert len(refused) > 25
    assert set(refused.values()) == {(403, "forbidden")}, refused
    assert service.take("GET", "/v1/audit?limit=500")["items"] == before


def test_its_proposal_waits_for_a_person(service: Service, agent: Agent, database: str, assistant: Api) -> None:
    agent.send()
    path = f"/v1/databases/{database}/recommendations"
    made: Document = assistant.take("POST", path, SETTINGS)
    assert made["state"] == "proposed"
    assert assistant.code("POST", path, {**SETTINGS, "approve": True}) == (403, "forbidden")
    assert states(service, database) == ["proposed"]
    assert service.take("POST", f"/v1/recommendations/{made['id']}/approve")["state"] == "approved"


def test_it_opens_no_session_that_approves_by_itself(
    service: Service, agent: Agent, database: str, assistant: Api
) -> None:
    path = f"/v1/databases/{database}/sessions"
    assert assistant.code("POST", path, {**OBJECTIVE, "approval": "automatic"}) == (403, "forbidden")
    assert assistant.take("POST", path, OBJECTIVE)["approval"] == "manual"


def test_a_session_that_approves_by_itself_leaves_the_proposal_of_an_assistant_alone(
    service: Service, database: str, assistant: Api
) -> None:
    agent = service.agent(database, mode="lab")
    agent.send()
    body = {**OBJECTIVE, "mode": "lab", "approval": "automatic", "max_trials": 3}
    service.take("POST", f"/v1/databases/{database}/sessions", body)
    made = assistant.take("POST", f"/v1/databases/{database}/recommendations", SETTINGS)
    for _ in range(3):
        agent.carry_out(agent.next_directive())
    assert service.take("GET", f"/v1/recommendations/{made['id']}")["state"] in ("proposed", "expired")


def test_a_full_day_ends_its_proposals_and_no_operators(
    service: Service, agent: Agent, database: str, assistant: Api
) -> None:
    agent.send()
    full = {"filled_bytes": 1 << 40}
    service.store.write(lambda u: u.databases.change(database, filled_at=u.now, **full))
    path = f"/v1/databases/{database}/recommendations"
    assert assistant.code("POST", path, SETTINGS) == (429, "quota_exceeded")
    assert service.take("POST", path, SETTINGS)["state"] == "proposed"

"""A database that is out of use: hidden, its agent told so, taken back, or deleted with all that was stored of it."""

from __future__ import annotations

from typing import Any

import pytest
from lutra_service.db.schema.tables import Table
from lutra_service.db.store import UnitOfWork
from sqlalchemy import inspect, select

from tests.support.service.hosted import Agent, Service, approved

pytestmark = pytest.mark.slow

SESSION = {"objective": {"metric": "qps", "goal": "maximize"}, "mode": "lab", "max_trials": 4, "approval": "automatic"}


def path(agent: Agent) -> str:
    return f"/v1/databases/{agent.database}"


def listed(service: Service, query: str = "") -> list[str]:
    return [d["id"] for d in service.take("GET", f"/v1/databases{query}")["items"]]


def used(service: Service, name: str) -> Agent:
    """A database with a session that ended, its trials, its models and a change by hand."""
    agent = service.agent(service.database(name))
    agent.send()
    session = service.take("POST", f"{path(agent)}/sessions", SESSION)["id"]
    for _ in range(2):
        service.take("POST", f"{path(agent)}/recommendations")
        agent.carry_out(agent.next_directive())
    service.take("POST", f"/v1/sessions/{session}/stop")
    for row in service.take("GET", f"{path(agent)}/recommendations?state=computing")["items"]:
        service.until(f"/v1/recommendations/{row['id']}", lambda r: r["state"] != "computing")
    return agent


def test_a_retired_one_is_hidden_and_takes_no_reports_until_it_is_taken_back(service: Service, agent: Agent) -> None:
    agent.send()
    assert service.take("PUT", f"{path(agent)}/retired")["retired_at"] is not None
    assert (listed(service), listed(service, "?retired=true")) == ([], [agent.database])
    full, plain = agent.report(), agent.report(**agent.window(qps=1.0))
    del plain["settings"]
    for body in (full, plain):
        refused = agent.ask("POST", f"{path(agent)}/reports", body)
        assert (refused.status_code, refused.json()["code"]) == (409, "database_retired")
        assert "stop its agent" in refused.json()["detail"]
    directive = f"{path(agent)}/directive?agent={agent.name}&epoch={agent.epoch}"
    assert agent.code("GET", directive) == (409, "database_retired")
    assert service.code("POST", f"{path(agent)}/sessions", SESSION) == (409, "database_retired")
    assert service.take("DELETE", f"{path(agent)}/retired")["retired_at"] is None
    assert listed(service) == [agent.database]
    assert agent.send()["duplicate"] is False


def test_one_whose_agent_has_something_in_hand_is_not_retired(service: Service, agent: Agent) -> None:
    agent.mode = "reload_only"
    agent.send()
    made = approved(service, agent, work_mem="8MB")
    refused = service.ask("PUT", f"{path(agent)}/retired")
    assert (refused.status_code, made["id"] in refused.json()["detail"]) == (409, True)
    service.take("POST", f"/v1/recommendations/{made['id']}/reject")
    session = service.take("POST", f"{path(agent)}/sessions", {**SESSION, "mode": "reload_only"})["id"]
    refused = service.ask("PUT", f"{path(agent)}/retired")
    assert (refused.status_code, session in refused.json()["detail"]) == (409, True)


def test_one_in_use_is_not_deleted(service: Service, agent: Agent) -> None:
    agent.send()
    refused = service.ask("DELETE", path(agent))
    assert (refused.status_code, "retire it first" in refused.json()["detail"]) == (409, True)


def test_a_deleted_one_leaves_nothing_but_its_trail_and_the_others_as_they_were(service: Service) -> None:
    gone, stays = used(service, "gone"), used(service, "stays")
    before = rows(service, stays.database)
    service.take("PUT", f"{path(gone)}/retired")
    assert service.take("DELETE", path(gone))["name"] == "gone"
    assert rows(service, gone.database) == {"audit": rows(service, gone.database)["audit"]}
    assert rows(service, stays.database) == before
    assert service.code("GET", path(gone)) == (404, "not_found")
    assert gone.code("POST", f"{path(gone)}/reports", gone.report()) == (401, "unauthorized")
    newest = service.take("GET", "/v1/audit")["items"][0]
    assert (newest["action"], newest["target"], newest["before"]["name"]) == ("database.delete", gone.database, "gone")
    assert service.database("gone") != gone.database
    assert stays.send()["duplicate"] is False


def rows(service: Service, database: str) -> dict[str, int]:
    """By table how many rows name the database, or something of it."""

    def counted(unit: UnitOfWork) -> dict[str, int]:
        db: Any = unit.databases._db
        found = {}
        for mapper in Table.registry.mappers:
            table = inspect(mapper).local_table
            told = [str(dict(row)) for row in db.execute(select(table)).mappings()]
            if number := sum(database in text for text in told):
                found[table.name] = number
        return found

    return service.store.read(counted)

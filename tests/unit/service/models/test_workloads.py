"""The memory over REST: what a workload taught, and which ones resemble it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from lutra_models.serial import history_from_dict

from tests.support.service.hosted import Agent, Document, Fakes, Service, a_model, fake_executor, running

pytestmark = pytest.mark.slow

LAB = {
    "objective": {"metric": "qps", "goal": "maximize"},
    "mode": "lab",
    "approval": "automatic",
    "max_trials": 3,
    "verification_rounds": 0,
}


class Learning(Fakes):
    """Every answer comes with a model."""

    def recommend(self, request: Mapping[str, Any]) -> Document:
        return {**super().recommend(request), "snapshot": a_model(request)}


@pytest.fixture
def service(tmp_path: Path, url: str) -> Iterator[Service]:
    with running(tmp_path, url, fake_executor(Learning())) as service:
        yield service


def tuned(service: Service, name: str) -> Agent:
    agent = service.agent(service.take("POST", "/v1/databases", {"name": name, "engine": "postgresql"})["id"])
    agent.send()
    session = service.take("POST", f"/v1/databases/{agent.database}/sessions", LAB)["id"]
    while service.take("GET", f"/v1/sessions/{session}")["state"] == "running":
        directive = agent.next_directive()
        agent.carry_out(directive)
    return agent


def test_each_session_leaves_a_workload_that_is_listed_and_compared(service: Service) -> None:
    one, two = tuned(service, "one"), tuned(service, "two")
    page = service.take("GET", "/v1/workloads?limit=1")
    (newest,), cursor = page["items"], page["next"]
    (other,) = service.take("GET", f"/v1/workloads?limit=1&after={cursor}")["items"]
    assert [(w["name"], w["database"]) for w in (newest, other)] == [("two", two.database), ("one", one.database)]
    assert newest["teaches"]
    assert newest["lessons"]["qps"]["effects"] == []  # the fake's model has one row
    mine = service.take("GET", f"/v1/workloads?database={one.database}")["items"]
    assert [w["id"] for w in mine] == [other["id"]]
    (alike,) = service.take("GET", f"/v1/workloads/{newest['id']}/nearest")["items"]
    assert (alike["workload"], alike["name"]) == (other["id"], "one")
    assert alike["distance"] >= 0
    assert service.code("GET", "/v1/workloads/wl_none/nearest") == (404, "not_found")
    told = history_from_dict(service.take("GET", f"/v1/workloads/{newest['id']}/history"))
    assert len(told.completed) == newest["observations"]
    assert told.objective.metric == newest["metric"]


def test_the_memory_is_the_fleets_and_not_a_databases(service: Service) -> None:
    agent = tuned(service, "one")
    (workload,) = service.take("GET", "/v1/workloads")["items"]
    made = service.take("POST", f"/v1/databases/{agent.database}/tokens", {"name": "t", "scopes": ["read"]})
    bound = service.as_bearer(made["token"])
    for path in ("/v1/workloads", f"/v1/workloads/{workload['id']}/nearest", f"/v1/workloads/{workload['id']}/history"):
        assert bound.code("GET", path) == (403, "forbidden")

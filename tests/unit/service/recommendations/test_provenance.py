"""Which past workloads a recommendation leans on, what it would be without them, and whether they help."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.support.service.hosted import Agent, Document, Fakes, Service, a_model, fake_executor, running

pytestmark = pytest.mark.slow

LAB = {
    "objective": {"metric": "qps", "goal": "maximize"},
    "mode": "lab",
    "approval": "automatic",
    "max_trials": 12,
    "verification_rounds": 0,
}


def forecast(median: float) -> Document:
    return {"qps": {"median": median, "low": 0.9 * median, "high": 1.1 * median, "level": 0.9, "far": False}}


class Leaning(Fakes):
    """Leans on whatever past it is given, by which it expects `expected`, and without it 1,000."""

    expected = 1000.0

    def recommend(self, request: Mapping[str, Any]) -> Document:
        told: Document = {**super().recommend(request), "snapshot": a_model(request)}
        if not request["past"]:
            return told
        return {
            **told,
            "predictions": forecast(self.expected),
            "leaned": {
                "on": [{"place": 0, "weight": 0.7}],
                "configuration": {**told["configuration"], "work_mem": 64},
                "predictions": forecast(1000.0),
            },
        }


@pytest.fixture
def fakes() -> Leaning:
    return Leaning()


@pytest.fixture
def service(tmp_path: Path, url: str, fakes: Leaning) -> Iterator[Service]:
    with running(tmp_path, url, fake_executor(fakes)) as service:
        yield service


def begun(service: Service, name: str, trials: int) -> tuple[Agent, str]:
    agent = service.agent(service.take("POST", "/v1/databases", {"name": name, "engine": "postgresql"})["id"])
    agent.send()
    body = {**LAB, "max_trials": trials}
    session = service.take("POST", f"/v1/databases/{agent.database}/sessions", body)["id"]
    return agent, str(session)


def measured(agent: Agent, count: int) -> list[str]:
    """The recommendations that were carried out, each of which gave 1,000."""
    found = []
    for trial in range(count):
        directive = agent.next_directive()
        agent.carry_out(directive, qps=1000.0 + trial, p99_ms=9.0)
        found.append(str(directive["id"]))
    return found


def a_past(service: Service) -> None:
    agent, _ = begun(service, "past", 4)
    measured(agent, 5)  # with the handover


def test_a_recommendation_names_what_it_leans_on_and_what_it_would_be_without(service: Service) -> None:
    a_past(service)
    (workload,) = service.take("GET", "/v1/workloads")["items"]
    agent, session = begun(service, "shop", 12)
    (first,) = measured(agent, 1)
    told = service.take("GET", f"/v1/recommendations/{first}")["leans_on"]
    assert told["workloads"] == [{"workload": workload["id"], "name": None, "weight": 0.7}]
    assert (told["differs"], told["without"]["work_mem"]) == (["work_mem"], 64)
    assert told["predictions"]["qps"]["median"] == 1000.0
    assert "(weight 0.70). Without them, it would propose work_mem = 64." in told["sentence"]
    service.until(f"/v1/sessions/{session}", lambda s: s["leaning"] is not None)
    past = service.take("GET", "/v1/databases?limit=10")["items"]
    own = next(d["id"] for d in past if d["name"] == "past")
    assert all(r["leans_on"] is None for r in service.take("GET", f"/v1/databases/{own}/recommendations")["items"])


def test_a_session_that_past_workloads_harm_leans_on_them_no_longer(service: Service, fakes: Leaning) -> None:
    a_past(service)
    fakes.expected = 2000.0
    agent, session = begun(service, "shop", 12)
    made = measured(agent, 10)
    leaning = service.take("GET", f"/v1/sessions/{session}")["leaning"]
    assert (leaning["verdict"], leaning["high"] < 0) == ("worse", True)
    assert "no longer uses them" in leaning["sentence"]
    leant = [service.take("GET", f"/v1/recommendations/{id_}")["leans_on"] is not None for id_ in made]
    assert leant[0]
    assert not leant[-1]
    assert leaning["trials"] == sum(leant)


def test_one_that_they_help_goes_on(service: Service, fakes: Leaning) -> None:
    a_past(service)
    agent, session = begun(service, "shop", 12)
    made = measured(agent, 8)
    leaning = service.take("GET", f"/v1/sessions/{session}")["leaning"]
    assert (leaning["verdict"], leaning["trials"]) == ("undecided", 8)
    assert service.take("GET", f"/v1/recommendations/{made[-1]}")["leans_on"] is not None

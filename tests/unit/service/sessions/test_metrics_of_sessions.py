"""A session is about something that is measured."""

from __future__ import annotations

import pytest

from tests.support.service.hosted import Agent, Service


def asked(metric: str, **more: object) -> dict[str, object]:
    goal = "maximize" if metric in ("qps", "tps") else "minimize"
    return {"objective": {"metric": metric, "goal": goal}, **more}


def test_a_session_about_a_metric_that_nothing_measures_is_refused(
    service: Service, agent: Agent, database: str
) -> None:
    agent.send(agent.report(**agent.window(qps=1.0, load1=0.5)))
    response = service.ask("POST", f"/v1/databases/{database}/sessions", asked("bogus_metric"))
    assert (response.status_code, response.json()["code"]) == (422, "invalid_request")
    told = response.json()["detail"]
    assert "objective.metric: 'bogus_metric'" in told
    assert "load1, p99_ms, qps, tps" in told


def test_a_misspelt_metric_is_answered_with_the_one_that_was_meant(service: Service, database: str) -> None:
    response = service.ask("POST", f"/v1/databases/{database}/sessions", asked("p99ms"))
    assert "did you mean p99_ms?" in response.json()["detail"]


def test_a_limit_on_a_metric_that_nothing_measures_is_refused(service: Service, database: str) -> None:
    limits = [{"metric": "qps", "at_least": 1.0}, {"metric": "latency", "at_most": 5.0}]
    response = service.ask("POST", f"/v1/databases/{database}/sessions", asked("p99_ms", limits=limits))
    assert response.status_code == 422
    assert "limits.1.metric: 'latency'" in response.json()["detail"]


@pytest.mark.parametrize("metric", ["qps", "tps", "p99_ms"])
def test_the_well_known_metrics_need_no_window_yet(service: Service, database: str, metric: str) -> None:
    assert service.take("POST", f"/v1/databases/{database}/sessions", asked(metric))["state"] == "running"


def test_a_metric_of_the_databases_own_windows_may_be_the_objective(
    service: Service, agent: Agent, database: str
) -> None:
    agent.send(agent.report(**agent.window(load1=0.5)))
    agent.send()
    assert service.take("POST", f"/v1/databases/{database}/sessions", asked("load1"))["state"] == "running"

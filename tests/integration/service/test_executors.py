"""The real executors: a process pool whose worker is killed, and a Dask cluster."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import Any

import pytest

from tests.support.service import Agent, Document, Service, running

pytestmark = pytest.mark.slow

SESSION = {"objective": {"metric": "qps", "goal": "maximize"}, "mode": "reload_only"}


def pooled(tmp_path: Path, **settings: Any) -> Any:
    """The application with the executor that its settings name."""
    from lutra_service.compute import make_executor
    from lutra_service.settings import Settings

    url = f"sqlite:///{tmp_path}/lutra.db"
    return running(tmp_path, url, lambda: make_executor(Settings(database_url=url, **settings)), **settings)


def an_agent_in_a_session(service: Service) -> Agent:
    agent = service.agent(service.database(), mode="reload_only")
    agent.send()
    service.take("POST", f"/v1/databases/{agent.database}/sessions", SESSION)
    return agent


def asked(service: Service, agent: Agent, wait: int) -> Document:
    path = f"/v1/databases/{agent.database}/recommendations"
    found: Document = service.take("POST", path, None, Prefer=f"wait={wait}")
    return found


def test_a_worker_that_is_killed_costs_nothing_but_time(tmp_path: Path) -> None:
    with pooled(tmp_path, workers=1) as service:
        compute = service.client.app.state.compute
        deadline = time.monotonic() + 60
        while not getattr(compute.executor, "_processes", None) and time.monotonic() < deadline:
            time.sleep(0.01)
        (worker,) = compute.executor._processes
        agent = an_agent_in_a_session(service)
        os.kill(worker, signal.SIGKILL)
        assert asked(service, agent, wait=60)["state"] == "proposed"


def test_a_dask_cluster_computes_without_any_other_change(tmp_path: Path) -> None:
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(
            n_workers=1, threads_per_worker=1, dashboard_address=None, local_directory=str(tmp_path)
        ) as cluster,
        pooled(tmp_path, dask_scheduler=cluster.scheduler_address) as service,
    ):
        agent = an_agent_in_a_session(service)
        found = asked(service, agent, wait=60)
        assert (found["state"], found["origin"]) == ("proposed", "current")

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import psutil
import pytest
from lutra_service.db.schema.engine import make_engine
from lutra_service.db.store import Store

from tests.support.served import Served
from tests.support.service import Agent

pytestmark = pytest.mark.slow

KILLS = 3


def sender(agent: Agent, acknowledged: set[int], done: threading.Event) -> None:
    """Sends each report until it is acknowledged, as an agent's spool does."""
    while not done.is_set():
        body = agent.report(**agent.window(qps=float(agent.sequence)))
        while not done.is_set():
            try:
                agent.send(body)
            except httpx.TransportError:
                time.sleep(0.02)
                continue
            acknowledged.add(body["sequence"])
            break


def workers_of(pid: int) -> list[psutil.Process]:
    return [
        p for p in psutil.Process(pid).children(recursive=True) if "lutra_service.workers.worker_process" in p.cmdline()
    ]


def test_what_a_killed_service_was_computing_is_computed_by_the_next(tmp_path: Path) -> None:
    with Served(tmp_path, LUTRA_LEASE_S="2", LUTRA_SWEEP_S="0.2") as served:
        api = served.api
        database = api.take("POST", "/v1/databases", {"name": "shop", "engine": "postgresql"})["id"]
        token = api.take("POST", f"/v1/databases/{database}/tokens", {"name": "a", "scopes": ["agent"]})["token"]
        agent = Agent(served.client, token, database, mode="reload_only")
        agent.observe()
        session = {"objective": {"metric": "qps", "goal": "maximize"}, "mode": "reload_only"}
        api.take("POST", f"/v1/databases/{database}/sessions", session)
        made = api.take("POST", f"/v1/databases/{database}/recommendations")
        assert made["state"] == "computing"
        assert served.process is not None
        workers = workers_of(served.process.pid)
        assert workers
        served.kill()
        _, alive = psutil.wait_procs(workers, timeout=10)
        assert not alive
        served.start()
        found = api.take("GET", f"/v1/recommendations/{made['id']}", None, Prefer="wait=60")
        assert (found["state"], found["origin"]) == ("proposed", "evidence")


def test_a_service_that_is_told_to_stop_lets_waiting_agents_go(served: Served) -> None:
    api = served.api
    database = api.take("POST", "/v1/databases", {"name": "shop", "engine": "postgresql"})["id"]
    token = api.take("POST", f"/v1/databases/{database}/tokens", {"name": "a", "scopes": ["agent"]})["token"]
    agent = Agent(served.client, token, database)
    agent.send()
    with ThreadPoolExecutor(1) as pool:
        poll = pool.submit(agent.directive, 60)
        while 'lutra_waiters{kind="directive"} 1.0' not in served.client.get("/metrics").text:
            time.sleep(0.05)
        assert served.process is not None
        served.process.terminate()
        assert poll.result(timeout=20) is None
        served.process.wait(20)


def test_a_killed_service_loses_no_acknowledged_report_and_stores_none_twice(served: Served) -> None:
    api = served.api
    databases = [api.take("POST", "/v1/databases", {"name": n, "engine": "postgresql"})["id"] for n in ("a", "b")]
    done = threading.Event()
    acknowledged: dict[str, set[int]] = {}
    threads = []
    for database in databases:
        made = api.take("POST", f"/v1/databases/{database}/tokens", {"name": "agent", "scopes": ["agent"]})
        client = httpx.Client(base_url=served.client.base_url, timeout=10)
        agent = Agent(client, made["token"], database)
        acknowledged[database] = set()
        threads.append(threading.Thread(target=sender, args=(agent, acknowledged[database], done)))
    for thread in threads:
        thread.start()
    for _ in range(KILLS):
        before = sum(map(len, acknowledged.values()))
        deadline = time.monotonic() + 30
        while sum(map(len, acknowledged.values())) < before + 40 and time.monotonic() < deadline:
            time.sleep(0.01)
        served.kill()
        served.start()
    done.set()
    for thread in threads:
        thread.join(20)
    store = Store(make_engine(served.env["LUTRA_DATABASE_URL"]))
    for database in databases:
        stored = store.read(lambda unit, database=database: unit.reports.sequences(database))
        assert len(stored) == len(set(stored))
        assert acknowledged[database] <= set(stored)
        assert len(acknowledged[database]) >= KILLS * 10
    store.close()

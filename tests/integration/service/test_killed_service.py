from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest
from lutra_lab.servers.postgresql import ScratchPostgres
from lutra_lab.servers.processes import runs
from lutra_models import History, Knob, KnobSpace, Number, Objective, Observation
from lutra_service.app.jobs import workload_jobs
from lutra_service.app.notices.outbox import notify
from lutra_service.app.workloads import lessons
from lutra_service.db.schema.engine import make_engine
from lutra_service.db.store import Store

from tests.support.service.hosted import LONGEST_S, Agent
from tests.support.service.served import UNHURRIED, Served
from tests.support.waiting import PATIENCE_S, until

pytestmark = pytest.mark.slow

KILLS = 3
NOT_NOW = (429, 503)
BETWEEN = 10
"""Reports of each database that are acknowledged before the service is killed again."""


@pytest.fixture
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """For each test one of its own, which is killed."""
    with Served(tmp_path_factory.mktemp("service"), LUTRA_SWEEP_S="0.2", LUTRA_LEASE_S="1", **UNHURRIED) as served:
        yield served


def sender(agent: Agent, acknowledged: set[int], done: threading.Event) -> None:
    """Sends each report until it is acknowledged, as an agent's spool does."""
    while not done.is_set():
        body = agent.report(**agent.window(qps=float(agent.sequence)))
        while not done.is_set():
            try:
                response = agent.ask("POST", f"/v1/databases/{agent.database}/reports", body)
            except httpx.TransportError:
                time.sleep(0.02)
                continue
            if response.status_code in NOT_NOW:
                time.sleep(0.1)
                continue
            assert response.is_success, response.text
            acknowledged.add(body["sequence"])
            break


def workers_of(pid: int) -> list[psutil.Process]:
    return [
        p for p in psutil.Process(pid).children(recursive=True) if "lutra_service.workers.worker_process" in p.cmdline()
    ]


@pytest.mark.thorough
def test_what_a_killed_service_was_computing_is_computed_by_the_next(served: Served) -> None:
    api = served.api
    database = api.take("POST", "/v1/databases", {"name": "shop", "engine": "postgresql"})["id"]
    token = api.take("POST", f"/v1/databases/{database}/tokens", {"name": "a", "scopes": ["agent"]})["token"]
    agent = Agent(served.client, token, database, mode="reload_only")
    agent.observe()
    session = {"objective": {"metric": "qps", "goal": "maximize"}, "mode": "reload_only"}
    api.take("POST", f"/v1/databases/{database}/sessions", session)
    process = served.process
    assert process is not None
    workers = until(lambda: workers_of(process.pid))
    for worker in workers:
        worker.suspend()  # it is still computing when the service is killed
    made = api.take("POST", f"/v1/databases/{database}/recommendations")
    assert made["state"] == "computing"
    store = Store(make_engine(served.env["LUTRA_DATABASE_URL"]))
    until(lambda: store.read(lambda u: u.jobs.get(made["id"]).lease_until))
    served.kill()
    for worker in workers:
        worker.resume()
    until(lambda: not any(map(runs, workers)))
    store.close()
    served.start()
    path = f"/v1/recommendations/{made['id']}"
    until(lambda: api.take("GET", path, None, Prefer=f"wait={LONGEST_S}")["state"] != "computing")
    found = api.take("GET", path)
    assert (found["state"], found["origin"]) == ("proposed", "evidence")


@pytest.mark.thorough
def test_a_killed_service_loses_no_score_of_a_model_and_no_fit_of_a_workload(served: Served) -> None:
    store = Store(make_engine(served.env["LUTRA_DATABASE_URL"]))
    workload, _ = store.write(lambda u: lessons.imported(u, a_history(), "postgresql", "a data set"))
    model = served.api.take("POST", "/v1/models", {"name": "theirs", "options": {"surrogate": {"name": "toygp"}}})["id"]
    served.api.take("POST", f"/v1/models/{model}/score")
    store.write(workload_jobs.queue)
    score = store.read(lambda u: u.model_jobs.newest(model))
    assert score is not None
    until(lambda: store.read(lambda u: all(job is None or job.owner for job in map(u.jobs.find, (score.id, workload)))))
    served.kill()
    served.start()
    until(lambda: served.api.take("GET", f"/v1/models/{model}")["scoring"]["state"] == "done")
    until(lambda: store.read(lambda u: u.workloads.get(workload).snapshot_id))
    assert store.read(lambda u: u.jobs.waiting(("score", "workload"), u.now)) == []
    store.close()


def a_history() -> History:
    space = KnobSpace([Knob("work_mem", Number(64, 65536, unit="kB", log=True, integer=True))])
    seen = [Observation({"work_mem": 1024 * (i + 1)}, {"qps": 100.0 + i}) for i in range(4)]
    return History(space, Objective("qps", "maximize"), observations=seen)


def test_a_service_that_is_told_to_stop_lets_waiting_agents_go(served: Served) -> None:
    api = served.api
    database = api.take("POST", "/v1/databases", {"name": "shop", "engine": "postgresql"})["id"]
    token = api.take("POST", f"/v1/databases/{database}/tokens", {"name": "a", "scopes": ["agent"]})["token"]
    agent = Agent(served.client, token, database)
    agent.send()
    with ThreadPoolExecutor(1) as pool:
        poll = pool.submit(agent.directive, LONGEST_S)
        until(lambda: 'lutra_waiters{kind="directive"} 1.0' in served.client.get("/metrics").text)
        assert served.process is not None
        served.process.terminate()
        assert poll.result(PATIENCE_S) is None  # one that is not let go is cut off
        served.process.wait(PATIENCE_S)


@pytest.mark.thorough
def test_a_killed_service_loses_no_acknowledged_report_and_stores_none_twice(served: Served) -> None:
    api = served.api
    databases = [api.take("POST", "/v1/databases", {"name": n, "engine": "postgresql"})["id"] for n in ("a", "b")]
    done = threading.Event()
    acknowledged: dict[str, set[int]] = {}
    threads = []
    for database in databases:
        made = api.take("POST", f"/v1/databases/{database}/tokens", {"name": "agent", "scopes": ["agent"]})
        client = httpx.Client(base_url=served.client.base_url, timeout=PATIENCE_S)
        agent = Agent(client, made["token"], database)
        acknowledged[database] = set()
        threads.append(threading.Thread(target=sender, args=(agent, acknowledged[database], done)))
    for thread in threads:
        thread.start()
    for _ in range(KILLS):
        wanted = {database: len(known) + BETWEEN for database, known in acknowledged.items()}
        until(lambda wanted=wanted: all(len(acknowledged[d]) >= n for d, n in wanted.items()))
        served.kill()
        served.start()
    done.set()
    for thread in threads:
        thread.join(PATIENCE_S)
        assert not thread.is_alive()
    store = Store(make_engine(served.env["LUTRA_DATABASE_URL"]))
    for database in databases:
        stored = store.read(lambda unit, database=database: unit.reports.sequences(database))
        assert len(stored) == len(set(stored))
        assert acknowledged[database] <= set(stored)
        assert len(acknowledged[database]) >= KILLS * BETWEEN
    store.close()


@pytest.mark.engine
@pytest.mark.thorough
def test_a_store_that_stops_is_an_outage_of_two_log_lines_and_no_report_is_lost(
    tmp_path: Path, own_postgres: ScratchPostgres
) -> None:
    with Served(tmp_path, own_postgres.url(), LUTRA_SWEEP_S="0.2", **UNHURRIED) as served:
        database = served.api.take("POST", "/v1/databases", {"name": "shop", "engine": "postgresql"})["id"]
        path = f"/v1/databases/{database}"
        token = served.api.take("POST", f"{path}/tokens", {"name": "a", "scopes": ["agent"]})["token"]
        agent = Agent(served.client, token, database)
        agent.send()
        own_postgres.stop()
        body = agent.report()
        for _ in range(3):
            for api, method, asked, sent in ((agent, "POST", f"{path}/reports", body), (served.api, "GET", path, None)):
                answer = api.ask(method, asked, sent)
                assert (answer.status_code, answer.json()["code"]) == (503, "store_unavailable"), answer.text
                assert int(answer.headers["Retry-After"]) > 0
        own_postgres.start()
        until(lambda: agent.ask("POST", f"{path}/reports", body).is_success)
        assert agent.send()["duplicate"] is False
        assert served.log.count("the store cannot be used") == served.log.count("the store can be used again") == 1
        assert "Traceback" not in served.log


@pytest.mark.thorough
def test_a_service_that_is_killed_while_it_notifies_repeats_the_message_under_its_id(served: Served) -> None:
    with socket.create_server(("127.0.0.1", 0)) as hook:
        target = f"http://127.0.0.1:{hook.getsockname()[1]}/"
        made = served.api.take("POST", "/v1/receivers", {"name": "on call", "kind": "webhook", "target": target})
        database = served.api.take("POST", "/v1/databases", {"name": "shop", "engine": "postgresql"})["id"]
        store = Store(make_engine(served.env["LUTRA_DATABASE_URL"]))
        store.write(lambda u: notify(u, "guard", database, "a guard fired"))
        first, _ = hook.accept()
        told = message_of(first)
        served.kill()
        first.close()
        served.start()
        again, _ = hook.accept()
        assert message_of(again) == told
        again.sendall(b"HTTP/1.1 204 No Content\r\n\r\n")
        path = f"/v1/receivers/{made['id']}/deliveries"
        until(lambda: served.api.take("GET", path)["items"][0]["state"] == "delivered")
        store.close()


def message_of(connection: socket.socket) -> tuple[str, Any]:
    """The id and the body of a webhook."""
    request = b""
    while not request.endswith(b"}"):
        request += connection.recv(65536)
    head, _, body = request.partition(b"\r\n\r\n")
    (id_,) = [line for line in head.decode().split("\r\n") if line.startswith("webhook-id")]
    return id_, json.loads(body)

"""Many requests at the same moment."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.support.service.hosted import LONGEST_S, Agent, Service, approved
from tests.support.waiting import PATIENCE_S, until

pytestmark = pytest.mark.slow


def test_the_same_report_sent_many_times_at_once_is_stored_once(service: Service, agent: Agent, database: str) -> None:
    body = agent.report(**agent.window(qps=10.0))
    with ThreadPoolExecutor(8) as pool:
        receipts = list(pool.map(lambda _: agent.send(body), range(8)))
    assert sorted(r["duplicate"] for r in receipts) == [False] + [True] * 7
    assert service.store.read(lambda unit: unit.reports.sequences(database)) == [1]


def test_of_many_approvals_at_once_one_counts(service: Service, agent: Agent, database: str) -> None:
    agent.send()
    path = f"/v1/databases/{database}/recommendations"
    made = [service.take("POST", path, {"settings": {"work_mem": f"{n}MB"}}) for n in (5, 6, 7, 8)]
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda r: service.ask("POST", f"/v1/recommendations/{r['id']}/approve"), made * 2))
    assert sorted(a.status_code for a in answers) == [200] + [409] * 7
    states = [r["state"] for r in service.take("GET", path)["items"]]
    assert states.count("approved") == 1


def test_the_same_key_at_once_creates_once(service: Service) -> None:
    body = {"name": "shop", "engine": "postgresql"}
    with ThreadPoolExecutor(8) as pool:
        key = {"Idempotency-Key": "k"}
        made = list(pool.map(lambda _: service.take("POST", "/v1/databases", body, **key)["id"], range(8)))
    assert len(set(made)) == 1


@pytest.mark.slow
def test_many_waiting_agents_hold_neither_threads_nor_connections(service: Service) -> None:
    agents = [service.agent(service.database(f"shop{n}")) for n in range(6)]
    for agent in agents:
        agent.send()
    waiting = [agent for agent in agents for _ in range(8)]  # more than there are threads or pooled connections
    with ThreadPoolExecutor(len(waiting)) as pool:
        polls = [pool.submit(agent.directive, LONGEST_S) for agent in waiting]
        _until_waiting(service, len(waiting))
        assert service.take("GET", f"/v1/databases/{agents[0].database}")["id"] == agents[0].database
        made = {approved(service, agent, work_mem="8MB")["id"] for agent in agents}
        found = [poll.result(timeout=PATIENCE_S) for poll in polls]
    assert {f["id"] for f in found if f} == made
    assert None not in found


def _until_waiting(service: Service, count: int) -> None:
    told = f'lutra_waiters{{kind="directive"}} {count}.0'
    until(lambda: told in service.client.get("/metrics").text)

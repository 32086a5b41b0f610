"""The client against a running service: every operation of the interface, by both clients."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import pytest
from lutra_client import AsyncClient, Client, Conflict, Forbidden, NotFound, TimedOut, Unauthorized
from lutra_models.history import History
from starlette.routing import compile_path

from tests.contract.test_openapi import COMMITTED
from tests.support.service.hosted import LONGEST_S, Agent
from tests.support.service.served import Served
from tests.support.waiting import PATIENCE_S, until

pytestmark = pytest.mark.slow
OPERATIONS = [
    (method.upper(), compile_path(path)[0], told["operationId"])
    for path, methods in json.loads(COMMITTED.read_text())["paths"].items()
    for method, told in methods.items()
]


class Asked:
    """Which operations were asked for with success."""

    def __init__(self) -> None:
        self.names: set[str] = set()

    def see(self, response: httpx.Response) -> None:
        if response.is_success:
            at = response.request.url.path, response.request.method
            self.names.add(next(n for m, pattern, n in OPERATIONS if m == at[1] and pattern.match(at[0])))


@pytest.fixture
def asked() -> Asked:
    return Asked()


@pytest.fixture
def client(served: Served, asked: Asked) -> Iterator[Client]:
    with Client(str(served.client.base_url), served.token, timeout_s=PATIENCE_S) as client:
        client.driver.http.event_hooks["response"].append(asked.see)
        yield client


class Carrying:
    """An agent's part, through the client: what a directive asks for is measured and reported."""

    def __init__(self, client: Client, database: str) -> None:
        token = client.tokens.create(database, name="its agent", scopes=["agent"])["token"]
        reached = client.driver.http
        http = httpx.Client(base_url=reached.base_url, event_hooks=reached.event_hooks, timeout=PATIENCE_S)
        self.client = Client(token=token, http=http)
        self.agent = Agent(http, token or "", database)
        self.send()

    def send(self, **parts: Any) -> None:
        receipt = self.client.agents.send_report(self.agent.database, **self.agent.report(**parts))
        assert not receipt["duplicate"]

    def observe(self) -> None:
        self.send(**self.agent.window(qps=900.0, p99_ms=12.0))

    def carry_out(self) -> None:
        name, epoch = self.agent.name, self.agent.epoch
        asked = {"agent": name, "epoch": epoch, "wait_s": LONGEST_S}
        directive = until(lambda: self.client.agents.get_directive(self.agent.database, **asked))
        assert directive is not None
        self.agent.apply(directive["settings"])
        qps = 900.0 + float(directive["settings"].get("work_mem", 4096)) / 4096
        outcome = self.agent.outcome(dict(directive), "applied")
        self.send(outcomes=[outcome], measures=directive["id"], **self.agent.window(qps=qps, p99_ms=9e3 / qps))


def test_every_operation_is_carried_out(served: Served, client: Client, asked: Asked, tmp_path: Path) -> None:
    assert client.health.check_alive()["status"] == "alive"
    assert client.health.check_ready()["status"] == "ready"
    assert "lutra" in client.health.get_metrics()
    made = client.databases.register(name="shop", engine="postgresql")
    database = made["id"]
    assert client.databases.get(database)["policy"]["durability"] is False
    assert client.databases.change(database, policy={"durability": True})["policy"]["durability"] is True
    assert [d["id"] for d in client.databases.list(name="shop")] == [database]
    _tokens(client, database)
    _protection(client, database)
    carrying = Carrying(client, database)
    carrying.observe()
    session = _session(client, carrying)
    _decisions(client, carrying)
    assert client.summary.get(days=7)["until"]
    assert isinstance(client.history(session), History)
    _tables(client, database, session, tmp_path)
    _memory(client, session)
    _models(client)
    _notices(client)
    _retirement(client)
    assert asked.names == {name for *_, name in OPERATIONS}


def _tokens(client: Client, database: str) -> None:
    bound = client.tokens.create(database, name="reader", scopes=["read"])
    assert bound["token"].startswith("lutra_")
    assert [t["name"] for t in client.tokens.list(database)] == ["reader"]
    turned = client.tokens.rotate(database, bound["id"], grace_s=0)
    assert client.tokens.revoke(database, turned["id"])["revoked_at"] is not None
    free = client.tokens.create_global(name="scientist", scopes=["read"])
    turned = client.tokens.rotate_any(free["id"], grace_s=0)
    assert client.tokens.revoke_any(turned["id"])["revoked_at"] is not None
    assert len(list(client.tokens.list_all(limit=2))) >= 5  # more than one page
    assert "operate" in client.tokens.get_own()["scopes"]
    _enrolment(client, database)


def _notices(client: Client) -> None:
    """The receiver's address is one at which nobody listens."""
    made = client.receivers.create(name="on call", kind="webhook", target="http://127.0.0.1:9/hook")
    assert made["secret"].startswith("whsec_")
    assert [r["name"] for r in client.receivers.list()] == ["on call"]
    assert client.receivers.change(made["id"], kinds=["guard"])["kinds"] == ["guard"]
    assert client.receivers.test(made["id"])["kind"] == "test"
    assert [d["kind"] for d in client.receivers.list_deliveries(made["id"])] == ["test"]
    assert client.receivers.get(made["id"])["enabled"] is True
    assert client.receivers.delete(made["id"])["id"] == made["id"]


def _enrolment(client: Client, database: str) -> None:
    secret = client.tokens.create_enrolment(database)["token"]
    reached = client.driver.http
    with httpx.Client(base_url=reached.base_url, event_hooks=reached.event_hooks, timeout=PATIENCE_S) as http:
        enrolling = Client(token=secret, http=http)
        assert enrolling.tokens.enrol()["database"] == database
        with pytest.raises(Unauthorized, match="used or revoked"):
            enrolling.tokens.enrol()


def _protection(client: Client, database: str) -> None:
    read = client.protection.get_guardrails(database)
    assert client.protection.set_guardrails(database, **read)["guardrails"].keys() == read["guardrails"].keys()
    window = {"weekdays": ["sat"], "start": "02:00", "minutes": 60, "zone": "UTC"}
    assert client.protection.get_maintenance_windows(database)["windows"] == []
    client.protection.set_maintenance_windows(database, windows=[window])
    assert list(client.protection.list_events(database)) == []


def _session(client: Client, carrying: Carrying) -> str:
    database = carrying.agent.database
    opened = client.sessions.open(
        database,
        objective={"metric": "qps", "goal": "maximize"},
        mode="lab",
        approval="automatic",
        max_trials=6,
        verification_rounds=0,
    )
    session = opened["id"]
    for _ in range(6):
        carrying.carry_out()
    assert client.sessions.pause(session)["state"] == "paused"
    assert client.sessions.resume(session)["state"] == "running"
    with pytest.raises(TimedOut, match="it is running"):
        client.sessions.wait(session, timeout_s=0.2, every_s=0.1)
    carrying.carry_out()
    ended = client.sessions.wait(session, timeout_s=PATIENCE_S)
    assert ended["state"] == "completed"
    assert [s["id"] for s in client.sessions.list(database)] == [session]
    return session


def _decisions(client: Client, carrying: Carrying) -> None:
    database = carrying.agent.database
    made = client.recommendations.ask(database, settings={"work_mem": "8MB"})
    assert client.recommendations.wait(made["id"], timeout_s=PATIENCE_S)["state"] == "proposed"
    assert client.recommendations.reject(made["id"], reason="not today")["state"] == "rejected"
    again = client.recommendations.ask(database, settings={"work_mem": "16MB"})
    assert client.recommendations.approve(again["id"])["state"] == "approved"
    carrying.carry_out()
    assert client.recommendations.get(again["id"])["outcome"] is not None
    assert client.recommendations.roll_back(again["id"])["kind"] == "rollback"
    carrying.carry_out()
    assert len(list(client.recommendations.list(database, limit=3))) >= 8
    assert set(client.predictions.predict(database, settings={"work_mem": "8MB"})["predictions"]) >= {"qps"}
    assert client.predictions.get_memory(database)["terms"]
    other = client.sessions.open(database, objective={"metric": "qps", "goal": "maximize"})["id"]
    assert client.sessions.stop(other)["state"] == "stopped"


def _retirement(client: Client) -> None:
    made = client.databases.register(name="old shop", engine="postgresql")["id"]
    assert client.databases.retire(made)["retired_at"]
    assert made not in [d["id"] for d in client.databases.list()]
    assert client.databases.unretire(made)["retired_at"] is None
    client.databases.retire(made)
    assert client.databases.delete(made)["id"] == made


def _models(client: Client) -> None:
    made = [
        client.models.register(name=name, toml=f"[search]\nluck = {luck}\n")["id"]
        for name, luck in (("lucky", 2.5), ("sober", 3.5))
    ]
    assert "luck = 2.5" in client.models.get_options(made[0])
    assert client.models.shadow(made[0])["shadow"]
    assert not client.models.unshadow(made[0])["shadow"]
    assert client.models.score(made[0])["state"] == "waiting"
    assert client.models.promote(made[0])["state"] == "champion"
    assert client.models.roll_back()["state"] == "champion"
    assert client.models.retire(made[1])["state"] == "retired"
    assert client.models.get(made[0])["state"] == "retired"
    assert {m["id"] for m in client.models.list()} > set(made)


def _memory(client: Client, session: str) -> None:
    (workload,) = (w for w in client.workloads.list(engine="postgresql") if w["session"] == session)
    assert {e["setting"] for e in workload["lessons"]["qps"]["effects"]} >= {"work_mem"}
    assert client.history(workload["id"]).values("qps")
    assert workload["id"] not in [a["workload"] for a in client.workloads.list_nearest(workload["id"])["items"]]
    assert "lessons.qps.low" in client.workloads.list().to_frame()


def _tables(client: Client, database: str, session: str, folder: Path) -> None:
    assert [t["trial"] for t in client.sessions.list_trials(session)][:6] == [1, 2, 3, 4, 5, 6]
    assert "measured.qps" in client.sessions.list_trials(session).to_frame()
    assert len(list(client.databases.list_windows(database, metric=["qps"]))) >= 6
    assert {s["setting"] for s in client.databases.list_settings(database)} >= {"work_mem"}
    assert "symptoms" in client.databases.list_symptoms(database, minutes=1440)
    end = datetime(2099, 1, 1, tzinfo=UTC)
    accepted = client.databases.accept_symptom(database, "row_locks", because="one counter", until=end)
    assert (accepted["name"], accepted["until"]) == ("row_locks", end)
    assert [a["name"] for a in client.databases.list_accepted_symptoms(database)] == ["row_locks"]
    client.databases.withdraw_accepted_symptom(database, "row_locks")
    assert list(client.databases.list_accepted_symptoms(database)) == []
    assert isinstance(list(client.databases.list_symptom_history(database)), list)
    assert "work_mem" in {k["name"] for k in client.knobs.list(engine="postgresql", version="16")}
    assert {e["action"] for e in client.audit.list()} >= {"database.register", "session.open"}
    assert list(client.audit.of_database(database, action="session.stop"))
    assert client.sessions.get(session)["trials_done"] == 6
    assert client.sessions.get_history(session)["objective"]
    whole = client.observations.list().to_frame()
    assert len(whole) == len(list(client.observations.of_database(database)))
    of_session = client.observations.of_session(session)
    of_session.save(folder / "trials.csv", "csv")
    assert len((folder / "trials.csv").read_text().splitlines()) == 1 + len(of_session.to_frame())
    assert len(of_session.to_frame()) < len(whole)


def test_a_refusal_is_an_exception_with_the_services_words(served: Served, client: Client) -> None:
    url = str(served.client.base_url)
    with pytest.raises(NotFound, match="no database 'db_nothing'") as refused:
        client.databases.get("db_nothing")
    assert refused.value.request_id
    with Client(url, "lutra_wrong") as stranger, pytest.raises(Unauthorized, match="valid bearer token"):
        list(stranger.databases.list())
    client.databases.register(name="till", engine="postgresql")
    with pytest.raises(Conflict, match="already has the name 'till'"):
        client.databases.register(name="till", engine="postgresql")
    reader = client.tokens.create_global(name="reader", scopes=["read"])["token"]
    with Client(url, reader) as weak, pytest.raises(Forbidden, match="needs scope operate"):
        weak.databases.register(name="other", engine="postgresql")


def test_the_same_is_awaited(served: Served) -> None:
    async def told() -> None:
        async with AsyncClient(str(served.client.base_url), served.token, timeout_s=PATIENCE_S) as client:
            made = await asyncio.gather(*(client.databases.register(name=n, engine="postgresql") for n in "abc"))
            assert {"a", "b", "c"} <= {d["name"] async for d in client.databases.list(limit=2)}
            look = client.databases.get.request(made[0]["id"])
            found = await client.wait_until(look, lambda d: d["name"] == "a", timeout_s=PATIENCE_S)
            assert found["id"] == made[0]["id"]
            with pytest.raises(TimedOut):
                await client.wait_until(look, lambda d: d["name"] == "z", timeout_s=0.1, every_s=0.05)
            rows = [row async for row in client.observations.list()]
            assert len(await client.observations.list().to_frame()) == len(rows)
            assert len(await client.databases.list().to_frame()) >= 3

    asyncio.run(told())

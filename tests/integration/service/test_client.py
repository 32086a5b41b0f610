"""The client against a running service: every operation of the interface, by both clients."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from lutra_client import AsyncClient, Client, Conflict, Forbidden, NotFound, TimedOut, Unauthorized
from lutra_client.operations import Operations
from lutra_models.history import History
from starlette.routing import compile_path

from tests.contract.test_openapi import COMMITTED
from tests.support.served import Served
from tests.support.service import LONGEST_S, Agent
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
        token = client.create_token(database, name="its agent", scopes=["agent"])["token"]
        reached = client.driver.http
        http = httpx.Client(base_url=reached.base_url, event_hooks=reached.event_hooks, timeout=PATIENCE_S)
        self.client = Client(token=token, http=http)
        self.agent = Agent(http, token or "", database)
        self.send()

    def send(self, **parts: Any) -> None:
        receipt = self.client.send_report(self.agent.database, **self.agent.report(**parts))
        assert not receipt["duplicate"]

    def observe(self) -> None:
        self.send(**self.agent.window(qps=900.0, p99_ms=12.0))

    def carry_out(self) -> None:
        name, epoch = self.agent.name, self.agent.epoch
        asked = {"agent": name, "epoch": epoch, "wait_s": LONGEST_S}
        directive = until(lambda: self.client.get_directive(self.agent.database, **asked))
        assert directive is not None
        self.agent.apply(directive["settings"])
        qps = 900.0 + float(directive["settings"].get("work_mem", 4096)) / 4096
        outcome = self.agent.outcome(dict(directive), "applied")
        self.send(outcomes=[outcome], measures=directive["id"], **self.agent.window(qps=qps, p99_ms=9e3 / qps))


def test_every_operation_is_carried_out(served: Served, client: Client, asked: Asked, tmp_path: Path) -> None:
    assert client.check_alive()["status"] == "alive"
    assert client.check_ready()["status"] == "ready"
    assert "lutra" in client.get_metrics()
    made = client.register_database(name="shop", engine="postgresql")
    database = made["id"]
    assert client.get_database(database)["policy"]["durability"] is False
    assert client.change_database(database, policy={"durability": True})["policy"]["durability"] is True
    assert [d["id"] for d in client.list_databases(name="shop")] == [database]
    _tokens(client, database)
    _protection(client, database)
    carrying = Carrying(client, database)
    carrying.observe()
    session = _session(client, carrying)
    _decisions(client, carrying)
    assert isinstance(client.history(session), History)
    _tables(client, database, session, tmp_path)
    _memory(client, session)
    _models(client)
    _retirement(client)
    assert asked.names == {name for *_, name in OPERATIONS}


def _tokens(client: Client, database: str) -> None:
    bound = client.create_token(database, name="reader", scopes=["read"])
    assert bound["token"].startswith("lutra_")
    assert [t["name"] for t in client.list_tokens(database)] == ["reader"]
    turned = client.rotate_token(database, bound["id"], grace_s=0)
    assert client.revoke_token(database, turned["id"])["revoked_at"] is not None
    free = client.create_global_token(name="scientist", scopes=["read"])
    turned = client.rotate_any_token(free["id"], grace_s=0)
    assert client.revoke_any_token(turned["id"])["revoked_at"] is not None
    assert len(list(client.list_all_tokens(limit=2))) >= 5  # more than one page


def _protection(client: Client, database: str) -> None:
    read = client.get_guardrails(database)
    assert client.set_guardrails(database, **read)["guardrails"].keys() == read["guardrails"].keys()
    window = {"weekdays": ["sat"], "start": "02:00", "minutes": 60, "zone": "UTC"}
    assert client.get_maintenance_windows(database)["windows"] == []
    client.set_maintenance_windows(database, windows=[window])
    assert list(client.list_events(database)) == []


def _session(client: Client, carrying: Carrying) -> str:
    database = carrying.agent.database
    opened = client.open_session(
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
    assert client.pause_session(session)["state"] == "paused"
    assert client.resume_session(session)["state"] == "running"
    with pytest.raises(TimedOut, match="it is running"):
        client.wait_for_session(session, timeout_s=0.2, every_s=0.1)
    carrying.carry_out()
    ended = client.wait_for_session(session, timeout_s=PATIENCE_S)
    assert ended["state"] == "completed"
    assert [s["id"] for s in client.list_sessions(database)] == [session]
    return session


def _decisions(client: Client, carrying: Carrying) -> None:
    database = carrying.agent.database
    made = client.ask_recommendation(database, settings={"work_mem": "8MB"})
    assert client.wait_for_recommendation(made["id"], timeout_s=PATIENCE_S)["state"] == "proposed"
    assert client.reject_recommendation(made["id"], reason="not today")["state"] == "rejected"
    again = client.ask_recommendation(database, settings={"work_mem": "16MB"})
    assert client.approve_recommendation(again["id"])["state"] == "approved"
    carrying.carry_out()
    assert client.get_recommendation(again["id"])["outcome"] is not None
    assert client.roll_back_recommendation(again["id"])["kind"] == "rollback"
    carrying.carry_out()
    assert len(list(client.list_recommendations(database, limit=3))) >= 8
    assert set(client.predict(database, settings={"work_mem": "8MB"})["predictions"]) >= {"qps"}
    other = client.open_session(database, objective={"metric": "qps", "goal": "maximize"})["id"]
    assert client.stop_session(other)["state"] == "stopped"


def _retirement(client: Client) -> None:
    made = client.register_database(name="old shop", engine="postgresql")["id"]
    assert client.retire_database(made)["retired_at"]
    assert made not in [d["id"] for d in client.list_databases()]
    assert client.unretire_database(made)["retired_at"] is None
    client.retire_database(made)
    assert client.delete_database(made)["id"] == made


def _models(client: Client) -> None:
    made = [
        client.register_model(name=name, toml=f"[search]\nluck = {luck}\n")["id"]
        for name, luck in (("lucky", 2.5), ("sober", 3.5))
    ]
    assert "luck = 2.5" in client.get_model_options(made[0])
    assert client.shadow_model(made[0])["shadow"]
    assert not client.unshadow_model(made[0])["shadow"]
    assert client.score_model(made[0])["state"] == "waiting"
    assert client.promote_model(made[0])["state"] == "champion"
    assert client.roll_back_model()["state"] == "champion"
    assert client.retire_model(made[1])["state"] == "retired"
    assert client.get_model(made[0])["state"] == "retired"
    assert {m["id"] for m in client.list_models()} > set(made)


def _memory(client: Client, session: str) -> None:
    (workload,) = (w for w in client.list_workloads(engine="postgresql") if w["session"] == session)
    assert {e["setting"] for e in workload["lessons"]["qps"]["effects"]} >= {"work_mem"}
    assert client.history(workload["id"]).values("qps")
    assert workload["id"] not in [a["workload"] for a in client.list_nearest_workloads(workload["id"])["items"]]
    assert "lessons.qps.low" in client.list_workloads().to_frame()


def _tables(client: Client, database: str, session: str, folder: Path) -> None:
    assert [t["trial"] for t in client.list_trials(session)][:6] == [1, 2, 3, 4, 5, 6]
    assert "measured.qps" in client.list_trials(session).to_frame()
    assert len(list(client.list_windows(database, metric=["qps"]))) >= 6
    assert {s["setting"] for s in client.list_settings(database)} >= {"work_mem"}
    assert "symptoms" in client.list_symptoms(database, minutes=1440)
    accepted = client.accept_symptom(database, "row_locks", because="one counter", until="2099-01-01T00:00:00Z")
    assert accepted["name"] == "row_locks"
    assert [a["name"] for a in client.list_accepted_symptoms(database)] == ["row_locks"]
    client.withdraw_accepted_symptom(database, "row_locks")
    assert list(client.list_accepted_symptoms(database)) == []
    assert isinstance(list(client.list_symptom_history(database)), list)
    assert "work_mem" in {k["name"] for k in client.list_knobs(engine="postgresql", version="16")}
    assert {e["action"] for e in client.list_audit()} >= {"database.register", "session.open"}
    assert list(client.list_database_audit(database, action="session.stop"))
    assert client.get_session(session)["trials_done"] == 6
    assert client.get_history(session)["objective"]
    whole = client.list_observations().to_frame()
    assert len(whole) == len(list(client.list_database_observations(database)))
    of_session = client.list_session_observations(session)
    of_session.save(folder / "trials.csv", "csv")
    assert len((folder / "trials.csv").read_text().splitlines()) == 1 + len(of_session.to_frame())
    assert len(of_session.to_frame()) < len(whole)


def test_a_refusal_is_an_exception_with_the_services_words(served: Served, client: Client) -> None:
    url = str(served.client.base_url)
    with pytest.raises(NotFound, match="no database 'db_nothing'") as refused:
        client.get_database("db_nothing")
    assert refused.value.request_id
    with Client(url, "lutra_wrong") as stranger, pytest.raises(Unauthorized, match="valid bearer token"):
        list(stranger.list_databases())
    client.register_database(name="till", engine="postgresql")
    with pytest.raises(Conflict, match="already called 'till'"):
        client.register_database(name="till", engine="postgresql")
    reader = client.create_global_token(name="reader", scopes=["read"])["token"]
    with Client(url, reader) as weak, pytest.raises(Forbidden, match="needs scope operate"):
        weak.register_database(name="other", engine="postgresql")


def test_the_same_is_awaited(served: Served) -> None:
    async def told() -> None:
        async with AsyncClient(str(served.client.base_url), served.token, timeout_s=PATIENCE_S) as client:
            made = await asyncio.gather(*(client.register_database(name=n, engine="postgresql") for n in "abc"))
            assert {"a", "b", "c"} <= {d["name"] async for d in client.list_databases(limit=2)}
            look = Operations.get_database.request(made[0]["id"])
            found = await client.wait_until(look, lambda d: d["name"] == "a", timeout_s=PATIENCE_S)
            assert found["id"] == made[0]["id"]
            with pytest.raises(TimedOut):
                await client.wait_until(look, lambda d: d["name"] == "z", timeout_s=0.1, every_s=0.05)
            rows = [row async for row in client.list_observations()]
            assert len(await client.list_observations().to_frame()) == len(rows)
            assert len(await client.list_databases().to_frame()) >= 3

    asyncio.run(told())

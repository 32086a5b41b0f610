"""One service under load, killed again and again: the API process, its workers, its store, and a real agent."""

from __future__ import annotations

import random
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import httpx
import psutil
from lutra_lab.servers.postgresql import ScratchPostgres

from benchmarks.attacks import kills_count
from benchmarks.attacks.kills_load import Client, Ledger, agent_load, operator_load
from benchmarks.attacks.stores import DEBIAN_15, LIFTED, Stored, scratch_folder, stored
from tests.support.agent.processes import agent_process, document, write_toml
from tests.support.service.hosted import Agent

TARGETS = ("service", "worker", "store", "agent")
WEIGHTS = {"service": 4, "worker": 2, "store": 2, "agent": 2}
AGENTS = 6
OPERATORS = 2
BETWEEN_S = (0.3, 1.5)
HURRIED = {"LUTRA_LEASE_S": "3", "LUTRA_SWEEP_S": "0.5", **LIFTED}


class Fleet:
    """A service with everything around it that is killed."""

    def __init__(self, made: Stored, toml: Path, agent_token: str, seed: int) -> None:
        self.made = made
        self.rng = random.Random(seed)
        self.killed: Counter[str] = Counter()
        self._toml = toml
        self._agent_token = agent_token
        self._stack = ExitStack()
        self._agent = self._started()

    def kill(self) -> str:
        """One of them, and up again; which it was."""
        targets = [t for t in TARGETS if t != "store" or self.made.postgres is not None]
        target = self.rng.choices(targets, [WEIGHTS[t] for t in targets])[0]
        getattr(self, f"_kill_{target}")()
        self.killed[target] += 1
        return target

    def close(self) -> None:
        self._stack.close()

    def _kill_service(self) -> None:
        self.made.served.kill()
        self.made.served.start()

    def _kill_worker(self) -> None:
        """Any process that the service started; the service itself goes on."""
        served = self.made.served
        assert served.process is not None
        children = psutil.Process(served.process.pid).children(recursive=True)
        workers = [c for c in children if "spawn_main" in _command(c)] or children
        if workers:
            self.rng.choice(workers).kill()

    def _kill_store(self) -> None:
        assert self.made.postgres is not None
        self.made.postgres.crash()
        self.made.postgres.start()

    def _kill_agent(self) -> None:
        self._agent.kill()
        self._agent.wait()
        self._agent = self._started()

    def _started(self) -> subprocess.Popen[bytes]:
        return self._stack.enter_context(agent_process(self._toml, self._agent_token))


def _command(process: psutil.Process) -> str:
    try:
        return " ".join(process.cmdline())
    except psutil.Error:
        return ""


def run(store: str, kills: int, seed: int) -> dict[str, Any]:
    """`kills` kills of one fresh service; what was acknowledged, lost and doubled."""
    with stored(store, HURRIED) as made, scratch_folder() as folder, _database(folder) as server:
        api, ledger, done = made.served.api, Ledger(), threading.Event()
        real, token = _registered(api, "real", "agent")
        sections: dict[str, dict[str, Any]] = {
            "service": {"database": real},
            "agent": {"mode": "observe", "interval_s": 1},
        }
        url = f"http://127.0.0.1:{made.served.port}"
        toml = write_toml(folder / "agent.toml", document(server, url, folder / "state", "observe", **sections))
        busy = threading.Thread(target=_tuned, args=(*_registered(api, "tuned", "agent"), url, done), daemon=True)
        threads = [*_load(made, url, ledger, done), busy]
        for thread in threads:
            thread.start()
        fleet = Fleet(made, toml, token, seed)
        began = time.monotonic()
        for number in range(kills):
            time.sleep(fleet.rng.uniform(*BETWEEN_S))
            print(f"{store}: kill {number + 1} of {kills}, {fleet.kill()}; {ledger.acknowledged()}", flush=True)
        time.sleep(3)
        done.set()
        for thread in threads:
            thread.join(60)
        time.sleep(2)
        fleet.close()
        found = kills_count.faults(made.served, ledger, real)
    return {
        "store": store,
        "kills": dict(fleet.killed),
        "acknowledged": ledger.acknowledged(),
        "repeated": ledger.repeated,
        "unexpected": ledger.unexpected,
        "seconds": round(time.monotonic() - began),
        **found,
    }


@contextmanager
def _database(folder: Path) -> Iterator[ScratchPostgres]:
    """The database beside which the real agent runs."""
    with ScratchPostgres(folder / "server", programs=DEBIAN_15 if DEBIAN_15.exists() else None) as server:
        yield server


def _registered(api: Any, name: str, scope: str) -> tuple[str, str]:
    database = api.take("POST", "/v1/databases", {"name": name, "engine": "postgresql"})["id"]
    made = api.take("POST", f"/v1/databases/{database}/tokens", {"name": name, "scopes": [scope]})
    return database, made["token"]


def _load(made: Stored, url: str, ledger: Ledger, done: threading.Event) -> list[threading.Thread]:
    api, threads, own = made.served.api, [], []
    for number in range(AGENTS):
        database, token = _registered(api, f"shop-{number}", "agent")
        own.append(database)
        agent = Agent(httpx.Client(base_url=url), token, database, mode="reload_only")
        client = Client(url, token, ledger, done)
        agent.send()
        threads.append(threading.Thread(target=agent_load, args=(agent, client, ledger, done), daemon=True))
    for number in range(OPERATORS):
        client = Client(url, made.served.token, ledger, done)
        part = own[number::OPERATORS]
        threads.append(threading.Thread(target=operator_load, args=(number, client, ledger, part, done), daemon=True))
    return threads


def _tuned(database: str, token: str, url: str, done: threading.Event) -> None:
    """A session in lab mode whose computations keep the workers busy."""
    ledger = Ledger()
    client = Client(url, token, ledger, done)
    agent = Agent(httpx.Client(base_url=url), token, database)
    path = f"/v1/databases/{database}"
    client.ask("POST", f"{path}/reports", agent.report())
    session = {"objective": {"metric": "qps", "goal": "maximize"}, "mode": "lab", "approval": "automatic"}
    client.create(f"{path}/sessions", {**session, "max_trials": 500})
    while not done.is_set():
        answer = client.ask("GET", f"{path}/directive", None, Prefer="wait=2")
        if answer is None or answer.status_code != 200:
            continue
        directive = answer.json()
        agent.apply({n: v for n, v in directive["settings"].items() if n in agent.settings})
        parts = {"outcomes": [agent.outcome(directive, "applied")], "measures": directive["id"]}
        client.ask("POST", f"{path}/reports", agent.report(**parts, **agent.window(qps=900.0 + agent.sequence % 50)))

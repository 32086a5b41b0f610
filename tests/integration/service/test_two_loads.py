"""A real server under two loads: the agent says which of them a reading was taken under."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from lutra_lab.servers.postgresql import ScratchPostgres

from tests.support.agent.processes import agent_process, document, write_toml
from tests.support.servers.engines import scratch
from tests.support.service.hosted import Document
from tests.support.service.served import Served
from tests.support.waiting import until

pytestmark = [pytest.mark.engine, pytest.mark.slow, pytest.mark.thorough]

SESSION = {
    "objective": {"metric": "p99_ms", "goal": "minimize"},
    "mode": "lab",
    "approval": "automatic",
    "max_trials": 100,
    "seed": 1,
}
POLICY = {"restart": False, "movable": ["work_mem", "random_page_cost", "commit_delay"]}
TRIALS = 3
FEW, MANY = 8, 64
"""Clients."""
IN_TURN = """
BEGIN;
SELECT pg_advisory_xact_lock(1);
SELECT pg_sleep(0.002);
END;
"""
"""One client at a time, the others wait for it: as for the only core of a busy machine, and this one's stay idle."""


@pytest.fixture
def server() -> Iterator[ScratchPostgres]:
    with scratch("postgres18") as made:
        yield made


@dataclass
class Scene:
    """A database in a lab session, and its agent's folder."""

    served: Served
    server: ScratchPostgres
    folder: Path
    database: str
    token: str
    session: str = ""

    def agent(self, clients: int) -> AbstractContextManager[Any]:
        script = self.folder / "in_turn.sql"
        script.write_text(IN_TURN)
        driver = {"kind": "pgbench", "bin": str(self.server.bin_dir / "pgbench"), "script": str(script)}
        driver |= {"clients": clients, "warmup_s": 0.5, "duration_s": 1}
        url, where = f"http://127.0.0.1:{self.served.port}", {"database": self.database}
        made = document(self.server, url, self.folder / "state", service=where, driver=driver)
        return agent_process(write_toml(self.folder / f"{clients}.toml", made), self.token)

    def trials(self) -> list[Document]:
        found = self.served.api.take("GET", f"/v1/sessions/{self.session}/trials")["items"]
        return [t for t in found if t["measured"]]

    def measured_under(self, clients: int) -> Document:
        """What is predicted of the active settings after some trials under a load."""
        api, before = self.served.api, len(self.trials()) if self.session else 0
        with self.agent(clients):
            if not self.session:
                until(lambda: api.take("GET", f"/v1/databases/{self.database}")["agent"])
                self.session = api.take("POST", f"/v1/databases/{self.database}/sessions", SESSION)["id"]
            until(lambda: len(self.trials()) >= before + TRIALS)
        return api.take("POST", f"/v1/databases/{self.database}/predictions", {"settings": {}})

    def loads(self) -> set[int]:
        """How many clients each reading that the session learns from was taken under."""
        history = self.served.api.take("GET", f"/v1/sessions/{self.session}/history")
        return {o["context"]["clients"] for o in history["observations"]}


@pytest.fixture
def scene(server: ScratchPostgres, tmp_path: Path) -> Iterator[Scene]:
    with Served(tmp_path) as served:
        body = {"name": "shop", "engine": "postgresql", "policy": POLICY}
        database = served.api.take("POST", "/v1/databases", body)["id"]
        made = served.api.take("POST", f"/v1/databases/{database}/tokens", {"name": "a", "scopes": ["agent"]})
        yield Scene(served, server, tmp_path, database, made["token"])


def test_the_readings_of_two_loads_are_kept_apart(scene: Scene) -> None:
    """By the number of clients that the agent reports. Simulated loads show how far apart their predictions are."""
    assert scene.measured_under(FEW)["predictions"].keys() == {"p99_ms", "qps"}
    assert scene.loads() == {FEW}
    assert scene.measured_under(MANY)["predictions"].keys() == {"p99_ms", "qps"}
    assert scene.loads() == {FEW, MANY}

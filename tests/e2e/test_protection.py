"""A real service, agent and server: what protects a change while the service is dead, or the agent lost its state."""

from __future__ import annotations

import shutil
import tomllib
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
import pytest
from lutra_lab.servers.postgresql import ScratchPostgres
from lutra_models.guardrails import GUARDS

from tests.support.agent.processes import agent_process, settings_of, write_toml
from tests.support.servers.loads import loaded
from tests.support.service.hosted import Document
from tests.support.service.served import UNHURRIED, Served
from tests.support.waiting import PATIENCE_S, until

pytestmark = [pytest.mark.engine, pytest.mark.slow]

NO_GUARD = {guard.name: {"limit": 0, "hold_s": 0, "enabled": False} for guard in GUARDS}
THROUGHPUT = {**NO_GUARD, "qps": {"limit": 0.5, "hold_s": 3}}
LONG = {"confirm_windows": 100, "confirm_s": 86_400, "service_may_loosen": True}
A_THOUSAND = "DO $$ BEGIN FOR n IN 1..1000 LOOP PERFORM 1 FROM pg_class LIMIT 1; COMMIT; END LOOP; END $$"
"""Transactions. The server counts them in time where they read a table."""
REST_S = 0.1


@contextmanager
def asking(server: ScratchPostgres) -> Iterator[None]:
    """Transactions that wait for no disk: on any machine many times as many as the agent's own."""
    with (
        psycopg.connect(server.conninfo(), autocommit=True) as connection,
        loaded(lambda: connection.execute(A_THOUSAND), REST_S),
    ):
        yield


@dataclass
class Scene:
    """A database whose load goes on, its agent's file and the service."""

    served: Served
    path: str
    file: Path
    token: str

    def agent(self) -> AbstractContextManager[Any]:
        return agent_process(self.file, self.token)

    def confirm_after(self, windows: int) -> None:
        """For the agent that starts next. One that lost its state does not know where a rollback leads: it watches."""
        toml = tomllib.loads(self.file.read_text())
        toml["guard"]["confirm_windows"] = windows
        write_toml(self.file, toml)

    def changed(self) -> str:
        """The path of a recommendation that was approved and that the agent has applied provisionally."""
        api = self.served.api
        until(lambda: len(api.take("GET", f"{self.path}/windows")["items"]) >= 5)
        change: str = until(self._applied)
        return change

    def events(self, change: str) -> list[Document]:
        """Those that took this recommendation back."""
        found = self.served.api.take("GET", f"{self.path}/events")["items"]
        return [event for event in found if change.endswith(f"/{event['recommendation']}")]

    def _applied(self) -> str:
        """Empty where it was not applied: on a busy machine a guard may fire by itself, and refuses it."""
        api, wanted = self.served.api, {"settings": {"work_mem": "8MB"}, "approve": True}
        change = f"/v1/recommendations/{api.take('POST', f'{self.path}/recommendations', wanted)['id']}"
        until(lambda: api.take("GET", change)["state"] != "approved")
        found = api.take("GET", change)
        if found["state"] != "applied":
            return ""
        assert found["outcome"]["confirm_by"]
        return change


@pytest.fixture
def scene(request: pytest.FixtureRequest, postgres18: ScratchPostgres, tmp_path: Path) -> Iterator[Scene]:
    with Served(tmp_path, **UNHURRIED) as served:
        shop = served.registered(postgres18, "reload_only", request.param, LONG)
        yield Scene(served, shop.path, shop.file, shop.token)


@pytest.mark.parametrize("scene", [THROUGHPUT], indirect=True, ids=["throughput"])
def test_a_change_whose_throughput_falls_is_reverted_by_the_agent_and_shown_by_the_service(
    postgres18: ScratchPostgres, scene: Scene
) -> None:
    before, served, api = settings_of(postgres18), scene.served, scene.served.api
    with scene.agent():
        with asking(postgres18):
            change = scene.changed()
            served.kill()
        until(lambda: settings_of(postgres18) == before)
        served.start()
        until(lambda: api.take("GET", change)["state"] == "reverted")
        events = until(lambda: scene.events(change))
    found, [event] = api.take("GET", change), events
    assert found["error"].startswith("guardrail: qps:")
    assert event["guard"] == "qps"
    assert found["outcome"]["events"][0]["value"] == event["value"] < event["bound"]


@pytest.mark.thorough
@pytest.mark.parametrize("scene", [NO_GUARD], indirect=True, ids=["no guard"])
def test_a_change_whose_agent_lost_its_state_is_taken_back_by_the_one_that_follows(
    postgres18: ScratchPostgres, scene: Scene, tmp_path: Path
) -> None:
    before, api = settings_of(postgres18), scene.served.api
    with asking(postgres18):
        with scene.agent() as process:
            change = scene.changed()
            process.kill()
            process.wait(PATIENCE_S)
        shutil.rmtree(tmp_path / "state")
        assert settings_of(postgres18) != before
        scene.confirm_after(windows=2)
        with scene.agent():
            until(lambda: settings_of(postgres18) == before)
            until(lambda: api.take("GET", change)["state"] == "reverted")
    assert "lost its state" in api.take("GET", change)["error"]

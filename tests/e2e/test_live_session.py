"""A live session with a real PostgreSQL, agent, service and model: proposed, turned down, rolled back on the host."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from lutra_lab.servers.postgresql import ScratchPostgres
from lutra_models.guardrails import GUARDS

from tests.support.agent.processes import TOKEN, agent_process, settings_of
from tests.support.servers.loads import inserting
from tests.support.service.hosted import LONGEST, Api
from tests.support.service.served import UNHURRIED, Served
from tests.support.waiting import until

pytestmark = [pytest.mark.engine, pytest.mark.slow]

PATIENT = {guard.name: {"limit": 0, "hold_s": 0, "enabled": False} for guard in GUARDS}
LONG = {"confirm_windows": 100, "confirm_s": 86_400, "service_may_loosen": True}
"""A change stays provisional until the test takes it back."""
SESSION = {"objective": {"metric": "tps", "goal": "maximize"}, "mode": "reload_only"}
REASON = "the nightly reports need that"


@dataclass
class Scene:
    api: Api
    path: str
    file: Path
    token: str

    def ask(self) -> dict[str, Any]:
        def asked() -> dict[str, Any]:
            found: dict[str, Any] = self.api.take("POST", f"{self.path}/recommendations", None, Prefer=LONGEST)
            return found if found["state"] not in ("observing", "computing") else {}

        found: dict[str, Any] = until(asked)
        return found

    @contextmanager
    def observed(self, server: ScratchPostgres) -> Iterator[None]:
        """Its agent runs, and has observed some windows of a load."""
        with agent_process(self.file, self.token), inserting(server):
            until(lambda: len(self.api.take("GET", f"{self.path}/windows")["items"]) >= 5)
            yield

    def on_host(self, *command: str) -> None:
        """`lutra-agent`, as its operator runs it there."""
        program = [sys.executable, "-m", "lutra_agent", *command, "--config", str(self.file)]
        environment = {**os.environ, "LUTRA_AGENT_TOKEN": TOKEN}
        subprocess.run(program, env=environment, check=True, capture_output=True)

    def look(self, id_: str) -> dict[str, Any]:
        found: dict[str, Any] = self.api.take("GET", f"/v1/recommendations/{id_}")
        return found


@pytest.fixture
def scene(postgres18: ScratchPostgres, tmp_path: Path) -> Iterator[Scene]:
    with Served(tmp_path, **UNHURRIED) as served:
        shop = served.registered(postgres18, "reload_only", PATIENT, LONG)
        yield Scene(served.api, shop.path, shop.file, shop.token)


def changed(recommendation: dict[str, Any]) -> dict[str, Any]:
    return {c["setting"]: c["after"] for c in recommendation["changes"]}


def test_from_the_first_proposal_to_a_rollback_on_the_host(postgres18: ScratchPostgres, scene: Scene) -> None:
    api, before = scene.api, settings_of(postgres18)
    with scene.observed(postgres18):
        session = api.take("POST", f"{scene.path}/sessions", SESSION)["id"]
        first = scene.ask()
        assert (first["state"], first["origin"]) == ("proposed", "evidence")
        assert changed(first)
        name = next(iter(changed(first)))
        path = f"/v1/recommendations/{first['id']}"
        part = api.take("POST", f"{path}/approve", {"settings": [name], "reason": REASON})
        until(lambda: scene.look(part["id"])["state"] in ("applied", "confirmed"))
        assert settings_of(postgres18) != before
        scene.on_host("rollback", "--to", "baseline", "--reason", REASON)
        until(lambda: scene.look(part["id"])["state"] == "reverted")
        assert settings_of(postgres18) == before
        found = until(lambda: api.take("GET", f"/v1/sessions/{session}") if _paused(api, session) else {})
        assert "rolled back on its host to the baseline" in found["message"]
        known = api.take("GET", f"/v1/sessions/{session}/history")["turned_down"]
        assert [(t["how"], t["reason"]) for t in known] == [("left_out", REASON), ("rolled_back", REASON)]
        scene.on_host("resume")
        api.take("POST", f"/v1/sessions/{session}/resume")
        again = scene.ask()
        assert not {(n, v) for n, v in changed(again).items()} & set(changed(first).items())
        if again["state"] == "unneeded":
            assert api.take("GET", f"/v1/sessions/{session}")["state"] == "settled"


def _paused(api: Api, session: str) -> bool:
    return bool(api.take("GET", f"/v1/sessions/{session}")["state"] == "paused")

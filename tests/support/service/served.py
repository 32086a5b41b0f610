"""`lutra serve` as a process, on a free port of loopback, over a database that has its schema and a token."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

import httpx
from lutra_lab.servers.base import ScratchServer
from lutra_lab.servers.ports import free_port
from lutra_service.app.access.tokens import create_token
from lutra_service.db.schema.engine import make_engine
from lutra_service.db.store import Store

from tests.support.agent.processes import document, write_toml
from tests.support.service.application import migrated, upgraded
from tests.support.service.hosted import Api
from tests.support.waiting import PATIENCE_S, until

LUTRA = Path(sys.executable).parent / "lutra"
UNHURRIED = {
    **{f"LUTRA_{name}_S": f"{PATIENCE_S:.0f}" for name in ("HEAD", "BODY", "IDLE", "WRITE")},
    "LUTRA_FIT_TIMEOUT_S": f"{12 * PATIENCE_S:.0f}",
}
"""For the environment of a service that gives up no connection and no computation because this machine is slow."""


@dataclass(frozen=True)
class Registered:
    """A database that the service knows: its path over REST, its agent's file and token."""

    path: str
    file: Path
    token: str


class Served:
    """Started on entry, stopped on exit; `kill` and `start` in between are the test's."""

    def __init__(self, directory: Path, url: str | None = None, **env: str) -> None:
        self.directory = directory
        self.port = free_port()
        self.url = url
        self.env = {**os.environ, "LUTRA_DATABASE_URL": url or f"sqlite:///{directory}/lutra.db", **env}
        self.process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Served:
        """The schema and the token are made here: two processes that do so take longer than the service to start."""
        store = Store(make_engine(upgraded(self.url) if self.url else migrated(self.directory)))
        _, self.token = store.write(lambda unit: create_token(unit, "test", ["admin"]))
        store.close()
        self.client = httpx.Client(base_url=f"http://127.0.0.1:{self.port}", timeout=PATIENCE_S)
        self.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.client.close()
        if self.process is not None:
            self.process.terminate()
            self.process.wait(PATIENCE_S)

    @property
    def api(self) -> Api:
        return Api(self.client, self.token)

    def registered(
        self, server: ScratchServer, mode: str, guardrails: Mapping[str, Any], guard: Mapping[str, Any]
    ) -> Registered:
        """`server` as a database of the service; `guardrails` are set there, `guard` in its agent's file."""
        database = self.api.take("POST", "/v1/databases", {"name": "shop", "engine": server.engine})["id"]
        path = f"/v1/databases/{database}"
        self.api.take("PUT", f"{path}/guardrails", {"guardrails": guardrails})
        made = self.api.take("POST", f"{path}/tokens", {"name": "its agent", "scopes": ["agent"]})
        url, where = f"http://127.0.0.1:{self.port}", {"database": database}
        toml = document(server, url, self.directory / "state", mode, service=where, guard=guard)
        return Registered(path, write_toml(self.directory / "agent.toml", toml), made["token"])

    @property
    def log(self) -> str:
        return (self.directory / "service.log").read_text()

    def run(self, *arguments: str) -> str:
        done = subprocess.run([LUTRA, *arguments], env=self.env, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def start(self) -> None:
        with (self.directory / "service.log").open("ab") as log:
            self.process = subprocess.Popen([LUTRA, "serve", "--port", str(self.port)], env=self.env, stderr=log)
        try:
            self._wait(self.process)
        except BaseException:
            self.process.kill()
            raise

    def kill(self) -> None:
        """As a power cut would: nothing is flushed, nobody is asked."""
        assert self.process is not None
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(PATIENCE_S)
        self.process = None

    def _wait(self, process: subprocess.Popen[bytes]) -> None:
        try:
            until(lambda: self._ready(process))
        except AssertionError:
            raise AssertionError(self.log) from None

    def _ready(self, process: subprocess.Popen[bytes]) -> bool:
        assert process.poll() is None, "the service has ended"
        try:
            return self.client.get("/readyz").status_code == 200
        except httpx.TransportError:
            return False

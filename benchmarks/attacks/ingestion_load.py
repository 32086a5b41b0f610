"""Reports over some connections at once, each an agent of its own database, as packed as agents pack them."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import psutil
from lutra_lab.servers.ports import free_port

from tests.support.service import Agent, Api

COUNTERS = 70
READY_S = 60.0


class Checkout:
    """A running service of one checkout: its own .venv where it has one, else its sources before this one's."""

    def __init__(self, path: Path, folder: Path, env: Mapping[str, str]) -> None:
        self.path = path.resolve()
        self.port = free_port()
        self.env = {**os.environ, "LUTRA_DATABASE_URL": f"sqlite:///{folder}/lutra.db", **env}
        own = self.path / ".venv/bin/python"
        self.python = str(own) if own.exists() else sys.executable
        if not own.exists():
            self.env["PYTHONPATH"] = ":".join(str(self.path / part) for part in ("models", "agent", "service"))

    @contextmanager
    def running(self) -> Iterator[list[Agent]]:
        """Agents, ready to report, one a connection."""
        self._lutra("migrate")
        token = self._lutra("token", "create", "--name", "bench", "--scope", "admin").strip()
        process = subprocess.Popen([*self._command(), "serve", "--port", str(self.port)], env=self.env, stderr=-3)
        self._process = psutil.Process(process.pid)
        try:
            yield self._agents(token)
        finally:
            process.terminate()
            process.wait(20)

    def cpu_s(self) -> float:
        """Processor time of the service's process so far: it does not depend on who else uses the machine."""
        times = self._process.cpu_times()
        return float(times.user + times.system)

    def _command(self) -> list[str]:
        return [self.python, "-c", "from lutra_service.cli import main; main()"]

    def _lutra(self, *arguments: str) -> str:
        return subprocess.run(
            [*self._command(), *arguments], env=self.env, capture_output=True, text=True, check=True
        ).stdout

    def _agents(self, token: str, number: int = 8) -> list[Agent]:
        client = httpx.Client(base_url=f"http://127.0.0.1:{self.port}", timeout=30)
        _wait(client)
        api, agents = Api(client, token), []
        for n in range(number):
            database = api.take("POST", "/v1/databases", {"name": f"shop-{n}", "engine": "postgresql"})["id"]
            body = {"name": "agent", "scopes": ["agent"]}
            made = api.take("POST", f"/v1/databases/{database}/tokens", body)
            agents.append(Agent(httpx.Client(base_url=client.base_url, timeout=30), made["token"], database))
            agents[-1].send()
        return agents


def _wait(client: httpx.Client) -> None:
    deadline = time.monotonic() + READY_S
    while True:
        try:
            if client.get("/readyz").status_code == 200:
                return
        except httpx.TransportError:
            pass
        if time.monotonic() > deadline:
            raise RuntimeError(f"no service at {client.base_url} within {READY_S:.0f} s")
        time.sleep(0.1)


def reports_a_second(agents: list[Agent], count: int) -> float:
    """`count` reports of each agent, made beforehand, sent by all of them at once."""
    bodies = [[_packed(agent) for _ in range(count)] for agent in agents]
    threads = [threading.Thread(target=_send, args=pair) for pair in zip(agents, bodies, strict=True)]
    began = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return len(agents) * count / (time.perf_counter() - began)


def _packed(agent: Agent) -> bytes:
    counters = {f"view.counter_{i}_per_s": i * 1.5 for i in range(COUNTERS)}
    body: dict[str, Any] = agent.report(**agent.window(qps=900.0, tps=130.0, p99_ms=12.0, **counters))
    del body["settings"]
    return gzip.compress(json.dumps(body).encode())


def _send(agent: Agent, bodies: list[bytes]) -> None:
    headers = {**agent.headers, "Content-Encoding": "gzip", "Content-Type": "application/json"}
    for body in bodies:
        answer = agent.client.post(f"/v1/databases/{agent.database}/reports", content=body, headers=headers)
        if not answer.is_success:
            raise RuntimeError(f"a report was answered {answer.status_code}: {answer.text[:300]}")

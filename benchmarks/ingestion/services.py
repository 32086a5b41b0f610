"""What is raced: this checkout's service, an older one's, and the bare endpoint; each with a store of its own."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import httpx
import psutil
from lutra_lab.servers.ports import free_port
from lutra_models import serial

from benchmarks.attacks.stores import LIFTED, store_url
from benchmarks.ingestion.fill import Reporter, fill, report
from tests.support.service.hosted import POSTGRESQL, Api

READY_S = 60.0
HERE = Path(__file__).resolve().parents[2]
SERVE = ("-c", "from lutra_client.commands.program import main; main()")


@dataclass(frozen=True)
class Running:
    """A service that answers, and those who report to it."""

    port: int
    process: psutil.Process
    reporters: Sequence[Reporter]

    def cpu_s(self) -> float:
        """Processor time of the service's process so far: it does not depend on who else uses the machine."""
        times = self.process.cpu_times()
        return float(times.user + times.system)


@contextmanager
def lutra(store: str, databases: int) -> Iterator[Running]:
    """This checkout's service."""
    with ExitStack() as stack:
        url = stack.enter_context(store_url(store))
        reporters = fill(url, databases)
        yield stack.enter_context(_running(sys.executable, (*SERVE, "serve", "--port"), url, lambda _: reporters))


@contextmanager
def bare(store: str, databases: int) -> Iterator[Running]:
    with ExitStack() as stack:
        url = stack.enter_context(store_url(store))
        reporters = fill(url, databases)
        command = ("-m", "benchmarks.ingestion.bare")
        yield stack.enter_context(_running(sys.executable, command, url, lambda _: reporters))


@contextmanager
def older(checkout: Path, store: str, databases: int) -> Iterator[Running]:
    """Another checkout's service, of its own .venv; its databases are registered as an operator does it."""
    python = str(checkout.resolve() / ".venv/bin/python")
    with ExitStack() as stack:
        url = stack.enter_context(store_url(store))
        env = {**os.environ, "LUTRA_DATABASE_URL": url, "PYTHONPATH": ""}
        subprocess.run([python, *SERVE, "migrate"], env=env, check=True, capture_output=True)
        create = [python, *SERVE, "admin-token", "--name", "bench"]
        token = subprocess.run(create, env=env, check=True, capture_output=True, text=True).stdout.strip()

        def registered(port: int) -> list[Reporter]:
            return _register(Api(httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=30), token), databases)

        yield stack.enter_context(_running(python, (*SERVE, "serve", "--port"), url, registered))


@contextmanager
def _running(
    python: str, command: Sequence[str], url: str, reporters: Callable[[int], Sequence[Reporter]]
) -> Iterator[Running]:
    port = free_port()
    env = {**os.environ, **LIFTED, "LUTRA_DATABASE_URL": url}
    if python == sys.executable:
        env["PYTHONPATH"] = str(HERE)
    process = subprocess.Popen([python, *command, str(port)], env=env, stderr=subprocess.DEVNULL)
    try:
        _wait(port)
        yield Running(port, psutil.Process(process.pid), reporters(port))
    finally:
        process.terminate()
        process.wait(20)


def _register(api: Api, databases: int) -> list[Reporter]:
    found = []
    for n in range(databases):
        database = api.take("POST", "/v1/databases", {"name": f"shop-{n}", "engine": "postgresql"})["id"]
        made = api.take("POST", f"/v1/databases/{database}/tokens", {"name": "agent", "scopes": ["agent"]})
        found.append(Reporter(database, made["token"]))
        first = {**report(0, datetime.now(UTC)), "settings": serial.settings_to_dict(POSTGRESQL)}
        Api(api.client, made["token"]).take("POST", f"/v1/databases/{database}/reports", first)
    return found


def _wait(port: int) -> None:
    deadline = time.monotonic() + READY_S
    while True:
        try:
            if httpx.get(f"http://127.0.0.1:{port}/readyz").status_code == 200:
                return
        except httpx.TransportError:
            pass
        if time.monotonic() > deadline:
            raise RuntimeError(f"no service on port {port} within {READY_S:.0f} s")
        time.sleep(0.1)

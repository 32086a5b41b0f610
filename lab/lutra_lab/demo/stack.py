"""Bring up the demo's three parts: a scratch server with a load, the service, and an agent in lab mode beside it."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lutra_client import Client, Problem, Unreachable

from lutra_lab.demo.processes import DemoFailed, Processes, command
from lutra_lab.servers.ports import free_port

Say = Callable[[str], None]
DATA = ("--example",)
"""The amount of data in the server, in the form of `lutra-agent lab`."""
WHERE = ("engine", "host", "port", "user", "dbname", "include_file")
"""The keys that an agent's `[database]` takes from a scratch server's description, if they are there."""


@dataclass(frozen=True)
class Stack:
    """`server` is the scratch server's description of itself: its `title`, `version`, `load` and `driver` among
    others.
    """

    client: Client
    processes: Processes
    database: str
    server: dict[str, Any]


def bring_up(processes: Processes, engine: str, seconds: int, say: Say, store: Path | None = None) -> Stack:
    """Start everything; when it returns, the agent has reported and waits for directives.

    The service's database is `store`; without one it is in the demo's own folder.
    """
    say("starting a scratch server and filling it")
    lab = [command("lutra-agent"), "lab", engine, "--dir", str(processes.folder / "server"), *DATA]
    server = processes.start_and_read("scratch server", lab, say)
    say("starting the service")
    client = _service(processes, store or processes.folder / "lutra.db")
    database = client.databases.register(name="demo", engine=server["engine"])["id"]
    say("starting the agent in lab mode")
    _agent(processes, client, database, server, seconds)
    return Stack(client, processes, database, server)


def _service(processes: Processes, store: Path) -> Client:
    env = {"LUTRA_DATABASE_URL": f"sqlite:///{store}"}
    port = free_port()
    _run([command("lutra"), "migrate"], env)
    token = _run([command("lutra"), "admin-token", "--name", "demo"], env).split()[-1]
    processes.start("service", [command("lutra"), "serve", "--port", str(port)], env)
    client = Client(f"http://127.0.0.1:{port}", token)
    processes.wait_until(lambda: _ready(client), "the service's readiness")
    return client


def _agent(processes: Processes, client: Client, database: str, server: dict[str, Any], seconds: int) -> None:
    token = client.tokens.create(database, name="demo agent", scopes=["agent"])["token"]
    assert token is not None  # it was asked for once
    token_file, config = processes.folder / "agent.token", processes.folder / "agent.toml"
    token_file.touch(mode=0o600)
    token_file.write_text(token)
    config.write_text(_agent_config(processes.folder, client.url, database, server, seconds))
    processes.start("agent", [command("lutra-agent"), "run", "--config", str(config)])
    processes.wait_until(
        lambda: client.databases.get(database)["last_report_at"] is not None, "the agent's first report"
    )


def _agent_config(folder: Path, url: str, database: str, server: dict[str, Any], seconds: int) -> str:
    sections: dict[str, dict[str, Any]] = {
        "service": {"url": url.rstrip("/"), "database": database, "token_file": str(folder / "agent.token")},
        "database": {k: server[k] for k in WHERE if k in server},
        "agent": {"mode": "lab", "interval_s": 5, "state_dir": str(folder / "agent")},
        "restart": {
            "command": server["restart_command"],
            "start_command": server["start_command"],
            "data_dir": server["data_dir"],
            "timeout_s": 120,
        },
        "driver": {**server["driver"], "duration_s": seconds},
    }
    return "\n".join(
        f"[{name}]\n" + "".join(f"{k} = {_toml(v)}\n" for k, v in values.items()) for name, values in sections.items()
    )


def _toml(value: Any) -> str:
    if isinstance(value, list):
        return "[" + ", ".join(_toml(v) for v in value) + "]"
    if isinstance(value, int | float):
        return str(value)
    return '"' + str(value).replace("\\", "\\\\").replace('"', '\\"') + '"'


def _ready(client: Client) -> bool:
    try:
        return client.health.check_ready()["status"] == "ready"
    except (Problem, Unreachable):
        return False


def _run(argv: list[str], env: dict[str, str]) -> str:
    done = subprocess.run(argv, env={**os.environ, **env}, capture_output=True, text=True, check=False)
    if done.returncode:
        raise DemoFailed(
            f"`{' '.join(Path(a).name if i == 0 else a for i, a in enumerate(argv))}` failed:\n{done.stderr}"
        )
    return done.stdout

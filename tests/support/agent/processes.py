"""An agent beside a scratch server: in this process, or as the command that an operator runs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from lutra_agent.clock import SystemClock
from lutra_agent.commands.agent_file import parse
from lutra_agent.config.types import Config
from lutra_agent.drivers import Driver, build
from lutra_lab.servers.base import ScratchServer
from lutra_models.guardrails import GUARDS

from tests.support.servers.databases import Where
from tests.support.waiting import PATIENCE_S

RUN = ("-m", "lutra_agent", "run", "--config")
CONNECTS = ("engine", "host", "port", "user", "dbname", "include_file")
TOKEN = "lutra_test-token"
RATED = ("pgbench", "sysbench")
"""The kinds of driver that can hold a number of transactions a second."""

LAST_WORDS = 4000
"""Characters of an agent's log that a failed test shows."""
EVERY_SETTING = "SELECT name, setting, pending_restart FROM pg_settings ORDER BY name"


def document(
    server: ScratchServer, url: str, state_dir: Path, mode: str = "lab", **sections: Mapping[str, Any]
) -> dict[str, dict[str, Any]]:
    """The agent's file as plain values; `sections` are laid over it. Values may be as bad as a test needs them."""
    described = server.describe()
    made: dict[str, dict[str, Any]] = {
        "service": {"url": url, "database": "db_1"},
        "database": {k: described[k] for k in CONNECTS if k in described},
        "agent": {"mode": mode, "interval_s": 1, "state_dir": str(state_dir), "ranges": "server"},
        "restart": {
            "command": server.restart_command,
            "start_command": server.start_command,
            "timeout_s": PATIENCE_S,
            "data_dir": str(server.data_dir),
        },
    }
    for name, values in sections.items():
        made[name] = {**made.get(name, {}), **values}
    return made


def guards(**on: Mapping[str, Any]) -> dict[str, Any]:
    """The section `guard` with these switched on and no others, so that no noise of the machine fires one."""
    return {**{guard.name: {"enabled": False} for guard in GUARDS}, **on}


class MovedClock(SystemClock):
    """The machine's clock, `ahead_s` further on: minutes have passed as soon as a test says so."""

    ahead_s = 0.0

    def now(self) -> datetime:
        return super().now() + timedelta(seconds=self.ahead_s)

    def monotonic(self) -> float:
        return super().monotonic() + self.ahead_s


def config(server: ScratchServer, url: str, state_dir: Path, mode: str = "lab", **sections: Any) -> Config:
    return parse(document(server, url, state_dir, mode, **sections))


def write_toml(path: Path, made: Mapping[str, Mapping[str, Any]]) -> Path:
    lines = []
    for name, values in made.items():
        lines.append(f"[{name}]")
        lines += [f"{key} = {_toml(value)}" for key, value in values.items()]
    path.write_text("\n".join(lines) + "\n")
    return path


def _toml(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{k} = {_toml(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return f"[{', '.join(map(_toml, value))}]"
    return json.dumps(value)


def suggested(server: Mapping[str, Any]) -> Driver:
    """The driver that `lutra-agent lab` suggests for its server, for a second; gently, where it knows a rate."""
    rate = {"rate": 100} if server["driver"]["kind"] in RATED else {}
    where = Where(**{name: server[name] for name in ("engine", "host", "port", "user", "dbname") if name in server})
    return build({**server["driver"], **rate, "warmup_s": 1, "duration_s": 1}, where)


@contextmanager
def agent_process(file: Path, token: str = TOKEN, program: Sequence[str] = RUN) -> Iterator[subprocess.Popen[bytes]]:
    """`lutra-agent run`, or another `program` that takes its file, killed at the end where it still runs."""
    command = [sys.executable, *program, str(file)]
    log = file.with_suffix(".log").open("ab")
    process = subprocess.Popen(command, env={**os.environ, "LUTRA_AGENT_TOKEN": token}, stdout=log, stderr=log)
    try:
        yield process
    except BaseException:
        print(Path(log.name).read_text()[-LAST_WORDS:])
        raise
    finally:
        process.kill()
        process.wait()
        log.close()


def settings_of(server: ScratchServer) -> str:
    """Every setting of the server, as text to compare."""
    return server.sql(EVERY_SETTING)

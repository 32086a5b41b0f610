"""What other tools say of the same faults: lines about the broken server that they do not have on the sound one."""

from __future__ import annotations

import re
import shlex
import subprocess
import tempfile
import time
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from lutra_lab.servers.base import ScratchServer

from benchmarks.faults.fault import Fault, Scene
from benchmarks.faults.run import Row, prepared
from benchmarks.faults.shop import Busy
from tests.support.servers.engines import scratch

WAIT_S = 20.0
"""The tools read counters since the server's start: this long the fault works before they look."""
LIMIT_S = 300
TUNER = (
    "CREATE USER IF NOT EXISTS tuner@'%' IDENTIFIED BY 'tuner'",
    "GRANT ALL PRIVILEGES ON *.* TO tuner@'%' WITH GRANT OPTION",
)
ANY = re.compile(r"\S")
NUMBERS = re.compile(r"[\d.,]+ ?(?:[KMGT]i?B?|[kMG]B|[smhd])?\b|\x1b\[[\d;]*m")
"""What differs from one run to the next; two lines that differ in nothing else are one line."""


@dataclass(frozen=True)
class Rival:
    """`command` with the server's place in it; the `lines` of its output that a user takes for a finding."""

    name: str
    engines: frozenset[str]
    command: str
    lines: re.Pattern[str]
    account: tuple[str, ...] = ()
    """Statements that make the account of the command."""

    def says(self, server: ScratchServer) -> list[str]:
        """Raises OSError and subprocess.TimeoutExpired."""
        for statement in self.account:
            server.sql(statement)
        where = {"host": server.host, "port": server.port, "user": server.user, "dbname": server.dbname}
        argv = shlex.split(self.command.format(**where))
        done = subprocess.run(argv, capture_output=True, text=True, errors="replace", timeout=LIMIT_S, check=False)
        return [line.strip() for line in done.stdout.splitlines() if self.lines.search(line)]


def rivals(mysqltuner: str, postgresai: str) -> tuple[Rival, ...]:
    """By the commands that start them on this machine."""
    tuner = f"{mysqltuner} --nocolor --host {{host}} --port {{port}} --user tuner --pass tuner --forcemem 24000"
    place = "postgresql://{user}@{host}:{port}/{dbname}"
    return (
        Rival("MySQLTuner", frozenset({"mysql", "mariadb"}), tuner, re.compile(r"^✘|^\s{2,}\S"), TUNER),
        Rival("postgres.ai", frozenset({"postgresql"}), f"{postgresai} checkup --no-upload {place}", ANY),
    )


def measure(fault: Fault, usual: str, rival: Rival, sound: Mapping[str, list[str]]) -> Row:
    """The rival's new lines. `sound` has its lines on the same server without a fault."""
    name = fault.server or usual
    with (
        tempfile.TemporaryDirectory(prefix="lutra-faults-") as folder,
        scratch(name, **fault.options) as server,
        Busy(prepared(server)),
        ExitStack() as ends,
    ):
        if fault.make is not None:
            fault.make(Scene(server, Path(folder), ends))
        time.sleep(WAIT_S)
        said = rival.says(server)
    known = {_bare(line) for line in sound[name]}
    return {"fault": fault.name, "server": name, "rival": rival.name, "new": [s for s in said if _bare(s) not in known]}


def on_sound(name: str, rival: Rival) -> list[str]:
    with scratch(name) as server, Busy(prepared(server)):
        time.sleep(WAIT_S)
        return rival.says(server)


def _bare(line: str) -> str:
    return NUMBERS.sub("#", line)


def naming(fault: Fault, row: Row) -> str:
    """The first new line that speaks of the fault: of a setting that it was made with, or by one of its words."""
    words = [*fault.options, *fault.words]
    return next((line for line in row["new"] if any(re.search(w, line, re.IGNORECASE) for w in words)), "")

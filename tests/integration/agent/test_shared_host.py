"""A real host of 2 GiB that a server shares: a neighbour is seen, goes, and comes again after a change was applied."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

import pytest
from lutra_agent.clock import SystemClock
from lutra_agent.runtime.compose import local_database
from lutra_agent.runtime.local_database import LocalDatabase
from lutra_lab.servers.base import ScratchServer
from lutra_models.wire import Directive

from tests.support.agent.processes import config, guards
from tests.support.servers.engines import scratch
from tests.support.waiting import until

GROUPS = Path("/sys/fs/cgroup/memory")
MB = 1 << 20
MEMORY = 2048 * MB
MARGIN = MEMORY // 16
SESSIONS = 10
NEIGHBOUR = """
import sys, time
held = bytearray(int(sys.argv[1]))
held[::4096] = b"x" * len(held[::4096])
print(1, flush=True)
time.sleep(3600)
"""
TEN = "for i = 1, 10 do redis.call('SET', ARGV[1] .. i, string.rep('x', 1000000)) end"


@dataclass(frozen=True)
class Kind:
    """A setting that takes memory, in a unit of so many bytes; how a server holds 10 MB more of it, once `made`."""

    setting: str
    unit: int
    fills: str
    made: tuple[str, ...] = ()
    share: float = 0.9
    """Of the setting that is filled: what holds the data needs memory of its own."""
    sessions: int = 3
    options: Mapping[str, str] = field(default_factory=dict)


KINDS = {
    "redis": Kind("maxmemory", 1, f'EVAL "{TEN}" 0 {{}}-', (), 0.7, 10, {"maxmemory": "20mb", "save": ""}),
    "postgres15": Kind(
        "shared_buffers",
        8192,
        "INSERT INTO held SELECT repeat('x', 1000000) FROM generate_series(1, 10)",
        ("CREATE UNLOGGED TABLE held (x text)", "ALTER TABLE held ALTER x SET STORAGE EXTERNAL"),
    ),
    "mariadb": Kind(
        "innodb_buffer_pool_size",
        1,
        "INSERT INTO held.t SELECT REPEAT('x', 1000000) FROM seq_1_to_10",
        ("CREATE DATABASE held", "CREATE TABLE held.t (x LONGBLOB)"),
    ),
}

pytestmark = [
    pytest.mark.engine,
    pytest.mark.slow,
    pytest.mark.thorough,
    pytest.mark.skipif(os.geteuid() != 0 or not GROUPS.is_dir(), reason="needs root and control groups 1"),
]


@pytest.fixture
def group() -> Iterator[Path]:
    made = GROUPS / f"lutra-test-{os.getpid()}"
    made.mkdir()
    try:
        (made / "memory.limit_in_bytes").write_text(str(MEMORY))
        yield made
    finally:
        until(lambda: not (made / "cgroup.procs").read_text())
        made.rmdir()


def entering(group: Path) -> list[str]:
    """The beginning of a command whose process is to be in the group."""
    return ["/bin/sh", "-c", 'echo $$ > "$0/cgroup.procs" && exec "$@"', str(group)]


@contextmanager
def neighbour(group: Path, size: int) -> Iterator[subprocess.Popen[str]]:
    argv = [*entering(group), sys.executable, "-c", NEIGHBOUR, str(size)]
    process = subprocess.Popen(argv, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "1\n"
        yield process
    finally:
        process.kill()
        process.wait()


def fill(server: ScratchServer, kind: Kind, megabytes: int) -> None:
    with server.session() as run:
        for statement in kind.made:
            run(statement)
        for number in range(megabytes // 10):
            run(kind.fills.format(number))


def available(group: Path) -> int:
    stat = dict(line.split() for line in (group / "memory.stat").read_text().splitlines())
    cached = int(stat["total_inactive_file"]) + int(stat["total_active_file"])
    return MEMORY - (int((group / "memory.usage_in_bytes").read_text()) - cached)


def applied(database: LocalDatabase, kind: Kind, wished: int) -> tuple[int, list[str]]:
    """The first of `wished` bytes and its halves that the agent applies, and why it refused those before."""
    refused: list[str] = []
    for number in range(12):
        name, until_then = f"rec_{number}", datetime.now(UTC) + timedelta(hours=1)
        settings = {kind.setting: wished // kind.unit}
        outcome = database.executor.execute(
            Directive(id=name, recommendation=name, settings=settings, expires_at=until_then, restart_allowed=True)
        )
        if outcome.state == "applied":
            return wished, refused
        assert outcome.code == "memory_budget_exceeded", outcome
        refused.append(outcome.message)
        wished //= 2
    raise AssertionError(f"nothing was applied: {refused}")


def session(server: ScratchServer, kind: Kind, group: Path, folder: Path, rng: Random) -> list[str]:
    """One change beside a neighbour that was seen; why larger ones were refused."""
    sections: dict[str, Any] = {
        "agent": {"durability": True, "memory_fraction": 0.95},
        "guard": guards(),
        "restart": {"command": [*entering(group), *server.restart_command]},
    }
    database = local_database(config(server, "http://127.0.0.1:9", folder, **sections), SystemClock())
    size = rng.randrange(200, 1500) * MB
    try:
        with neighbour(group, size):
            assert (database.read_server().host.others_bytes or 0) >= size
        limit, refused = applied(database, kind, rng.randrange(1000, 1900) * MB)
        with neighbour(group, size) as again:
            fill(server, kind, int(limit * kind.share) // MB)
            assert available(group) >= MARGIN, (size // MB, limit // MB, available(group) // MB)
            assert again.poll() is None
        return refused
    finally:
        database.engine.health.close()


@pytest.mark.parametrize("name", KINDS)
def test_no_applied_change_takes_the_margin_beside_a_neighbour(group: Path, tmp_path: Path, name: str) -> None:
    rng, refused, kind = Random(29), list[str](), KINDS[name]
    for number in range(kind.sessions):
        with scratch(name, **kind.options) as server:
            subprocess.run([*entering(group), *server.restart_command], check=True)  # charged from its start on
            refused += session(server, kind, group, tmp_path / str(number), rng)
    assert refused
    assert all(
        "that other programs leave: of the 2,048 MB on this host they use up to" in message for message in refused
    )

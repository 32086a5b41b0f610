"""A real host of 2 GiB that a server shares: a neighbour is seen, goes, and comes again after a change was applied."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random

import pytest
from lutra_agent.clock import SystemClock
from lutra_agent.runtime.compose import local_database
from lutra_agent.runtime.local_database import LocalDatabase
from lutra_lab.servers.base import ScratchServer
from lutra_models.wire import Directive

from tests.support.agents import config, guards
from tests.support.engines import scratch
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


@contextmanager
def neighbour(group: Path, size: int) -> Iterator[subprocess.Popen[str]]:
    enter = ["/bin/sh", "-c", 'echo $$ > "$0/cgroup.procs" && exec "$@"', str(group)]
    argv = [*enter, sys.executable, "-c", NEIGHBOUR, str(size)]
    process = subprocess.Popen(argv, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "1\n"
        yield process
    finally:
        process.kill()
        process.wait()


def fill(server: ScratchServer, megabytes: int) -> None:
    for number in range(megabytes // 10):
        server.sql(f'EVAL "{TEN}" 0 {number}-')


def available(group: Path) -> int:
    stat = dict(line.split() for line in (group / "memory.stat").read_text().splitlines())
    cached = int(stat["total_inactive_file"]) + int(stat["total_active_file"])
    return MEMORY - (int((group / "memory.usage_in_bytes").read_text()) - cached)


def applied(database: LocalDatabase, wished: int) -> tuple[int, list[str]]:
    """The first of `wished` and its halves that the agent applies, and why it refused those before."""
    refused: list[str] = []
    for number in range(12):
        name, until_then = f"rec_{number}", datetime.now(UTC) + timedelta(hours=1)
        outcome = database.executor.execute(
            Directive(id=name, recommendation=name, settings={"maxmemory": wished}, expires_at=until_then)
        )
        if outcome.state == "applied":
            return wished, refused
        assert outcome.code == "memory_budget_exceeded", outcome
        refused.append(outcome.message)
        wished //= 2
    raise AssertionError(f"nothing was applied: {refused}")


def session(server: ScratchServer, group: Path, folder: Path, rng: Random) -> list[str]:
    """One change beside a neighbour that was seen; why larger ones were refused."""
    sections = {"agent": {"durability": True, "memory_fraction": 0.95}, "guard": guards()}
    database = local_database(config(server, "http://127.0.0.1:9", folder, **sections), SystemClock())
    size = rng.randrange(200, 1500) * MB
    try:
        with neighbour(group, size):
            assert (database.read_server().host.others_bytes or 0) >= size
        limit, refused = applied(database, rng.randrange(1000, 1900) * MB)
        with neighbour(group, size) as again:
            fill(server, limit * 7 // 10 // MB)
            assert available(group) >= MARGIN, (size // MB, limit // MB, available(group) // MB)
            assert again.poll() is None
        return refused
    finally:
        database.engine.health.close()


def test_no_applied_change_takes_the_margin_beside_a_neighbour(group: Path, tmp_path: Path) -> None:
    rng, refused = Random(29), list[str]()
    for number in range(SESSIONS):
        with scratch("redis", maxmemory="20mb", save="") as server:
            (group / "cgroup.procs").write_text(str(server.pid))
            refused += session(server, group, tmp_path / str(number), rng)
    assert refused
    assert all("that others leave: of the 2,048 MB on this host they hold up to" in message for message in refused)

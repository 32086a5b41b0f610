"""`lutra demo` that cannot begin, or is interrupted."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from tests.support.demo import DEMO, SHORTER, loadable
from tests.support.engines import program

pytestmark = [pytest.mark.engine, pytest.mark.slow]
WITHOUT_ITS_OWN: list[Path | str] = [
    sys.executable,
    "-c",
    "from lutra_lab.demo import command; from lutra_lab.servers import mysql; mysql.own = lambda: None; command.demo()",
]
"""The demo on a machine that has no MySQL of its own."""


@pytest.mark.parametrize(
    ("engine", "demo", "lacking", "told"),
    [
        ("mysql", WITHOUT_ITS_OWN, {"LUTRA_MYSQL_ROOT": "/nowhere"}, "debootstrap"),
        ("mariadb", DEMO, {"PATH": "/nowhere"}, "apt-get install sysbench"),
    ],
)
def test_a_demo_that_lacks_something_says_how_to_install_it(
    engine: str, demo: list[Path | str], lacking: dict[str, str], told: str
) -> None:
    if engine == "mysql":
        program("sysbench")
    done = subprocess.run(
        [*demo, "--engine", engine], capture_output=True, text=True, check=False, env={**os.environ, **lacking}
    )
    assert done.returncode == 1
    assert told in done.stdout, done.stdout + done.stderr
    assert "Traceback" not in done.stdout + done.stderr


@contextmanager
def interruptible(command: list[Path | str]) -> Iterator[subprocess.Popen[str]]:
    """Killed at the end where it still runs. A shell's background job ignores SIGINT, and so would its children."""
    ignored = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    finally:
        signal.signal(signal.SIGINT, ignored)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


@pytest.mark.parametrize(
    ("engine", "server", "ending"),
    [("postgresql", "postgres", signal.SIGINT), ("mysql", "mysqld", signal.SIGTERM)],
)
def test_an_interrupted_demo_leaves_nothing_running(engine: str, server: str, ending: signal.Signals) -> None:
    loadable(engine)
    with interruptible([*SHORTER, "--engine", engine]) as demo:
        assert demo.stdout is not None
        for line in demo.stdout:
            if "trial 1/" in line:
                break
        time.sleep(1)
        mine = psutil.Process(demo.pid).children(recursive=True)
        names = " ".join(_command(p) for p in mine)
        assert server in names
        assert "lutra-agent" in names
        demo.send_signal(ending)
        demo.communicate(timeout=90)
        assert demo.returncode == 130, demo.returncode
    # Nobody reaps a grandchild here, and one that its parent asked to end may take a moment.
    deadline = time.monotonic() + 30
    while left := [p for p in mine if _runs(p)]:
        assert time.monotonic() < deadline, [p.cmdline() for p in left]
        time.sleep(0.1)


def _command(process: psutil.Process) -> str:
    """Empty for one that has ended meanwhile."""
    try:
        return " ".join(process.cmdline())
    except psutil.Error:
        return ""


def _runs(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False

"""`lutra demo` that cannot begin, or is interrupted."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest
from lutra_lab.servers.processes import runs

from tests.support.servers.engines import program
from tests.support.service.demo import DEMO, SHORTER, loadable
from tests.support.waiting import PATIENCE_S, until

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
    ("engine", "parts", "ending"),
    [
        ("postgresql", ("postgres", "lutra-agent", "pgbench"), signal.SIGINT),
        pytest.param("mysql", ("mysqld", "lutra-agent", "sysbench"), signal.SIGTERM, marks=pytest.mark.thorough),
    ],
)
def test_an_interrupted_demo_leaves_nothing_running(
    engine: str, parts: tuple[str, ...], ending: signal.Signals
) -> None:
    loadable(engine)
    with interruptible([*SHORTER, "--engine", engine, "--seconds", "2"]) as demo:
        assert demo.stdout is not None
        for line in demo.stdout:
            if "trial 1/" in line:
                break
        mine = until(lambda: _with(parts, demo))
        demo.send_signal(ending)
        demo.communicate(timeout=PATIENCE_S)
        assert demo.returncode == 130, demo.returncode
    # Nobody reaps a grandchild here, and one that its parent asked to end may take a moment.
    until(lambda: not any(map(runs, mine)))


def _with(parts: Iterable[str], demo: subprocess.Popen[str]) -> list[psutil.Process]:
    """All that the demo has started, once it is in the middle of a trial: each of these programs runs."""
    assert demo.poll() is None, "the demo has ended"
    mine = psutil.Process(demo.pid).children(recursive=True)
    names = " ".join(map(_command, mine))
    return mine if all(part in names for part in parts) else []


def _command(process: psutil.Process) -> str:
    """Empty for one that has ended meanwhile."""
    try:
        return " ".join(process.cmdline())
    except psutil.Error:
        return ""

"""`lutra demo` as a newcomer runs it: a real server, the service and the agent as processes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest
from lutra_lab.scratch import scratch_of
from lutra_lab.servers import mysql

from tests.support.engines import installed, program

pytestmark = [pytest.mark.engine, pytest.mark.slow]
LUTRA = Path(sys.executable).parent / "lutra"
TARGETS = {"p99_ms", "qps", "tps"}
SHORT = """
from lutra_lab.demo import command, stack
stack.DATA, command.REPETITIONS = ("--scale", "1"), 1
command.demo()
"""
DEMO: list[Path | str] = [LUTRA, "demo"]
SHORTER: list[Path | str] = [sys.executable, "-c", SHORT]
"""The same command over little data, which measures nothing a second time."""

CACHES = {
    "postgresql": "shared_buffers",
    "mariadb": "innodb_buffer_pool_size",
    "mysql": "innodb_buffer_pool_size",
}


def loadable(engine: str) -> None:
    """Skip, or fail in CI, where this machine lacks the engine or its load."""
    installed(engine)
    needed = scratch_of(engine).lab.needs
    if needed:
        program(needed)


@pytest.fixture
def scratch() -> Iterator[Path]:
    """A folder for temporary files that the server's own account may enter, as it may /tmp."""
    with tempfile.TemporaryDirectory(prefix="lutra-test-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        yield folder


@pytest.mark.timeout(1800)  # a minute or two, but on a machine whose disk is busy
@pytest.mark.parametrize(
    ("engine", "demo", "repetitions"), [("postgresql", DEMO, 3), ("mariadb", SHORTER, 1), ("mysql", SHORTER, 1)]
)
def test_the_demo_tunes_a_real_server_and_tells_its_figures(
    tmp_path: Path, scratch: Path, engine: str, demo: list[Path | str], repetitions: int
) -> None:
    loadable(engine)
    out = tmp_path / "out.json"
    done = subprocess.run(
        [*demo, "--engine", engine, "--trials", "3", "--seconds", "2", "--seed", "3", "--json", out],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "TMPDIR": str(scratch)},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    told = json.loads(out.read_text())
    assert told["engine"] == engine
    assert [t["trial"] for t in told["trials"]] == [1, 2, 3]
    for trial in told["trials"]:
        assert set(trial["measured"]) == TARGETS if not trial["failed"] else trial["failure"]
        assert CACHES[engine] in trial["configuration"]
    for trial in told["trials"][2:]:
        assert set(trial["predictions"]) == {"p99_ms", "qps"}
        assert all(p["low"] <= p["median"] <= p["high"] for p in trial["predictions"].values())
    assert [row["name"] for row in told["table"]] == ["default", "rule-based", "best"]
    assert all(len(row["measured"]) == repetitions for row in told["table"])
    assert CACHES[engine] in done.stdout
    assert "intervals that held" in done.stdout
    assert not any(scratch.iterdir())


@pytest.mark.parametrize(
    ("engine", "lacking", "told"),
    [
        ("mysql", {"LUTRA_MYSQL_ROOT": "/nowhere"}, "debootstrap"),
        ("mariadb", {"PATH": "/nowhere"}, "apt-get install sysbench"),
    ],
)
def test_a_demo_that_lacks_something_says_how_to_install_it(engine: str, lacking: dict[str, str], told: str) -> None:
    if engine == "mysql":
        program("sysbench")
        if mysql.own() is not None:
            pytest.skip("this machine has a MySQL of its own")
    done = subprocess.run(
        [LUTRA, "demo", "--engine", engine], capture_output=True, text=True, check=False, env={**os.environ, **lacking}
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


@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_demo_leaves_nothing_running(ending: signal.Signals) -> None:
    installed("postgresql")
    with interruptible(SHORTER) as demo:
        assert demo.stdout is not None
        for line in demo.stdout:
            if "trial 1/" in line:
                break
        time.sleep(1)
        mine = psutil.Process(demo.pid).children(recursive=True)
        names = " ".join(" ".join(p.cmdline()) for p in mine)
        assert "postgres" in names
        assert "lutra-agent" in names
        demo.send_signal(ending)
        demo.communicate(timeout=90)
        assert demo.returncode == 130, demo.returncode
    # Nobody reaps a grandchild here, and one that its parent asked to end may take a moment.
    deadline = time.monotonic() + 30
    while left := [p for p in mine if _runs(p)]:
        assert time.monotonic() < deadline, [p.cmdline() for p in left]
        time.sleep(0.1)


def _runs(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False

"""`lutra demo` as a newcomer runs it: a real PostgreSQL, the service and the agent as processes."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

pytestmark = [pytest.mark.engine, pytest.mark.slow]
LUTRA = Path(sys.executable).parent / "lutra"
TARGETS = {"p99_ms", "qps", "tps"}


def test_the_demo_tunes_a_real_server_and_tells_its_figures(tmp_path: Path) -> None:
    out = tmp_path / "out.json"
    done = subprocess.run(
        [LUTRA, "demo", "--trials", "4", "--seconds", "2", "--seed", "3", "--json", out],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    told = json.loads(out.read_text())
    assert [t["trial"] for t in told["trials"]] == [1, 2, 3, 4]
    for trial in told["trials"]:
        assert set(trial["measured"]) == TARGETS if not trial["failed"] else trial["failure"]
        assert "shared_buffers" in trial["configuration"]
    for trial in told["trials"][2:]:
        assert set(trial["predictions"]) == {"p99_ms", "qps"}
        assert all(p["low"] <= p["median"] <= p["high"] for p in trial["predictions"].values())
    assert [row["name"] for row in told["table"]] == ["default", "rule-based", "best"]
    assert all(len(row["measured"]) == 3 for row in told["table"])
    assert "shared_buffers" in done.stdout
    assert "intervals that held" in done.stdout


@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_demo_leaves_nothing_running(ending: signal.Signals) -> None:
    demo = subprocess.Popen([LUTRA, "demo"], stdout=subprocess.PIPE, text=True)
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

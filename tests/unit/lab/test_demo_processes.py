"""The demo's processes end with it, however it goes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from lutra_lab.demo.processes import DemoFailed, Processes

from tests.support.waiting import until

PARENT = """
import sys, time
from pathlib import Path
from lutra_lab.demo.processes import Processes
with Processes(Path(sys.argv[1])) as processes:
    processes.start("child", [sys.executable, "-c", "import os, time; print(os.getpid(), flush=True); time.sleep(600)"])
    time.sleep(600)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not tell a process that its parent is gone")
def test_a_killed_demo_takes_its_processes_along(tmp_path: Path) -> None:
    log = tmp_path / "child.log"
    parent = subprocess.Popen([sys.executable, "-c", PARENT, str(tmp_path)])
    try:
        until(lambda: log.exists() and log.read_text().strip().isdigit())
    finally:
        parent.kill()
        parent.wait()
    until(lambda: not runs(int(log.read_text())))


def test_a_process_that_ends_early_is_told_with_its_last_words(tmp_path: Path) -> None:
    said = [sys.executable, "-c", "import sys; print('no room', file=sys.stderr); sys.exit(3)"]
    ended = r"the server ended with status 3:\nno room"
    with Processes(tmp_path) as processes, pytest.raises(DemoFailed, match=ended):
        processes.start_and_read("server", said, lambda _: None)


def runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False

"""The plugin that looks for what a run leaves, on runs of its own."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from tests.support.pytest_plugins.pytest_runs import run

pytestmark = pytest.mark.slow

TIDY = """
import subprocess, sys, tempfile
def test_it(tmp_path):
    subprocess.run([sys.executable, "-c", "pass"])
    with tempfile.TemporaryDirectory():
        (tmp_path / "a").touch()
"""
PROCESS = """
import os, subprocess, sys
from pathlib import Path
def test_it():
    sleeper = [sys.executable, "-c", "import time; print(flush=True); time.sleep(600)"]
    left = subprocess.Popen(sleeper, start_new_session=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    left.stdout.readline()  # until then the kernel may not have its command and environment yet
    Path(os.environ["TOLD"]).write_text(str(left.pid))
"""
FOLDER = """
import tempfile
def test_it():
    tempfile.mkdtemp(prefix="lutra-test-")
"""


@pytest.mark.parametrize("spread", [(), ("-n", "1")], ids=["one process", "spread"])
def test_a_run_that_leaves_nothing_passes_and_its_folder_is_gone(tmp_path: Path, spread: tuple[str, ...]) -> None:
    done = run(tmp_path, TIDY, *spread)
    assert done.returncode == 0, done.stdout
    assert not list(tmp_path.glob("lutra-run-*"))


@pytest.mark.parametrize("spread", [(), ("-n", "1")], ids=["one process", "spread"])
def test_a_run_that_leaves_a_process_fails_and_names_it(tmp_path: Path, spread: tuple[str, ...]) -> None:
    done = run(tmp_path, PROCESS, *spread)
    pid = int((tmp_path / "told").read_text())
    os.kill(pid, 9)
    assert done.returncode == 1
    assert f"process {pid}: {sys.executable} -c import time; print(flush=True); time.sleep(600)" in done.stdout


def test_a_run_that_leaves_a_folder_fails_and_names_it(tmp_path: Path) -> None:
    done = run(tmp_path, FOLDER)
    assert done.returncode == 1
    assert "temporary file: " in done.stdout
    assert "lutra-test-" in done.stdout

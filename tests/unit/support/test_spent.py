"""The plugin that counts what tests cost, on runs of its own."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.support.pytest_plugins.pytest_runs import run

pytestmark = pytest.mark.slow

BUSY = "import time; end = time.process_time() + {s}\nwhile time.process_time() < end: pass"
SEEN_S = 0.4
"""Of half a second at least this much: the kernel counts in ticks."""
CASES = f"""
import subprocess, sys, time
import pytest
def test_of_a_child():
    subprocess.run([sys.executable, "-c", {BUSY.format(s=0.5)!r}])
def test_that_waits():
    time.sleep(0.6)
def test_of_a_child_that_still_runs():
    code = {BUSY.format(s=0.5)!r} + "\\nprint(flush=True); time.sleep(600)"
    globals()["left"] = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
    left.stdout.readline()
def test_that_ends_it():
    left.kill()
    left.wait()
@pytest.mark.parametrize("n", range(18))
def test_quick(n):
    pass
"""


@pytest.mark.parametrize("spread", [(), ("-n", "1")], ids=["one process", "spread"])
def test_the_slowest_are_named_with_the_processor_seconds_of_their_children(
    tmp_path: Path, spread: tuple[str, ...]
) -> None:
    done = run(tmp_path, CASES, *spread, plugins=("spent",))
    assert done.returncode == 0, done.stdout
    rows = re.findall(r"^ +([\d.]+) +([\d.]+)  test_it.py::(\S+)$", done.stdout, re.MULTILINE)
    spent = {name: (float(seconds), float(processor)) for seconds, processor, name in rows}
    assert len(rows) == 20
    assert spent["test_of_a_child"][1] >= SEEN_S
    assert spent["test_of_a_child_that_still_runs"][1] >= SEEN_S
    seconds, processor = spent["test_that_waits"]
    assert processor < SEEN_S <= seconds

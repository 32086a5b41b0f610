"""A plugin: a run of the tests leaves no process and no temporary folder behind, or it fails and names them.

Temporary files of a run lie in one folder, which every process that the run starts finds in its environment. What has
it there when the run ends, or lies in it, is the run's own; other people's processes and files are never looked at.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

GRACE = "leftovers_grace_s"
RUN = pytest.StashKey[Path]()
LEFT = pytest.StashKey[list[str]]()
PYTESTS = "pytest-of-*"
"""What `tmp_path` gave out; it is kept where a test failed."""

NEW_SERVERS = "new-servers"
"""The folder in the run's own where the data of new servers lie, for others to be made like them."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addini(GRACE, "seconds for processes that watch over others and end a moment after them", default="20")


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    if hasattr(config, "workerinput"):  # one of several processes of a run, which has its folder already
        return
    folder = Path(tempfile.mkdtemp(prefix="lutra-run-"))
    folder.chmod(0o711)  # a database server's own account goes through
    config.stash[RUN] = folder
    os.environ["TMPDIR"] = os.environ["PYTEST_DEBUG_TEMPROOT"] = str(folder)
    tempfile.tempdir = None


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    folder = session.config.stash.get(RUN, None)
    if folder is None:
        return
    shutil.rmtree(folder / NEW_SERVERS, ignore_errors=True)
    deadline = time.monotonic() + float(session.config.getini(GRACE))
    while (left := [*_processes(folder), *_files(folder)]) and time.monotonic() < deadline:
        time.sleep(0.2)
    session.config.stash[LEFT] = left
    if left:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
    elif not session.testsfailed:
        shutil.rmtree(folder, ignore_errors=True)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    left = config.stash.get(LEFT, [])
    if left:
        terminalreporter.section("left behind by the tests", sep="=", red=True)
        terminalreporter.write_line("\n".join(left))


def _processes(folder: Path) -> Iterator[str]:
    """Other processes of this run; those that Python itself keeps beside this one end with it."""
    ours = {os.getpid(), *(p.pid for p in psutil.Process().parents())}
    for process in psutil.process_iter():
        try:
            if process.pid in ours or process.status() == psutil.STATUS_ZOMBIE:
                continue
            words = process.cmdline()
            said = (*words, *process.environ().values())
        except psutil.Error:
            continue
        if any(str(folder) in text for text in said) and not _is_pythons(process, words):
            yield f"process {process.pid}: {' '.join(words)}"


def _is_pythons(process: psutil.Process, words: list[str]) -> bool:
    return process.ppid() == os.getpid() and any("multiprocessing" in word for word in words)


def _files(folder: Path) -> Iterator[str]:
    own = set(folder.glob(PYTESTS))
    yield from (f"temporary file: {path}" for path in sorted(folder.iterdir()) if path not in own)

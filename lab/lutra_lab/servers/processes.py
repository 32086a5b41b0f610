"""The processes of a scratch server, identified by unique arguments: its pid file may be wrong, or gone."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Collection
from pathlib import Path

import psutil

from lutra_lab.servers.errors import LabError

PATIENCE_S = 60.0
GENTLE_S = 10.0
POLL_S = 0.05


def having(arguments: Collection[str]) -> list[psutil.Process]:
    """The processes with one of these arguments, except this one."""
    found = (p for p in psutil.process_iter(["cmdline"]) if set(arguments).intersection(p.info["cmdline"] or ()))
    return [p for p in found if p.pid != os.getpid() and runs(p)]


def runs(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def named(pid_file: Path, argument: str) -> int | None:
    """The process that a file names, if it has this argument: a dead process's number may belong to another one now."""
    try:
        process = psutil.Process(int(pid_file.read_text().split()[0]))
        return process.pid if argument in process.cmdline() and runs(process) else None
    except (OSError, IndexError, ValueError, psutil.Error):
        return None


def end(arguments: Collection[str], number: signal.Signals, patience_s: float = PATIENCE_S) -> None:
    """Signal each of them once, also one that comes meanwhile, until none runs. Raises LabError if one stays."""
    deadline = time.monotonic() + patience_s
    while alive := having(arguments):
        for process in alive:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.send_signal(number)
        # These alone, meanwhile: to read every command line of a machine takes long.
        while running := [p for p in alive if runs(p)]:
            if time.monotonic() > deadline:
                raise LabError(f"process {running[0].pid} survived {number.name} for {patience_s:g} s")
            time.sleep(POLL_S)
        for process in alive:
            _reap(process.pid)


def kill(arguments: Collection[str], first: signal.Signals) -> None:
    """End them with `first`, and with SIGKILL if that is not enough. Raises LabError."""
    try:
        end(arguments, first, GENTLE_S)
    except LabError:
        end(arguments, signal.SIGKILL)


def _reap(pid: int) -> None:
    """A zombie of ours still holds its number, and the next server would take it for a rival."""
    with contextlib.suppress(ChildProcessError):
        os.waitpid(pid, 0)

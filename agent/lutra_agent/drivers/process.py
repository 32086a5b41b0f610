"""Runs a load generator in a process group of its own, and marks the measured part of its run."""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Literal

from lutra_agent.drivers.base import Moment
from lutra_agent.errors import DriverFailed
from lutra_agent.killing import kill_group

LAST_LINES = 8
LOOK_S = 1.0
"""The time between two looks at what a program printed inside its window."""
State = Literal["early", "ended", "over", "late"]
Over = Callable[[str, str], bool]
"""Whether the window is already over, according to the output and errors printed so far."""


@dataclass(frozen=True)
class Span:
    """`warmup_s` and then `duration_s`; what is not over `grace_s` later is killed."""

    warmup_s: float
    duration_s: float
    grace_s: float = 30.0

    @property
    def total_s(self) -> float:
        return self.warmup_s + self.duration_s


@dataclass(frozen=True)
class Finished:
    """`started_s` is the epoch second at which the process began, `ended_s` when it or its window was over."""

    started_s: float
    ended_s: float
    stdout: str


def run(
    argv: Sequence[str],
    env: Mapping[str, str],
    span: Span,
    on_start: Moment,
    on_end: Moment,
    over: Over | None = None,
) -> Finished:
    """Run to the end, calling back `warmup_s` after the start and `duration_s` after that (or at the end).

    As soon as `over` requests it inside the window, the end is called and the program is killed. Raises DriverFailed
    for a program that is missing, fails, ends before its window began, or does not end.
    """
    name = Path(argv[0]).name
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        started_s = time.time()
        process = _start(argv, env, out, err)
        try:
            printed = None if over is None else lambda: over(_so_far(out), _so_far(err))
            state = _attend(process, span, on_start, on_end, printed)
            ended_s = time.time()
        finally:
            kill_group(process)
        if state == "over":
            return Finished(started_s, ended_s, _text(out))
        if state == "late":
            raise DriverFailed(f"{name} did not end within {span.total_s + span.grace_s:g} s and was killed")
        if process.returncode != 0:
            raise DriverFailed(f"{name}: exit {process.returncode}: {_last_lines(_text(err) or _text(out))}")
        if state == "early":
            raise DriverFailed(f"{name} ended within its {span.warmup_s:g} s of warm-up: {_last_lines(_text(err))}")
        return Finished(started_s, ended_s, _text(out))


def ask(argv: Sequence[str]) -> tuple[int | str, str]:
    """Exit status and output of a program that answers at once."""
    try:
        done = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=10, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return "an error", str(error)
    return done.returncode, done.stdout


def _start(argv: Sequence[str], env: Mapping[str, str], out: IO[bytes], err: IO[bytes]) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(
            argv, env=dict(env), stdin=subprocess.DEVNULL, stdout=out, stderr=err, start_new_session=True
        )
    except OSError as error:
        raise DriverFailed(f"{argv[0]}: {error.strerror}") from error


def _attend(
    process: subprocess.Popen[bytes],
    span: Span,
    on_start: Moment,
    on_end: Moment,
    over: Callable[[], bool] | None,
) -> State:
    began = time.monotonic()
    if span.warmup_s and not _runs_until(process, began + span.warmup_s):
        return "early"
    on_start()
    if over is not None and _is_over(process, began + span.total_s, over):
        on_end()
        return "over"
    _runs_until(process, began + span.total_s)
    on_end()
    return "late" if _runs_until(process, began + span.total_s + span.grace_s) else "ended"


def _is_over(process: subprocess.Popen[bytes], end: float, over: Callable[[], bool]) -> bool:
    """Look again and again until the end; False there, or as soon as the process has ended."""
    while (now := time.monotonic()) < end:
        if not _runs_until(process, min(now + LOOK_S, end)):
            return False
        if over():
            return True
    return False


def _runs_until(process: subprocess.Popen[bytes], moment: float) -> bool:
    """Wait for a monotonic moment; False as soon as the process has ended."""
    try:
        process.wait(max(0.0, moment - time.monotonic()))
    except subprocess.TimeoutExpired:
        return True
    return False


def _so_far(file: IO[bytes]) -> str:
    """What a running program has printed; its place in the file is the program's too, and stays."""
    return os.pread(file.fileno(), os.fstat(file.fileno()).st_size, 0).decode(errors="replace")


def _text(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode(errors="replace")


def _last_lines(output: str) -> str:
    return "\n".join(output.strip().splitlines()[-LAST_LINES:]) or "it printed nothing"

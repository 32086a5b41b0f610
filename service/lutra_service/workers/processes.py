"""Computations in processes of their own: one process computes one thing at a time, so its end does not affect any
other.

A request and its answer are one line of JSON each, on the process's standard input and output.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from lutra_models.extensions import brought

from lutra_service.common.documents import Document
from lutra_service.workers.protocol import Limits, NoWorker, WorkerLost, opened

TASKS = "lutra_service.workers.worker"
MAX_ANSWER_BYTES = 32 << 20
ENDING_S = 30.0
"""The time within which a finished process ends by itself with a status; after it, the process is killed."""
SHORTEST_GRANT_S = 0.1
"""The sum of the time that does not count."""
_ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")


@dataclass(frozen=True)
class _Patience:
    """How long to wait for a line, and what to raise and say where none comes."""

    seconds: float
    ended: type[Exception]
    late: str


_STARTING = _Patience(120.0, NoWorker, "a new process of a worker was not ready within 120 s")


class WorkerProcess:
    """A Worker: the Python module `command` in a process that is started when needed, and again after it ended.

    `ended` is raised if the process ends, or has to be killed, during a computation.
    """

    def __init__(self, command: Sequence[str], timeout_s: float, ended: type[Exception] = WorkerLost) -> None:
        self._command = [sys.executable, "-P", "-m", *command]
        late = f"it gave no answer within {timeout_s:g} s (LUTRA_FIT_TIMEOUT_S; a candidate: half of it)"
        self._patience = _Patience(timeout_s, ended, late)
        self._process: subprocess.Popen[bytes] | None = None
        self._ready = False
        self._installed: frozenset[object] = frozenset()
        """The parts that packages brought when the process started: what is installed later it may not find."""
        self._held_s, self._held_since = 0.0, float("inf")
        """How long it was paused until then, and since when it is now."""

    @property
    def pid(self) -> int | None:
        return None if self._process is None else self._process.pid

    def start(self) -> None:
        """Start the process without waiting until it is ready."""
        if self._process is not None and self._process.poll() is None:
            return
        self.close()
        # A session of its own: Ctrl-C at a terminal is for the service alone.
        pipe = subprocess.PIPE
        self._installed = brought()
        try:
            self._process = subprocess.Popen(
                self._command, stdin=pipe, stdout=pipe, env=_environment(), start_new_session=True
            )
        except OSError as error:
            raise NoWorker(f"no process could be started: {error}") from error
        if self._held_since < float("inf"):
            _signal(self._process, signal.SIGSTOP)

    def run(self, task: str, payload: Mapping[str, Any]) -> Document:
        request = json.dumps({"task": task, "payload": payload}).encode() + b"\n"
        if payload.get("packages") and brought() != self._installed:
            self.close()
        self._wait_until_ready()
        try:
            return opened(_parsed(self._exchange(request, self._patience)))
        except (WorkerLost, NoWorker):
            self.close()
            raise

    def pause(self, on: bool) -> None:
        process, paused = self._process, self._held_since < float("inf")
        if on != paused:
            now = time.monotonic()
            self._held_s, self._held_since = self._excused_s(now), now if on else float("inf")
            if process is not None:
                _signal(process, signal.SIGSTOP if on else signal.SIGCONT)

    def _excused_s(self, now: float) -> float:
        return self._held_s + max(0.0, now - self._held_since)

    def kill(self) -> None:
        process = self._process
        if process is not None:
            _signal(process, signal.SIGKILL)

    def _wait_until_ready(self) -> None:
        self.start()
        if not self._ready:
            self._exchange(b"", _STARTING)
            self._ready = True

    def _exchange(self, request: bytes, patience: _Patience) -> bytes:
        """One line out, one line in. Where no whole line comes, the process is gone afterwards."""
        process = self._process
        assert process is not None
        assert process.stdin is not None
        assert process.stdout is not None
        line = b""
        with self._killed_after(patience.seconds, process) as late, suppress(OSError):
            process.stdin.write(request)
            process.stdin.flush()
            line = process.stdout.readline(MAX_ANSWER_BYTES)
        if line.endswith(b"\n") and not late.is_set():
            return line
        if len(line) < MAX_ANSWER_BYTES and not late.is_set():
            with suppress(subprocess.TimeoutExpired):
                process.wait(ENDING_S)
        self.close()
        if late.is_set():
            raise patience.ended(patience.late)
        if len(line) >= MAX_ANSWER_BYTES:
            raise patience.ended(f"its answer was longer than {MAX_ANSWER_BYTES} bytes")
        raise patience.ended(_how_it_ended(process.returncode))

    @contextmanager
    def _killed_after(self, seconds: float, process: subprocess.Popen[bytes]) -> Iterator[threading.Event]:
        """The event is set where the time ran out. After the block the process is not killed any more.

        Time in which the process was paused, or could have run and no processor was free for it, does not count.
        """
        late, done = threading.Event(), threading.Event()

        def excused_s() -> float:
            return _waited_s(process.pid) + self._excused_s(time.monotonic())

        def watch(before: float) -> None:
            granted, pause = 0.0, seconds
            while not done.wait(pause):
                excused = excused_s() - before
                granted, pause = excused, excused - granted
                if pause < SHORTEST_GRANT_S:
                    late.set()
                    _signal(process, signal.SIGKILL)
                    return

        watcher = threading.Thread(target=watch, args=(excused_s(),), daemon=True)
        watcher.start()
        try:
            yield late
        finally:
            done.set()
            watcher.join()

    def close(self) -> None:
        """End the process, if there is one."""
        process, self._process, self._ready = self._process, None, False
        if process is None:
            return
        _signal(process, signal.SIGKILL)
        process.wait()
        for pipe in (process.stdin, process.stdout):
            with suppress(OSError):  # what was not yet written has nobody to go to
                if pipe is not None:
                    pipe.close()


def local_worker(limits: Limits, tasks: str = TASKS, *, warm: bool = True, beside: bool = False) -> WorkerProcess:
    """A process on this machine that computes the functions of the module `tasks`.

    `warm`: it loads the modules of some requests before the first one arrives. `beside`: others have priority for the
    processors and the memory.
    """
    ways = [name for name, wanted in (("warm", warm), ("beside", beside)) if wanted]
    return WorkerProcess(
        ["lutra_service.workers.worker_process", tasks, str(limits.memory_bytes), *ways], limits.timeout_s
    )


def _parsed(line: bytes) -> object:
    try:
        return json.loads(line, parse_constant=_no_number)
    except (ValueError, RecursionError) as error:
        raise WorkerLost(f"its answer is not JSON: {error}") from error


def _no_number(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a number")


def _waited_s(pid: int) -> float:
    """How long the process has waited for a processor in its life; 0 if the system does not tell."""
    try:
        return int(Path(f"/proc/{pid}/schedstat").read_bytes().split()[1]) / 1e9
    except (OSError, ValueError, IndexError):
        return 0.0


def _signal(process: subprocess.Popen[bytes], number: signal.Signals) -> None:
    """To whatever it started as well: it leads a group of its own."""
    if process.returncode is None:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, number)


def _environment() -> dict[str, str]:
    """One thread for the arithmetic; the service's own settings, secrets among them, stay with the service."""
    return {n: v for n, v in os.environ.items() if not n.startswith("LUTRA_")} | _ONE_THREAD


def _how_it_ended(status: int) -> str:
    if status >= 0:
        return f"its process ended with status {status}"
    return f"its process was ended by {signal.Signals(-status).name}"

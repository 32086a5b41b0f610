"""Computations in processes of their own: one process computes one thing at a time, so what ends it harms nothing else.

A request and its answer are one line of JSON each, on the process's standard input and output. Nothing is unpickled.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, NoReturn, Protocol

from lutra_models.errors import LutraError

Document = dict[str, Any]

TASKS = "lutra_service.worker"
MAX_ANSWER_BYTES = 32 << 20
_ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")


class WorkerLost(Exception):
    """The process that ran this computation, and nothing else, ended or had to be ended."""


class NoWorker(Exception):
    """Nothing could compute it, through no fault of its own."""


class ComputationFailed(LutraError):
    """The computation itself says that it failed; `code` is the worker's."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


@dataclass(frozen=True)
class Limits:
    """What one computation may take."""

    timeout_s: float
    memory_bytes: int

    def __post_init__(self) -> None:
        if self.timeout_s <= 0 or self.memory_bytes <= 0:
            raise ValueError(f"limits must be positive, got {self.timeout_s} s and {self.memory_bytes} bytes")


@dataclass(frozen=True)
class _Patience:
    """How long to wait for a line, and what to raise and say where none comes."""

    seconds: float
    ended: type[Exception]
    late: str


class Worker(Protocol):
    """Computes one thing at a time. `kill` may be called from any thread, and ends what `run` waits for."""

    def start(self) -> None:
        """Get ready without being waited for. Raises NoWorker."""

    def run(self, task: str, payload: Mapping[str, Any]) -> Document:
        """Raises WorkerLost, NoWorker, or a LutraError where the computation failed."""

    def kill(self) -> None: ...
    def close(self) -> None: ...


_STARTING = _Patience(120.0, NoWorker, "a new process of a worker was not ready within 120 s")


class WorkerProcess:
    """A Worker: the Python module `command` in a process that is started when needed, and again after it ended.

    `ended` is raised where the process ends, or has to be ended, during a computation.
    """

    def __init__(self, command: Sequence[str], timeout_s: float, ended: type[Exception] = WorkerLost) -> None:
        self._command = [sys.executable, "-P", "-m", *command]
        late = f"it gave no answer within {timeout_s:g} s (LUTRA_FIT_TIMEOUT_S)"
        self._patience = _Patience(timeout_s, ended, late)
        self._process: subprocess.Popen[bytes] | None = None
        self._ready = False

    @property
    def pid(self) -> int | None:
        return None if self._process is None else self._process.pid

    def start(self) -> None:
        """Without waiting until it is ready."""
        if self._process is not None and self._process.poll() is None:
            return
        self.close()
        # A session of its own: Ctrl-C at a terminal is for the service alone.
        pipe = subprocess.PIPE
        try:
            self._process = subprocess.Popen(
                self._command, stdin=pipe, stdout=pipe, env=_environment(), start_new_session=True
            )
        except OSError as error:
            raise NoWorker(f"no process could be started: {error}") from error

    def run(self, task: str, payload: Mapping[str, Any]) -> Document:
        request = json.dumps({"task": task, "payload": payload}).encode() + b"\n"
        self._wait_until_ready()
        try:
            return opened(_parsed(self._exchange(request, self._patience)))
        except (WorkerLost, NoWorker):
            self.close()
            raise

    def kill(self) -> None:
        process = self._process
        if process is not None:
            process.kill()

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
        with _killed_after(patience.seconds, process) as late, suppress(OSError):
            process.stdin.write(request)
            process.stdin.flush()
            line = process.stdout.readline(MAX_ANSWER_BYTES)
        if line.endswith(b"\n") and not late.is_set():
            return line
        self.close()
        if late.is_set():
            raise patience.ended(patience.late)
        if len(line) >= MAX_ANSWER_BYTES:
            raise patience.ended(f"its answer was longer than {MAX_ANSWER_BYTES} bytes")
        raise patience.ended(_how_it_ended(process.returncode))

    def close(self) -> None:
        """End the process, where there is one."""
        process, self._process, self._ready = self._process, None, False
        if process is None:
            return
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout):
            with suppress(OSError):  # what was not yet written has nobody to go to
                if pipe is not None:
                    pipe.close()


def local_worker(limits: Limits, tasks: str = TASKS) -> WorkerProcess:
    """A process on this machine that computes the functions of the module `tasks`."""
    return WorkerProcess(["lutra_service.worker_process", tasks, str(limits.memory_bytes)], limits.timeout_s)


def sealed(compute: Callable[[], Mapping[str, Any]]) -> Document:
    """What `compute` gives, or what became of it, as a plain document; `opened` is the way back."""
    try:
        return {"result": compute()}
    except WorkerLost as error:
        return {"lost": str(error)}
    except NoWorker as error:
        return {"unavailable": str(error)}
    except MemoryError:
        return {"lost": "it needed more memory than LUTRA_FIT_MEMORY_BYTES allows"}
    except LutraError as error:
        return {"failed": [error.code, str(error)]}
    except Exception as error:
        return {"failed": ["internal_error", f"{type(error).__name__}: {error}"]}


def opened(document: object) -> Document:
    """The result in a document of `sealed`. Raises what it says instead; WorkerLost where it is no such document."""
    match document:
        case {"result": dict(result)}:
            return result
        case {"failed": [str(code), str(message)]}:
            raise ComputationFailed(code[:60], message[:1000])
        case {"lost": str(why)}:
            raise WorkerLost(why[:1000])
        case {"unavailable": str(why)}:
            raise NoWorker(why[:1000])
    raise WorkerLost("its answer has a form that nobody knows")


def _parsed(line: bytes) -> object:
    try:
        return json.loads(line, parse_constant=_no_number)
    except (ValueError, RecursionError) as error:
        raise WorkerLost(f"its answer is no JSON: {error}") from error


def _no_number(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number")


@contextmanager
def _killed_after(seconds: float, process: subprocess.Popen[bytes]) -> Iterator[threading.Event]:
    """The event is set where the time ran out. After the block the process is not killed any more."""
    late = threading.Event()

    def end() -> None:
        late.set()
        process.kill()

    timer = threading.Timer(seconds, end)
    timer.daemon = True
    timer.start()
    try:
        yield late
    finally:
        timer.cancel()
        timer.join()


def _environment() -> dict[str, str]:
    """One thread for the arithmetic; the service's own settings, secrets among them, stay with the service."""
    return {n: v for n, v in os.environ.items() if not n.startswith("LUTRA_")} | _ONE_THREAD


def _how_it_ended(status: int) -> str:
    if status >= 0:
        return f"its process ended with status {status}"
    return f"its process was ended by {signal.Signals(-status).name}"

"""What is measured while an attack runs: the service's memory and descriptors, and how soon /healthz answers.

The prober is a process of its own, so that a busy attacker does not delay its clock.
"""

from __future__ import annotations

import http.client
import multiprocessing
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from multiprocessing.queues import Queue
from multiprocessing.synchronize import Event
from typing import Any

import psutil

PROBE_EVERY_S = 0.25
SAMPLE_EVERY_S = 0.2
LONGEST_PROBE_S = 30.0
CALM_BYTES = 1 << 20

spawn = multiprocessing.get_context("spawn")


@dataclass
class Memory:
    """RSS of a process and its children, in bytes, sampled by a thread."""

    pid: int
    samples: list[int] = field(default_factory=list)
    own: list[int] = field(default_factory=list)
    descriptors: list[int] = field(default_factory=list)

    def sample(self) -> None:
        try:
            process = psutil.Process(self.pid)
            own = process.memory_info().rss
            children = [_rss(child) for child in process.children(recursive=True)]
            self.own.append(own)
            self.samples.append(own + sum(children))
            self.descriptors.append(process.num_fds())
        except psutil.Error:
            return

    def until_calm(self, span_s: float = 5.0, longest_s: float = 60.0) -> None:
        """Sample until nothing grew for a while: a service warms its workers up after its start."""
        deadline = time.monotonic() + longest_s
        count = int(span_s / SAMPLE_EVERY_S)
        while time.monotonic() < deadline:
            self.sample()
            last = self.samples[-count:]
            if len(last) == count and max(last) - min(last) < CALM_BYTES:
                return
            time.sleep(SAMPLE_EVERY_S)


def _rss(process: psutil.Process) -> int:
    try:
        rss: int = process.memory_info().rss
        return rss
    except psutil.Error:
        return 0


@contextmanager
def sampled(pid: int) -> Iterator[Memory]:
    memory, done = Memory(pid), threading.Event()

    def run() -> None:
        while not done.wait(SAMPLE_EVERY_S):
            memory.sample()

    memory.sample()
    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    try:
        yield memory
    finally:
        done.set()
        thread.join()


class Worker:
    """A function in a process of its own, told to stop by an event, that gives one result at its end."""

    def __init__(self, run: Any, *arguments: Any) -> None:
        self._stop: Event = spawn.Event()
        self._results: Queue[Any] = spawn.Queue()
        self._process = spawn.Process(target=_run, args=(run, self._stop, self._results, arguments), daemon=True)
        self._process.start()
        self.pid = self._process.pid

    def result(self, within_s: float = 120.0) -> Any:
        """Stop it and wait for what it found."""
        self._stop.set()
        return self.finished(within_s)

    def finished(self, within_s: float) -> Any:
        """Wait for its own end. Raises RuntimeError where it ended in an error."""
        found = self._results.get(timeout=within_s)
        self._process.join(10)
        if isinstance(found, str):
            raise RuntimeError(found)
        return found


def _run(run: Any, stop: Event, results: Queue[Any], arguments: tuple[Any, ...]) -> None:
    try:
        results.put(run(stop, *arguments))
    except BaseException as error:
        results.put(f"{run.__name__} ended: {type(error).__name__}: {error}")
        raise


def probe_health(stop: Event, port: int) -> dict[str, Any]:
    """Ask /healthz four times a second over a fresh connection each; the milliseconds of each, failures as null."""
    taken: list[float | None] = []
    while not stop.is_set():
        began = time.monotonic()
        taken.append(_probe(port, began))
        stop.wait(max(0.0, PROBE_EVERY_S - (time.monotonic() - began)))
    return {"ms": taken}


def _probe(port: int, began: float) -> float | None:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=LONGEST_PROBE_S)
    try:
        connection.request("GET", "/healthz")
        answer = connection.getresponse()
        answer.read()
        return (time.monotonic() - began) * 1000 if answer.status == 200 else None
    except (OSError, http.client.HTTPException):
        return None
    finally:
        connection.close()

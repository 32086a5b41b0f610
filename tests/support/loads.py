"""A small load on a real server, from a thread, until the test ends it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class Load:
    """Repeats `step` until it is stopped; a server that went away is tried again."""

    def __init__(self, step: Callable[[], None]) -> None:
        self._step = step
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._ended.set()
        self._thread.join(60)

    def _run(self) -> None:
        while not self._ended.is_set():
            try:
                self._step()
            except Exception:
                self._ended.wait(0.1)


@contextmanager
def loaded(step: Callable[[], None]) -> Iterator[Load]:
    load = Load(step)
    load.start()
    try:
        yield load
    finally:
        load.stop()

"""A small load on a real server, from a thread, until the test ends it.

It rests as long as it works, unless it is told for how long: enough beside whoever polls the server, and half a processor is left to the other tests.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import psycopg
from lutra_lab.servers.postgresql import ScratchPostgres

from tests.support.waiting import PATIENCE_S

PAUSE_S = 0.1


class Load:
    """Repeats `step` until it is stopped, but not while nothing `works`; a server that went away is tried again."""

    def __init__(self, step: Callable[[], None], works: Callable[[], bool], rest_s: float | None) -> None:
        self._step = step
        self._works = works
        self._rest_s = rest_s
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._ended.set()
        self._thread.join(PATIENCE_S)
        assert not self._thread.is_alive()

    def _run(self) -> None:
        while not self._ended.is_set():
            began = time.monotonic()
            try:
                if not self._works():
                    self._ended.wait(PAUSE_S)
                    continue
                self._step()
                self._ended.wait(time.monotonic() - began if self._rest_s is None else self._rest_s)
            except Exception:
                self._ended.wait(PAUSE_S)


@contextmanager
def loaded(
    step: Callable[[], None], works: Callable[[], bool] = lambda: True, rest_s: float | None = None
) -> Iterator[Load]:
    """`works`: whether clients get anything done. A change under which they do not halves any machine's throughput."""
    load = Load(step, works, rest_s)
    load.start()
    try:
        yield load
    finally:
        load.stop()


@contextmanager
def inserting(server: ScratchPostgres) -> Iterator[Load]:
    """Rows go into a table of their own, one transaction each."""
    server.sql("CREATE TABLE IF NOT EXISTS load (n int)")
    connection = psycopg.connect(server.conninfo(), autocommit=True)
    with connection, loaded(lambda: connection.execute("INSERT INTO load VALUES (1)")) as load:
        yield load

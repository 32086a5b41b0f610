"""A small load on a real server, from a thread, until the test ends it.

It rests as long as it works, or longer where it is told so: enough beside whoever polls the server, and at least half a
processor is left to the other tests.
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
    """Repeats `step` until it is stopped; a server that went away is tried again."""

    def __init__(self, step: Callable[[], None], rest_s: float) -> None:
        self._step = step
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
                self._step()
                self._ended.wait(max(time.monotonic() - began, self._rest_s))
            except Exception:
                self._ended.wait(PAUSE_S)


@contextmanager
def loaded(step: Callable[[], None], rest_s: float = 0.0) -> Iterator[Load]:
    load = Load(step, rest_s)
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

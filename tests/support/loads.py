"""A small load on a real server, from a thread, until the test ends it.

It rests as long as it works: enough beside whoever polls the server, and half a processor is left to the other tests.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import psycopg
from lutra_lab.servers.postgresql import ScratchPostgres


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
            began = time.monotonic()
            try:
                self._step()
                self._ended.wait(time.monotonic() - began)
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


@contextmanager
def inserting(server: ScratchPostgres) -> Iterator[Load]:
    """Rows go into a table of their own, one transaction each."""
    server.sql("CREATE TABLE IF NOT EXISTS load (n int)")
    connection = psycopg.connect(server.conninfo(), autocommit=True)
    with connection, loaded(lambda: connection.execute("INSERT INTO load VALUES (1)")) as load:
        yield load

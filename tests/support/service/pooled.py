"""An application on a pool that is smaller than its number of clients, and what it finds in the pool's sessions."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import psycopg
from lutra_agent.engines.postgresql.server.connect import STATEMENT_TIMEOUT_MS
from lutra_lab.servers.postgresql import ScratchPostgres

from tests.support.servers.pooler import POOL
from tests.support.waiting import PATIENCE_S, until

CLIENTS = 3 * POOL
PER_CONNECTION = 10
"""Transactions of one connection: with session pooling the others wait until it ends."""
LONGER_S = STATEMENT_TIMEOUT_MS / 1000 + 1
"""A report of the application that the agent's own time limit would cancel."""
SESSION = """SELECT pg_backend_pid(), (SELECT string_agg(name || '=' || setting, ' ' ORDER BY name) FROM pg_settings),
(SELECT count(*) FROM pg_prepared_statements), (SELECT count(*) FROM pg_listening_channels()),
(SELECT count(*) FROM pg_cursors), pg_sleep(0.2)"""
"""It waits, so that clients that ask at once meet different sessions."""
TABLE = "CREATE TABLE IF NOT EXISTS pooled AS SELECT n AS id, 0 AS v FROM generate_series(1, 100) n"


@dataclass
class Application:
    """Its clients' transactions, counted, and each error that one of them saw."""

    server: ScratchPostgres
    port: int
    several: bool
    """Whether a transaction may have several statements."""
    done: int = 0
    reports: int = 0
    errors: list[str] = field(default_factory=list)

    def transactions(self, count: int) -> None:
        with self._client() as client:
            for n in range(count):
                if self.several:
                    with client.transaction():
                        client.execute("UPDATE pooled SET v = v + 1 WHERE id = %s", (n + 1,))
                        client.execute("SELECT sum(v) FROM pooled")
                else:
                    client.execute("UPDATE pooled SET v = v + 1 WHERE id = %s", (n + 1,))
                self.done += 1

    def report(self) -> None:
        with self._client() as client:
            client.execute("SELECT pg_sleep(%s)", (LONGER_S,))
            self.reports += 1

    def _client(self) -> psycopg.Connection[Any]:
        server = self.server
        where = f"host={server.host} port={self.port} user={server.user} dbname={server.dbname}"
        return psycopg.connect(where, autocommit=True, prepare_threshold=None)

    def sessions(self) -> dict[int, tuple[Any, ...]]:
        """What a client finds in each session of the pool, by the server's process."""
        found: dict[int, tuple[Any, ...]] = {}

        def ask(_: int) -> None:
            with self._client() as client:
                row = client.execute(SESSION).fetchone()
                assert row is not None
                found[row[0]] = row[1:]

        def all_of_them() -> bool:
            with ThreadPoolExecutor(POOL) as pool:
                list(pool.map(ask, range(POOL)))
            return len(found) >= POOL

        until(all_of_them)
        return found


@contextmanager
def working(application: Application, goes_on: Callable[[], bool]) -> Iterator[None]:
    """The application's clients, until one asks and `goes_on` is false; all of them have ended after it."""

    def repeat(step: Callable[[], None]) -> None:
        while goes_on() and not application.errors:
            try:
                step()
            except Exception as error:
                application.errors.append(f"{type(error).__name__}: {error}")

    steps = [application.report, *[lambda: application.transactions(PER_CONNECTION)] * (CLIENTS - 1)]
    threads = [threading.Thread(target=repeat, args=(step,), daemon=True) for step in steps]
    for thread in threads:
        thread.start()
    yield
    for thread in threads:
        thread.join(PATIENCE_S)
        assert not thread.is_alive()

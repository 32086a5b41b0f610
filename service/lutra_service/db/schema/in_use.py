"""Changes to a schema on PostgreSQL while the service uses it: rows keep arriving.

Connections commit by themselves (AUTOCOMMIT): most of these statements must not wait for each other's locks.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import Connection, Engine, text

MIGRATING = 0x6C75747261
"""The number of the advisory lock that a migration holds."""
RETRY_S = 0.2


@contextmanager
def one_at_a_time(engine: Engine) -> Iterator[None]:
    """Of several programs, one continues, and the others wait.

    They poll, because a statement that waits for a lock would hold up the concurrent creation of an index.
    """
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        while not connection.execute(text("SELECT pg_try_advisory_lock(:lock)"), {"lock": MIGRATING}).scalar():
            time.sleep(RETRY_S)
        try:
            yield
        finally:
            connection.execute(text("SELECT pg_advisory_unlock(:lock)"), {"lock": MIGRATING})


def index_concurrently(connection: Connection, name: str, place: str, kind: str = "INDEX") -> None:
    """Make an index on `place`, "table (columns) WHERE …", while rows come in.

    A migration calls it inside `op.get_context().autocommit_block()`. The remains of an interrupted attempt are not an
    index: they are dropped first.
    """
    state = text("SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass(:name)")
    valid = connection.execute(state, {"name": name}).scalar()
    if valid:
        return
    if valid is False:
        connection.exec_driver_sql(f"DROP INDEX CONCURRENTLY {name}")
    connection.exec_driver_sql(f"CREATE {kind} CONCURRENTLY {name} ON {place}")

"""Changes to a schema on PostgreSQL while the service uses it: rows arrive all the time, apart from moments.

Each step detects finished work, so that the next run continues one that was killed. Connections commit by themselves
(AUTOCOMMIT): most of these statements must not wait for each other's locks.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from sqlalchemy import BigInteger, Connection, Engine, Executable, column, func, inspect, select, table, text, update
from sqlalchemy.exc import OperationalError

log = logging.getLogger(__name__)

BATCH = 10_000
LOCK_TIMEOUT_MS = 2000
"""A statement that needs the table to itself gives up after so long, lets the writers through, and tries again."""
ATTEMPTS = 150
MIGRATING = 0x6C75747261
"""The number of the advisory lock that a migration holds."""
RETRY_S = 0.2


@dataclass(frozen=True)
class Widening:
    """An id of 32 bits becomes one of 64: `table.id`, which has its own sequence and the primary key `pk_<table>`."""

    connection: Connection
    table: str
    after_batch: Callable[[int], None] = lambda _: None
    """Is given the last id of each batch once it is written."""
    pause: Callable[[float], None] = time.sleep

    def run(self) -> None:
        if self._widened():
            return
        self._exclusively(
            f"ALTER TABLE {self.table} ADD COLUMN IF NOT EXISTS id_wide bigint",
            f"CREATE OR REPLACE FUNCTION {self.table}_widen() RETURNS trigger LANGUAGE plpgsql AS "
            "$$BEGIN NEW.id_wide := NEW.id; RETURN NEW; END$$",
            f"CREATE OR REPLACE TRIGGER {self.table}_widen BEFORE INSERT ON {self.table} "
            f"FOR EACH ROW EXECUTE FUNCTION {self.table}_widen()"
            if self._version() >= 140000
            else f"DROP TRIGGER IF EXISTS {self.table}_widen ON {self.table}; "
            f"CREATE TRIGGER {self.table}_widen BEFORE INSERT ON {self.table} "
            f"FOR EACH ROW EXECUTE FUNCTION {self.table}_widen()",
        )
        self._fill()
        index_concurrently(self.connection, f"pk_{self.table}_wide", f"{self.table} (id_wide)", "UNIQUE INDEX")
        self._exclusively(
            f"ALTER TABLE {self.table} DROP CONSTRAINT IF EXISTS {self.table}_wide",
            f"ALTER TABLE {self.table} ADD CONSTRAINT {self.table}_wide CHECK (id_wide IS NOT NULL) NOT VALID",
        )
        self._do(f"ALTER TABLE {self.table} VALIDATE CONSTRAINT {self.table}_wide")
        self._exclusively(*self._swap())

    def _fill(self) -> None:
        """The rows from before the trigger, a batch of ids at a time."""
        rows = table(self.table, column("id"), column("id_wide"))
        last = self._number(select(func.coalesce(func.min(rows.c.id), 0) - 1))
        newest = self._number(select(func.coalesce(func.max(rows.c.id), 0)))
        while last < newest:
            batch = select(rows.c.id).where(rows.c.id > last).order_by(rows.c.id).limit(BATCH).subquery()
            end = self._number(select(func.coalesce(func.max(batch.c.id), newest)))
            old = (rows.c.id > last, rows.c.id <= end, rows.c.id_wide.is_(None))
            self._do(update(rows).where(*old).values(id_wide=rows.c.id))
            self.after_batch(end)
            last = end

    def _swap(self) -> Sequence[str]:
        table, sequence = self.table, f"{self.table}_id_seq"
        return (
            f"DROP TRIGGER {table}_widen ON {table}",
            f"DROP FUNCTION {table}_widen()",
            f"ALTER TABLE {table} ALTER COLUMN id_wide SET NOT NULL, ALTER COLUMN id DROP DEFAULT",
            f"ALTER SEQUENCE {sequence} OWNED BY NONE",
            f"ALTER SEQUENCE {sequence} AS bigint",
            f"ALTER TABLE {table} DROP CONSTRAINT pk_{table}, DROP COLUMN id, DROP CONSTRAINT {table}_wide",
            f"ALTER TABLE {table} RENAME COLUMN id_wide TO id",
            f"ALTER TABLE {table} ADD CONSTRAINT pk_{table} PRIMARY KEY USING INDEX pk_{table}_wide",
            f"ALTER TABLE {table} ALTER COLUMN id SET DEFAULT nextval('{sequence}')",
            f"ALTER SEQUENCE {sequence} OWNED BY {table}.id",
        )

    def _exclusively(self, *statements: str) -> None:
        """All of them in one transaction that holds the table for a moment; who waits too long lets others go first."""
        for attempt in range(1, ATTEMPTS + 1):
            try:
                self._do(
                    "; ".join(
                        (
                            "BEGIN",
                            f"SET LOCAL lock_timeout = {LOCK_TIMEOUT_MS}",
                            f"LOCK TABLE {self.table} IN ACCESS EXCLUSIVE MODE",
                            *statements,
                            "COMMIT",
                        )
                    )
                )
            except OperationalError:
                self._do("ROLLBACK")
                if attempt == ATTEMPTS:
                    raise
                log.info("%s is in use: attempt %d of %d to change it", self.table, attempt, ATTEMPTS)
                self.pause(LOCK_TIMEOUT_MS / 1000)
            else:
                return

    def _widened(self) -> bool:
        found = {c["name"]: c["type"] for c in inspect(self.connection).get_columns(self.table)}
        return isinstance(found["id"], BigInteger)

    def _version(self) -> int:
        return self._number(text("SELECT current_setting('server_version_num')::int"))

    def _number(self, query: Executable) -> int:
        return int(self.connection.execute(query).scalar() or 0)

    def _do(self, statement: Executable | str) -> None:
        if isinstance(statement, str):
            self.connection.exec_driver_sql(statement)
        else:
            self.connection.execute(statement)


@contextmanager
def one_at_a_time(engine: Engine) -> Iterator[None]:
    """Of several programs one goes on, and the others wait.

    They ask again and again: a statement that waits for a lock would hold up an index that is made concurrently.
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

    The remains of an interrupted attempt are not an index: they are dropped first.
    """
    state = text("SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass(:name)")
    valid = connection.execute(state, {"name": name}).scalar()
    if valid:
        return
    if valid is False:
        connection.exec_driver_sql(f"DROP INDEX CONCURRENTLY {name}")
    connection.exec_driver_sql(f"CREATE {kind} CONCURRENTLY {name} ON {place}")

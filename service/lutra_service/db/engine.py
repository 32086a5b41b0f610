"""The database engine: SQLite in WAL mode by default, PostgreSQL by URL."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event, make_url

from lutra_service.db.storable import guard

URLS = "sqlite:/// or postgresql://"
"""What the service's own rows may be kept in, as a URL begins."""
DIALECTS = ("sqlite", "postgresql")
IMMEDIATE = "lutra_immediate"
"""Execution option of a connection that is going to write: SQLite takes its lock at the start, and so never has to
give a transaction up halfway because another one wrote in between."""

# synchronous=FULL: a report that was acknowledged survives a power cut.
_PRAGMAS = ("busy_timeout=30000", "journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON")


def make_engine(url: str) -> Engine:
    """`sqlite:///file` or `postgresql://…` (psycopg)."""
    parsed = make_url(url)
    if parsed.drivername in ("postgresql", "postgres"):
        parsed = parsed.set(drivername="postgresql+psycopg")
    if parsed.get_backend_name() != "sqlite":
        engine = create_engine(parsed, pool_size=10, max_overflow=30, pool_pre_ping=True, hide_parameters=True)
        guard(engine)
        return engine
    if parsed.database in (None, "", ":memory:"):
        raise ValueError(f"{url}: SQLite in memory is a database per connection; name a file")
    engine = create_engine(parsed, pool_size=10, max_overflow=50, hide_parameters=True)
    event.listen(engine, "connect", _prepare_sqlite)
    event.listen(engine, "begin", _begin_sqlite)
    guard(engine)
    return engine


def _prepare_sqlite(connection: Any, _: Any) -> None:
    connection.isolation_level = None  # transactions are ours to begin, see _begin_sqlite
    cursor = connection.cursor()
    for pragma in _PRAGMAS:
        cursor.execute(f"PRAGMA {pragma}")
    cursor.close()


def _begin_sqlite(connection: Connection) -> None:
    immediate = connection.get_execution_options().get(IMMEDIATE)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if immediate else "BEGIN")

"""The database engine: SQLite in WAL mode by default, PostgreSQL by URL."""

from __future__ import annotations

import os
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Connection, Engine, create_engine, event, make_url
from sqlalchemy.exc import ArgumentError

from lutra_service.db.schema.dialects import URLS
from lutra_service.db.schema.storable import dumps, guard

IMMEDIATE = "lutra_immediate"
"""Execution option of a connection that is going to write: SQLite takes its lock at the start, and so never has to
give a transaction up halfway because another one wrote in between."""

CONNECT_S = "10"
"""The time that a server may take for a login, if the URL does not name a `connect_timeout`."""

PRIVATE = 0o600
"""The file contains digests of tokens, and operators' policies."""

# synchronous=FULL: a report that was acknowledged survives a power cut.
_PRAGMAS = ("busy_timeout=30000", "journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON")


class UnusableUrl(ArgumentError):
    """A URL of a database that the service cannot use. Its message contains only the scheme of the URL."""


def make_engine(url: str) -> Engine:
    """`sqlite:///file` or `postgresql://…` (psycopg). Raises UnusableUrl."""
    parsed = _parsed(url)
    if parsed.drivername == "postgresql+psycopg":
        engine = create_engine(
            parsed.set(query={"connect_timeout": CONNECT_S, **parsed.query}),
            pool_size=10,
            max_overflow=30,
            pool_pre_ping=True,
            hide_parameters=True,
            json_serializer=dumps,
        )
        guard(engine)
        return engine
    engine = create_engine(parsed, pool_size=10, max_overflow=50, hide_parameters=True, json_serializer=dumps)
    event.listen(engine, "do_connect", lambda *_: _make_private(parsed))
    event.listen(engine, "connect", _prepare_sqlite)
    event.listen(engine, "begin", _begin_sqlite)
    guard(engine)
    return engine


def file_of(url: str) -> Path | None:
    """The SQLite file, from the root of the file system on; None if the rows are kept elsewhere."""
    parsed = _parsed(url)
    return Path(parsed.database or "").absolute() if parsed.drivername == "sqlite" else None


def tighten(file: Path) -> None:
    """Make a database's file private if others could read it, such as a restored backup."""
    for path in (file, *(file.with_name(file.name + end) for end in ("-wal", "-shm"))):
        with suppress(OSError):
            path.chmod(PRIVATE)


def _parsed(url: str) -> URL:
    parsed = make_url(url)
    if parsed.drivername in ("postgresql", "postgres", "postgresql+psycopg"):
        if find_spec("psycopg") is None:
            raise UnusableUrl("postgresql:// needs psycopg: install lutra-service[postgresql]")
        return parsed.set(drivername="postgresql+psycopg")
    if parsed.drivername != "sqlite":
        raise UnusableUrl(f"{parsed.drivername}:// is not supported as the service's store: use {URLS}")
    if parsed.database in (None, "", ":memory:"):
        raise UnusableUrl("SQLite in memory is a database per connection; name a file: sqlite:///lutra.db")
    return parsed


def _make_private(parsed: URL) -> None:
    """Whatever the umask. SQLite gives its -wal and -shm files the mode of the database's own."""
    with suppress(OSError):  # SQLite says better what is wrong with the place
        os.close(os.open(parsed.database or "", os.O_CREAT | os.O_EXCL | os.O_WRONLY, PRIVATE))


def _prepare_sqlite(connection: Any, _: Any) -> None:
    connection.isolation_level = None  # transactions are ours to begin, see _begin_sqlite
    cursor = connection.cursor()
    for pragma in _PRAGMAS:
        cursor.execute(f"PRAGMA {pragma}")
    cursor.close()


def _begin_sqlite(connection: Connection) -> None:
    immediate = connection.get_execution_options().get(IMMEDIATE)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if immediate else "BEGIN")

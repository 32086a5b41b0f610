"""A database as the migrations have made it when a test begins: the same one, as long as it is left
as it was made, for a new one costs a server more than most tests do."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from lutra_lab.servers.base import Session
from lutra_lab.servers.postgresql import ScratchPostgres

from tests.support.service.application import upgraded

NAME = "rows"
MOST_BYTES = 4 << 20
KEPT = "alembic_version"

FIRST_OF_USERS = 16384
"""PostgreSQL numbers what users make from here on (FirstNormalObjectId in access/transam.h)."""

GONE_MS = 30_000
"""What is still connected may hold rows: it is waited for until it is gone."""
ALONE = f"""
SELECT count(pg_terminate_backend(pid, {GONE_MS})) FROM pg_stat_activity
WHERE datname = '{NAME}' AND pid <> pg_backend_pid()
"""
LAYOUT = f"""
SELECT (SELECT string_agg(format('%s %s %s', oid, relname, reltuples), ',' ORDER BY oid)
          FROM pg_class WHERE oid >= {FIRST_OF_USERS}),
       (SELECT count(*) || ' ' || max(oid) FROM pg_proc), (SELECT count(*) || ' ' || max(oid) FROM pg_trigger),
       (SELECT count(*) || ' ' || max(oid) FROM pg_constraint), (SELECT count(*) FROM pg_attribute),
       (SELECT count(*) FROM pg_db_role_setting), (SELECT string_agg(version_num, ',') FROM alembic_version)
"""
"""What tells a database that a test changed in another way than by rows, the planner's statistics included."""
OF_SERVICE = "relnamespace = 'public'::regnamespace"
TABLES = f"SELECT relname FROM pg_class WHERE relkind = 'r' AND {OF_SERVICE} AND relname <> '{KEPT}'"
SIZE = f"SELECT sum(pg_total_relation_size(oid)) FROM pg_class WHERE relkind = 'r' AND {OF_SERVICE}"
RESTARTED = f"SELECT setval(oid, 1, false) FROM pg_class WHERE relkind = 'S' AND {OF_SERVICE}"


class Rows:
    """`url` is that of the database, as SQLAlchemy spells it: postgresql+psycopg://…"""

    def __init__(self, server: ScratchPostgres) -> None:
        self._server = server
        self._layout = ""
        self._rows: dict[str, str] = {}
        self.url = server.url(NAME)

    @contextmanager
    def empty(self) -> Iterator[str]:
        """Its URL; whoever is still connected afterwards is not any more."""
        if not self._layout:
            self._make()
        yield self.url
        with self._server.session(NAME) as run:
            run(ALONE)
            as_made = run(LAYOUT) == self._layout and int(run(SIZE)) < MOST_BYTES
            if as_made:
                self._clear(run)
        if not as_made:
            self._layout = ""

    def _make(self) -> None:
        self._server.sql(f"DROP DATABASE IF EXISTS {NAME} WITH (FORCE)")
        self._server.sql(f"CREATE DATABASE {NAME}")
        upgraded(self.url)
        with self._server.session(NAME) as run:
            told = {t: run(f"SELECT coalesce(json_agg(t)::text, '') FROM {t} t") for t in run(TABLES).splitlines()}
            self._rows = {name: rows for name, rows in told.items() if rows}
            self._layout = run(LAYOUT)

    def _clear(self, run: Session) -> None:
        tables = run(TABLES).splitlines()
        run("; ".join(["SET session_replication_role = replica", *(f"DELETE FROM {t}" for t in tables)]))
        for name, rows in self._rows.items():
            run(f"INSERT INTO {name} SELECT * FROM json_populate_recordset(NULL::{name}, $rows${rows}$rows$)")
        run(RESTARTED)

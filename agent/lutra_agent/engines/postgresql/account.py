"""The agent's role."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from psycopg import sql

from lutra_agent.engines.common.account import AccountPlan, free_name
from lutra_agent.engines.postgresql.permissions import PARAMETER_GRANTS_SINCE, remedies
from lutra_agent.engines.postgresql.server.connect import Connection, grant_monitor, quoted
from lutra_agent.engines.postgresql.server.section import PostgresqlDatabase
from lutra_agent.errors import CollectionFailed

LIBRARY = "pg_stat_statements"
LOADED = "SELECT current_setting('shared_preload_libraries')"
CREATED = "SELECT EXISTS (SELECT FROM pg_extension WHERE extname = %s)"
NOT_LOADED = (
    f"{LIBRARY} is not known to be in shared_preload_libraries: without it the agent measures no queries per second "
    f"and no p99 of statements; add it, restart the server, and CREATE EXTENSION {LIBRARY} in this database"
)
WRITABLE = "SET default_transaction_read_only = off"


class PostgresAccounts:
    on_replica = False

    def __init__(self, database: PostgresqlDatabase) -> None:
        self._connection = Connection(database)

    def plan(self, names: Sequence[str], settings: Sequence[str], password: str) -> AccountPlan:
        found = self._connection.rows("SELECT rolname FROM pg_roles WHERE rolname = ANY(%s)", (list(names),))
        name = free_name(names, {str(row[0]) for row in found})
        loaded = self._loaded()
        (created,) = self._connection.row(CREATED, (LIBRARY,))
        return AccountPlan(
            {"user": name},
            tuple(self._make(name, settings, password, extension=loaded and not created)),
            (f"DROP OWNED BY {quoted(name)};", f"DROP ROLE {quoted(name)};"),
            () if loaded else (NOT_LOADED,),
        )

    def execute(self, statement: str, password: str) -> None:
        self._connection.change(WRITABLE)
        self._connection.change(statement)

    def close(self) -> None:
        self._connection.close()

    def _loaded(self) -> bool:
        """An account that may not know it makes no extension either."""
        try:
            return LIBRARY in str(self._connection.row(LOADED)[0])
        except CollectionFailed:
            return False

    def _make(self, name: str, settings: Sequence[str], password: str, extension: bool) -> Iterator[str]:
        verifier = sql.Literal(self._connection.verifier(name, password)).as_string(None)
        yield f"CREATE ROLE {quoted(name)} LOGIN PASSWORD {verifier};"
        yield grant_monitor(name)
        (version,) = self._connection.row("SELECT current_setting('server_version_num')::int / 10000")
        if int(version) >= PARAMETER_GRANTS_SINCE:
            yield from remedies(name, settings, frozenset(), may_reload=False)
        if extension:
            yield f"CREATE EXTENSION {LIBRARY};"

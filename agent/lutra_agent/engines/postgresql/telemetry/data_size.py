"""The size of all databases of the server, by their files: computed rarely, and within a time limit."""

from __future__ import annotations

from lutra_agent.engines.common.answers import reading
from lutra_agent.engines.common.telemetry import Reading
from lutra_agent.engines.postgresql.server.connect import STATEMENT_TIMEOUT_MS, Connection
from lutra_agent.errors import CollectionFailed

NAME = "data"
EVERY_S = 600.0
LONGEST_MS = 100
TOO_LONG = "[57014]"
AGAIN_S = 86400.0
"""The pause after a query that took too long: a server with that many files is queried again only the next day."""
SIZES = """SELECT CASE WHEN bool_and(readable)
THEN sum(CASE WHEN readable THEN pg_database_size(oid) END)::float8 END AS bytes
FROM (SELECT oid, has_database_privilege(oid, 'CONNECT') OR pg_has_role('pg_read_all_stats', 'USAGE') AS readable
FROM pg_database WHERE datallowconn AND NOT datistemplate) d"""
"""Nothing if the account may not read the size of one, because a part would be mistaken for the whole."""


class DataSize:
    """The server examines each file, and takes no lock. Behind a pooler the query is not sent: the limit would apply to
    other clients, too.
    """

    def __init__(self) -> None:
        self._started = ""
        self._next_s = 0.0
        self._last: Reading | None = None

    def reading(self, connection: Connection, monotonic_s: float, started: str) -> Reading | None:
        """None if it is not known. `started` identifies this start of the server.

        Raises CollectionFailed, and asks again at the next sample.
        """
        if connection.pooled:
            return None
        if started != self._started or monotonic_s >= self._next_s:
            self._last = _sizes(connection)
            self._started = started
            self._next_s = monotonic_s + (EVERY_S if self._last is not None else AGAIN_S)
        return self._last


def _sizes(connection: Connection) -> Reading | None:
    """None if the look took too long, or the account may not read all of it. Raises CollectionFailed."""
    connection.rows(f"SET statement_timeout = {LONGEST_MS}")
    try:
        found = connection.rows(SIZES)
    except CollectionFailed as error:
        if TOO_LONG not in str(error):
            raise
        return None
    finally:
        connection.rows(f"SET statement_timeout = {STATEMENT_TIMEOUT_MS}")
    size = found[0][0] if found and found[0] else None
    return reading({"bytes": size}, frozenset({"bytes"})) if size is not None else None

"""Statements that the server could not execute, the agent's own left out, and logins that it denied. Only where it
counts errors by number.
"""

from __future__ import annotations

from dataclasses import dataclass

from lutra_agent.engines.common.answers import reading
from lutra_agent.engines.common.telemetry import Reading
from lutra_agent.engines.mysql.server.connect import Connection
from lutra_agent.engines.mysql.telemetry.collectors.base import IS_ON, Status

COUNTS_NONE = "mariadb"
"""In the version of servers without such a view."""
DISK = (3, 20, 1016, 1021, 1023, 1026, 1030, 1114, 1194, 1195)
"""Files that cannot be opened, read or written, full disks and tables."""
MEMORY = (5, 1037, 1038, 1041, 1135, 1436, 1713, 3170)
LIMITS = (1153, 1197, 1206, 1461, 1637)
"""Settings that bound a packet, a transaction's binary log, locks, prepared statements and transactions at work."""
BROKEN_OFF = (1180, 1181, 1205, 1213, 1317, 3024, 3101)
"""Commits that failed, locks that did not come, deadlocks, time limits, a group that refused the transaction."""
REFUSED_WRITES = (1290, 1598, 1836)
DENIED = "1045, 1698"
"""A wrong account or password."""
NUMBERS = ", ".join(map(str, (*DISK, *MEMORY, *LIMITS, *BROKEN_OFF, *REFUSED_WRITES)))
FAILED = f"""SELECT COALESCE(SUM(SUM_ERROR_RAISED), 0) - COALESCE((SELECT SUM(SUM_ERROR_RAISED)
FROM performance_schema.events_errors_summary_by_thread_by_error WHERE ERROR_NUMBER IN ({NUMBERS}) AND THREAD_ID =
(SELECT THREAD_ID FROM performance_schema.threads WHERE PROCESSLIST_ID = CONNECTION_ID())), 0)
AS statements, (SELECT COALESCE(SUM(SUM_ERROR_RAISED), 0)
FROM performance_schema.events_errors_summary_global_by_error WHERE ERROR_NUMBER IN ({DENIED})) AS denied
FROM performance_schema.events_errors_summary_global_by_error WHERE ERROR_NUMBER IN ({NUMBERS})"""  # noqa: S608
"""Errors of all other numbers, such as a duplicate key or an unknown table, say what is wrong with the statement."""


@dataclass(frozen=True)
class Failures:
    name: str = "failures"
    view: str = "performance_schema.events_errors_summary_global_by_error"

    def read(self, connection: Connection, status: Status) -> Reading | None:
        if COUNTS_NONE in connection.server_version.lower() or not connection.row(IS_ON)[0]:
            return None
        names, rows = connection.named_rows(FAILED)
        return reading(dict(zip(names, rows[0], strict=True)), frozenset())


FAILURES = Failures()

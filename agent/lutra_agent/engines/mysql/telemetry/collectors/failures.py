"""Statements that ended in an error, the agent's own left out. Only where performance_schema is on."""

from __future__ import annotations

from dataclasses import dataclass

from lutra_agent.engines.common.answers import reading
from lutra_agent.engines.common.telemetry import Reading
from lutra_agent.engines.mysql.server.connect import Connection
from lutra_agent.engines.mysql.telemetry.collectors.base import Status

IS_ON = "SELECT @@GLOBAL.performance_schema"
CLIENTS = "(EVENT_NAME LIKE 'statement/sql/%' OR EVENT_NAME LIKE 'statement/com/%')"
"""What clients send; a statement within a procedure fails with the one that called it."""
FAILED = f"""SELECT SUM(SUM_ERRORS) - COALESCE((SELECT SUM(SUM_ERRORS)
FROM performance_schema.events_statements_summary_by_thread_by_event_name WHERE {CLIENTS} AND THREAD_ID =
(SELECT THREAD_ID FROM performance_schema.threads WHERE PROCESSLIST_ID = CONNECTION_ID())), 0)
FROM performance_schema.events_statements_summary_global_by_event_name WHERE {CLIENTS}"""  # noqa: S608


@dataclass(frozen=True)
class Failures:
    name: str = "failures"
    view: str = "performance_schema.events_statements_summary_global_by_event_name"

    def read(self, connection: Connection, status: Status) -> Reading | None:
        if not connection.row(IS_ON)[0]:
            return None
        return reading({"statements": connection.row(FAILED)[0]}, frozenset())


FAILURES = Failures()

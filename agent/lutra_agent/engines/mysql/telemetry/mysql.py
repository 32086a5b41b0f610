"""The counters of MySQL 8.0 and later in performance_schema."""

from __future__ import annotations

from lutra_agent.engines.common.answers import number
from lutra_agent.engines.common.telemetry import Visible
from lutra_agent.engines.mysql.server.connect import Connection
from lutra_agent.engines.mysql.telemetry.histogram import Histogram, from_picoseconds
from lutra_agent.errors import CollectionFailed

VIEW = "performance_schema.events_statements_histogram_global"
HISTOGRAM = f"SELECT BUCKET_TIMER_LOW, BUCKET_TIMER_HIGH, COUNT_BUCKET FROM {VIEW} ORDER BY BUCKET_NUMBER"  # noqa: S608
TRANSACTIONS = """SELECT s.COUNT_STAR - COALESCE((SELECT t.COUNT_STAR
FROM performance_schema.events_transactions_summary_by_thread_by_event_name t
WHERE t.EVENT_NAME = 'transaction' AND t.THREAD_ID = PS_CURRENT_THREAD_ID()), 0)
FROM performance_schema.events_transactions_summary_global_by_event_name s
JOIN performance_schema.setup_instruments i ON i.NAME = s.EVENT_NAME
WHERE s.EVENT_NAME = 'transaction' AND i.ENABLED = 'YES'"""

SEES = ("PROCESS", "REPLICATION CLIENT")


class MysqlFigures:
    def histogram(self, connection: Connection) -> Histogram | None:
        rows = connection.rows(HISTOGRAM)
        return from_picoseconds(rows) if rows else None

    def transactions(self, connection: Connection) -> float | None:
        try:
            found = connection.rows(TRANSACTIONS)
        except CollectionFailed:
            return None
        return number(found[0][0]) if found else None

    def visible(self, connection: Connection, held: frozenset[str], account: str) -> tuple[Visible, ...]:
        seen = [_grant(name, name in held, account) for name in SEES]
        try:
            found = self.histogram(connection)
        except CollectionFailed as error:
            remedy = f"GRANT SELECT ON performance_schema.* TO {account};"
            return (*seen, Visible(VIEW, False, str(error), remedy))
        if found is None or not sum(found.counts):
            remedy = "set performance_schema = ON, restart, and enable the consumer global_instrumentation"
            return (*seen, Visible(VIEW, False, "it counts nothing: no p99", remedy))
        return (*seen, Visible(VIEW, True, "p99 of all statements", p99="the server's histogram of statements"))


def _grant(name: str, there: bool, account: str) -> Visible:
    return Visible(name, there, "", "" if there else f"GRANT {name} ON *.* TO {account};")

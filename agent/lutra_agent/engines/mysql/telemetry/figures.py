"""The figures that each product counts in its own views."""

from __future__ import annotations

from lutra_agent.engines.common.answers import number
from lutra_agent.engines.common.telemetry import Visible
from lutra_agent.engines.mysql.server.connect import Connection
from lutra_agent.engines.mysql.server.grants import ALL
from lutra_agent.engines.mysql.telemetry.histogram import Histogram, from_picoseconds, from_upper_ends
from lutra_agent.errors import CollectionFailed

HISTOGRAM = "SELECT TIME, COUNT FROM information_schema.QUERY_RESPONSE_TIME"
PLUGIN = """SELECT PLUGIN_STATUS, @@GLOBAL.query_response_time_stats, @@GLOBAL.query_response_time_range_base
FROM information_schema.PLUGINS WHERE PLUGIN_NAME = 'QUERY_RESPONSE_TIME'"""
TRANSACTIONS = """SELECT SUM(COUNT) FROM information_schema.INNODB_METRICS WHERE ENABLED = 1
AND NAME IN ('trx_rw_commits', 'trx_ro_commits', 'trx_nl_ro_commits', 'trx_rollbacks') HAVING COUNT(*) = 4"""

SEES = ("PROCESS", "SLAVE MONITOR")
RANGE_BASE = 2
UNKNOWN_TABLE = "[1109]"
VIEW = "performance_schema.events_statements_histogram_global"
MYSQL_HISTOGRAM = f"SELECT BUCKET_TIMER_LOW, BUCKET_TIMER_HIGH, COUNT_BUCKET FROM {VIEW} ORDER BY BUCKET_NUMBER"  # noqa: S608
MYSQL_TRANSACTIONS = """SELECT s.COUNT_STAR - COALESCE((SELECT t.COUNT_STAR
FROM performance_schema.events_transactions_summary_by_thread_by_event_name t
WHERE t.EVENT_NAME = 'transaction' AND t.THREAD_ID = PS_CURRENT_THREAD_ID()), 0)
FROM performance_schema.events_transactions_summary_global_by_event_name s
JOIN performance_schema.setup_instruments i ON i.NAME = s.EVENT_NAME
WHERE s.EVENT_NAME = 'transaction' AND i.ENABLED = 'YES'"""
MYSQL_SEES = ("PROCESS", "REPLICATION CLIENT")


class MariadbFigures:
    """Counters in information_schema, and the histogram of a plugin."""

    def histogram(self, connection: Connection) -> Histogram | None:
        try:
            return from_upper_ends(connection.rows(HISTOGRAM))
        except CollectionFailed as error:
            if UNKNOWN_TABLE in str(error):
                return None  # the plugin is not installed
            raise

    def transactions(self, connection: Connection) -> float | None:
        try:
            found = connection.rows(TRANSACTIONS)
        except CollectionFailed:
            return None
        return number(found[0][0]) if found else None

    def visible(self, connection: Connection, held: frozenset[str], account: str) -> tuple[Visible, ...]:
        seen = []
        for name in SEES:
            there = name in held or ALL in held
            seen.append(Visible(name, there, "", "" if there else f"GRANT {name} ON *.* TO {account};"))
        return (*seen, _plugin(connection))


def _plugin(connection: Connection) -> Visible:
    name, install = "QUERY_RESPONSE_TIME", "INSTALL SONAME 'query_response_time'; "
    settings = "SET GLOBAL query_response_time_range_base = 2, GLOBAL query_response_time_stats = ON, "
    remedy = (
        f"{settings}GLOBAL query_response_time_flush = ON; "
        "-- to survive a restart, also put into an option file: query_response_time_range_base=2, "
        "query_response_time_stats=ON"
    )
    try:
        status, counts, base = connection.row(PLUGIN)
    except CollectionFailed:
        return Visible(name, False, "the plugin is not installed: no p99", install + remedy)
    if status != "ACTIVE" or not int(counts):
        return Visible(name, False, "the plugin is installed but counts nothing: no p99", remedy)
    coarse = "" if int(base) == RANGE_BASE else f", coarse: query_response_time_range_base = {base}"
    return Visible(name, True, f"p99 of all statements{coarse}", p99="the server's histogram of response times")


class MysqlFigures:
    """The counters of MySQL 8.0 and later in performance_schema."""

    def histogram(self, connection: Connection) -> Histogram | None:
        rows = connection.rows(MYSQL_HISTOGRAM)
        return from_picoseconds(rows) if rows else None

    def transactions(self, connection: Connection) -> float | None:
        try:
            found = connection.rows(MYSQL_TRANSACTIONS)
        except CollectionFailed:
            return None
        return number(found[0][0]) if found else None

    def visible(self, connection: Connection, held: frozenset[str], account: str) -> tuple[Visible, ...]:
        seen = [_grant(name, name in held, account) for name in MYSQL_SEES]
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

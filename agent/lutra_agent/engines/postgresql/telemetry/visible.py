"""The agent's view of the server, for `lutra-agent check`."""

from __future__ import annotations

from collections.abc import Iterator

from lutra_agent.engines.common.telemetry import Visible
from lutra_agent.engines.postgresql.server.connect import POOLER, Connection, grant_monitor, quoted
from lutra_agent.engines.postgresql.telemetry.ages.distribution import FEWEST
from lutra_agent.engines.postgresql.telemetry.collect import EVERY
from lutra_agent.engines.postgresql.telemetry.histogram import HistogramView
from lutra_agent.engines.postgresql.telemetry.statements import StatementsView, uncounted
from lutra_agent.errors import CollectionFailed

HISTOGRAM = Visible("pg_stat_monitor", True, "p99 from its response-time histogram", p99="pg_stat_monitor's histogram")
DETAILS = {
    "database": "errors: deadlocks and recovery conflicts; the server counts no other errors, such as a full disk",
}
LOG, TRANSACTIONS = "server log", "running transactions"
TRACK = "ALTER SYSTEM SET track_activities = on; SELECT pg_reload_conf();"
MONITOR = "SELECT current_user, pg_has_role('pg_monitor', 'MEMBER')"
SIZES = """SELECT datname, pg_database_size(oid)::float8, datname = current_database() FROM pg_database
WHERE datallowconn AND (has_database_privilege(oid, 'CONNECT') OR pg_has_role('pg_read_all_stats', 'USAGE'))
ORDER BY 2 DESC"""
SCANNED = """SELECT format('%I.%I', s.schemaname, s.relname), s.seq_tup_read, s.seq_scan FROM pg_stat_user_tables s
WHERE s.n_live_tup >= 10000 AND s.seq_scan > 0 AND NOT EXISTS
(SELECT FROM pg_index i WHERE i.indrelid = s.relid AND NOT i.indisprimary) ORDER BY s.seq_tup_read DESC LIMIT 3"""
SMALL, ELSEWHERE_BYTES = 0.5, 64 << 20
"""The share of the server's data, and the size of other databases, below which the agent's database is the important
one.
"""
LOADED = "SELECT 1 FROM pg_settings WHERE name = 'pg_stat_statements.track'"
"""Any account sees the settings of a library that the server has loaded."""
CREATE = "CREATE EXTENSION pg_stat_statements; in the agent's database"
AVAILABLE = "SELECT 1 FROM pg_available_extensions WHERE name = 'pg_stat_statements'"


def visible(
    connection: Connection, major: int, view: StatementsView | None, timings: HistogramView | None
) -> tuple[Visible, ...]:
    """One line per view, then the extensions and the account's own rights."""
    seen = (
        *((HISTOGRAM,) if timings else ()),
        _statements(connection, view),
        _monitor(connection),
        *_pooler(connection),
        *_share(connection),
        *_scanned(connection),
    )
    return (*_views(connection, major), *seen)


def log(objection: str) -> Visible:
    """The server's log, if the agent's file enables it."""
    if objection:
        return Visible(LOG, False, f"no p99 from it: {objection}", f"{LOG}: {objection}")
    return Visible(LOG, True, "p99 from the durations in it", p99="the durations in the server's log")


def transactions(watched: bool, tracked: bool) -> Visible:
    """The running transactions, unless the agent's file disables them."""
    if watched:
        where = f"in windows of {FEWEST} transactions and more; a longer agent.interval_s makes longer windows"
        p99 = f"running transactions (pg_stat_activity), an estimate with its error, {where}"
        return Visible(TRANSACTIONS, True, "p99 from their ages", p99=p99)
    if not tracked:
        return Visible(TRANSACTIONS, False, "track_activities is off: no p99 from their ages", TRACK)
    return Visible(TRANSACTIONS, False, "transactions of other accounts are hidden: no p99 from their ages")


def _views(connection: Connection, major: int) -> Iterator[Visible]:
    for collector in EVERY:
        query = collector.query(major)
        if query is None:
            first = min(collector.queries)
            yield Visible(collector.view, False, f"since PostgreSQL {first}")
            continue
        try:
            if collector.right and not connection.row(f"SELECT {collector.right}")[0]:
                yield Visible(collector.view, False, _granted(connection, collector.grant))
                continue
            connection.rows(query)
            yield Visible(collector.view, True, DETAILS.get(collector.name, ""))
        except CollectionFailed as error:
            yield Visible(collector.view, False, str(error))


def _granted(connection: Connection, grant: str) -> str:
    """What is not needed to tune, and gives some symptoms their numbers."""
    return f"readable only with a grant: {grant.format(account=quoted(str(connection.row('SELECT current_user')[0])))}"


def _statements(connection: Connection, view: StatementsView | None) -> Visible:
    if view is not None and (setting := uncounted(connection)):
        name, _, _ = setting.partition(" ")
        to_count = {"pg_stat_statements.track": "top"}.get(name, "on")
        remedy = f"ALTER SYSTEM SET {name} = '{to_count}'; SELECT pg_reload_conf();"
        return Visible("pg_stat_statements", False, f"counts nothing: {setting}: no qps and no estimated p99", remedy)
    if view is not None:
        version = ".".join(map(str, view.version))
        detail = f"{version} in schema {view.schema}: qps, and p99 as an estimate"
        return Visible("pg_stat_statements", True, detail, p99="estimated from pg_stat_statements")
    if not connection.rows(AVAILABLE):
        return Visible("pg_stat_statements", False, "not installed on this server: no qps and no estimated p99")
    if connection.rows(LOADED):
        return Visible("pg_stat_statements", False, "not created: no qps and no estimated p99", CREATE)
    remedy = f"add pg_stat_statements to shared_preload_libraries, restart, and {CREATE}"
    return Visible("pg_stat_statements", False, "not loaded: no qps and no estimated p99", remedy)


def _pooler(connection: Connection) -> Iterator[Visible]:
    if connection.pooled:
        yield Visible("the server itself", False, "no changes, and no p99 from running transactions", POOLER)


def _share(connection: Connection) -> Iterator[Visible]:
    """Where most of the data lie in other databases, whose tables the agent does not see."""
    try:
        sizes = connection.rows(SIZES)
    except CollectionFailed:
        return
    total = sum(size for _, size, _ in sizes)
    own, size = next(((name, size) for name, size, is_own in sizes if is_own), ("", total))
    if size < SMALL * total and total - size >= ELSEWHERE_BYTES:
        other, largest, _ = sizes[0]
        seen = f"those of database {own} alone, {size / total:.0%} of this server's data"
        yield Visible("tables", True, f"{seen}: database.dbname = {other!r} would show {largest / total:.0%} of it")


def _scanned(connection: Connection) -> Iterator[Visible]:
    """The large tables without an index that are read whole."""
    try:
        found = connection.rows(SCANNED)
    except CollectionFailed:
        return
    if found:
        tables = ", ".join(f"{name} ({rows:,} rows in {scans:,} scans)" for name, rows, scans in found)
        yield Visible("tables read whole", True, f"large, with no index except a primary key: {tables}")


def _monitor(connection: Connection) -> Visible:
    account, member = connection.row(MONITOR)
    if member:
        return Visible("pg_monitor", True, "other accounts' activity and all settings are readable")
    hidden = "other accounts' activity and the settings file are hidden"
    return Visible("pg_monitor", False, hidden, grant_monitor(account))

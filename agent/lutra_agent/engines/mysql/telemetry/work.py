"""Rights and duties of sessions and the planner, and the instruments that watch them: collectors in addition to the
server's own counters.
"""

from __future__ import annotations

from dataclasses import dataclass

from lutra_agent.engines.common.answers import reading, text
from lutra_agent.engines.common.telemetry import Reading
from lutra_agent.engines.mysql.server.connect import Connection
from lutra_agent.engines.mysql.telemetry.collectors.base import (
    EVERY_S,
    IS_ON,
    MARIADB,
    Collector,
    Seldom,
    Status,
    watches,
)

WATCHED = """SELECT COALESCE(SUM(ENABLED = 'YES'), 0) AS consumers,
COALESCE(SUM(ENABLED = 'YES' AND NAME LIKE 'events_waits%'), 0) AS waits,
(SELECT SUM(ENABLED = 'YES') / COUNT(*) FROM performance_schema.setup_instruments) AS share,
(SELECT SUM(ENABLED = 'YES') / COUNT(*) FROM performance_schema.setup_instruments WHERE NAME LIKE 'wait/synch/%')
AS latches FROM performance_schema.setup_consumers"""


@dataclass(frozen=True)
class Instruments:
    name: str = "instruments"
    view: str = "performance_schema.setup_instruments"

    def read(self, connection: Connection, status: Status) -> Reading | None:
        mariadb = MARIADB in connection.server_version.lower()
        if not (connection.row(IS_ON)[0] if mariadb else watches(connection)):
            return None
        names, rows = connection.named_rows(WATCHED)
        return reading(dict(zip(names, rows[0], strict=True)), frozenset(names))


INSTRUMENTS = Instruments()
"""The coverage of performance_schema, if it is on: the share of its instruments, and waits one by one."""


LOOK = """SELECT COALESCE(SUM(s.idle), 0) AS in_transaction, COALESCE(MAX(IF(s.idle, s.s, 0)), 0) AS in_transaction_s,
COALESCE(SUM(s.command = 'Sleep' AND s.s >= 60), 0) AS asleep, COALESCE(SUM(s.logs_in), 0) AS logging_in,
COALESCE(SUM(s.metadata), 0) AS change_waits, COALESCE(MAX(IF(s.metadata, s.s, 0)), 0) AS change_waits_s,
COALESCE(SUM(s.named), 0) AS named_waits, COALESCE(MAX(IF(s.named, s.s, 0)), 0) AS named_waits_s
FROM (SELECT p.{command} AS command, COALESCE(p.{seconds}, 0) AS s,
p.{command} = 'Sleep' AND p.{id} IN (SELECT TRX_MYSQL_THREAD_ID FROM information_schema.INNODB_TRX) AS idle,
p.{command} = 'Connect' AND p.{user} = 'unauthenticated user' AS logs_in,
COALESCE(p.{state}, '') LIKE 'Waiting for%metadata lock' AS metadata,
COALESCE(p.{state}, '') IN ('User lock', 'Waiting for locking service lock') AS named
FROM {view} p WHERE p.{id} <> CONNECTION_ID() AND p.{user} NOT IN ('system user', 'event_scheduler')) s"""
OF_PROCESSES = LOOK.format(
    command="COMMAND", seconds="TIME", id="ID", user="USER", state="STATE", view="information_schema.PROCESSLIST"
)
OF_THREADS = LOOK.format(
    command="PROCESSLIST_COMMAND",
    seconds="PROCESSLIST_TIME",
    id="PROCESSLIST_ID",
    user="PROCESSLIST_USER",
    state="PROCESSLIST_STATE",
    view="performance_schema.threads",
)


@dataclass(frozen=True)
class Pauses:
    name: str = "pauses"
    view: str = "list of sessions and transactions"

    def read(self, connection: Connection, status: Status) -> Reading | None:
        if MARIADB in connection.server_version.lower():
            query = OF_PROCESSES
        elif watches(connection):
            query = OF_THREADS
        else:
            return None
        names, rows = connection.named_rows(query)
        return reading(dict(zip(names, rows[0], strict=True)), frozenset(names))


PAUSES = Pauses()
"""Sessions that are idle in a transaction, and sessions that wait for them; without the agent's own session.

The seconds of a session that is asleep are those since its last statement, of any other session those since its
statement began. `asleep` are the ones of a minute or more.
"""


LONGEST_NAME, LONGEST_FORM = 40, 150
LEAST_ROWS = 100
"""Read each time. Statements that read fewer, as the agent's own do, need no index."""
READER = f"""CONCAT(IF(SCHEMA_NAME IS NULL, '', CONCAT(LEFT(SCHEMA_NAME, {LONGEST_NAME}), ': ')),
LEFT(DIGEST_TEXT, {LONGEST_FORM})) AS statement FROM performance_schema.events_statements_summary_by_digest
WHERE SUM_NO_INDEX_USED > 0 AND LAST_SEEN >= NOW() - INTERVAL {EVERY_S:.0f} SECOND AND DIGEST_TEXT NOT LIKE 'SHOW %'
AND DIGEST_TEXT NOT LIKE '%`mysql` .%' AND SUM_ROWS_EXAMINED >= {LEAST_ROWS} * COUNT_STAR
AND DIGEST_TEXT NOT LIKE '%performance\\_schema%' AND DIGEST_TEXT NOT LIKE '%information\\_schema%'
AND COALESCE(SCHEMA_NAME, '') NOT IN ('mysql', 'sys', 'performance_schema', 'information_schema')
ORDER BY SUM_ROWS_EXAMINED DESC LIMIT 1"""

SCANS = Seldom("scans", "statements without an index", READER, READER, frozenset({"statement"}))
"""The statement that has read the most rows without an index, of those of the latest minutes.

Only if performance_schema is on and keeps statements by their digest, which contains no values of clients.
"""


SWITCHES = "SELECT @@GLOBAL.optimizer_switch"
"""The parts of optimizer_switch that are off, of those that the server has on by itself.

`off` counts the methods that the planner may not use, and each of them is a separate gauge; `waived` and its own are
those that are often switched off on purpose because of single queries.
"""
METHODS = (
    "block_nested_loop",
    "condition_fanout_filter",
    "condition_pushdown_for_derived",
    "condition_pushdown_for_subquery",
    "condition_pushdown_from_having",
    "derived_condition_pushdown",
    "derived_merge",
    "derived_with_keys",
    "duplicateweedout",
    "exists_to_in",
    "extended_keys",
    "firstmatch",
    "hash_join",
    "in_to_exists",
    "index_condition_pushdown",
    "index_merge",
    "index_merge_sort_union",
    "index_merge_union",
    "join_cache_bka",
    "join_cache_hashed",
    "join_cache_incremental",
    "loosescan",
    "materialization",
    "orderby_uses_equalities",
    "outer_join_with_cache",
    "partial_match_rowid_merge",
    "partial_match_table_scan",
    "semijoin",
    "semijoin_with_cache",
    "subquery_cache",
    "table_elimination",
    "use_index_extensions",
)
ELSEWHERE_OFF = ("engine_condition_pushdown", "mrr")
"""Methods that MariaDB has off by itself."""
WAIVED = ("index_merge_intersection", "prefer_ordering_index", "rowid_filter", "skip_scan", "split_materialized")


@dataclass(frozen=True)
class Switches:
    name: str = "optimizer_switch"
    view: str = "optimizer_switch"

    def read(self, connection: Connection, status: Status) -> Reading | None:
        parts = (part.partition("=") for part in text(connection.row(SWITCHES)[0]).split(","))
        off = {name for name, _, word in parts if word == "off"}
        known = METHODS if MARIADB in connection.server_version.lower() else (*METHODS, *ELSEWHERE_OFF)
        found = {name: 1.0 for name in (*known, *WAIVED) if name in off}
        methods, waived = (float(len(off.intersection(names))) for names in (known, WAIVED))
        return Reading(gauges={"off": methods, "waived": waived, **found})


OPTIMIZER_SWITCH = Switches()


WORK: tuple[Collector, ...] = (PAUSES, OPTIMIZER_SWITCH, INSTRUMENTS, SCANS)

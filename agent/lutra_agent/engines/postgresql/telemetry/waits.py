"""Waits of sessions, their causes, and programs such as index builds and monitoring."""

from __future__ import annotations

from lutra_agent.engines.postgresql.telemetry.collectors.base import Collector

QUERY = """WITH every_lock AS MATERIALIZED (SELECT * FROM pg_locks WHERE NOT fastpath),
locks AS MATERIALIZED (SELECT * FROM every_lock WHERE NOT granted),
waiting AS MATERIALIZED (SELECT a.pid, a.wait_event, {since} AS since FROM pg_stat_activity a
WHERE a.wait_event_type = 'Lock' AND a.backend_type = 'client backend' LIMIT 100),
pairs AS MATERIALIZED (SELECT w.pid, unnest(pg_blocking_pids(w.pid)) AS blocker FROM waiting w),
roots AS (SELECT DISTINCT p.blocker, a.state, a.xact_start, a.state_change FROM pairs p LEFT JOIN pg_stat_activity a
ON a.pid = p.blocker WHERE p.blocker NOT IN (SELECT pid FROM pairs)),
idle AS MATERIALIZED (SELECT blocker, state_change FROM roots WHERE state = 'idle' AND EXISTS (SELECT FROM every_lock l
WHERE l.pid = blocker AND l.granted AND l.locktype = 'advisory')),
crowd AS (SELECT transactionid, count(*) AS n FROM locks WHERE locktype = 'transactionid'
GROUP BY transactionid ORDER BY n DESC LIMIT 1),
exclusive AS (SELECT database, relation, min(pid) AS pid FROM locks
WHERE locktype = 'relation' AND mode = 'AccessExclusiveLock' GROUP BY database, relation)
SELECT (SELECT count(*) FROM waiting) AS waiting,
(SELECT coalesce(extract(epoch FROM clock_timestamp() - min(since)), 0) FROM waiting) AS longest_wait_s,
(SELECT coalesce(extract(epoch FROM clock_timestamp() - min(since)), 0) FROM waiting WHERE wait_event <> 'advisory')
AS longest_object_wait_s,
(SELECT count(*) FROM roots) AS holders,
(SELECT count(*) FROM roots WHERE state LIKE 'idle in transaction%') AS idle_holders,
(SELECT count(*) FROM roots WHERE blocker = 0) AS prepared_holders,
(SELECT count(*) FROM idle) AS advisory_holders,
(SELECT string_agg(blocker::text, ', ' ORDER BY state_change) FROM idle) AS advisory_names,
(SELECT coalesce(extract(epoch FROM clock_timestamp() - min(state_change)), 0) FROM idle) AS advisory_idle_s,
(SELECT count(DISTINCT pid) FROM pairs JOIN idle USING (blocker)) AS behind_advisory,
(SELECT coalesce(extract(epoch FROM clock_timestamp() - min(since)), 0) FROM waiting JOIN pairs USING (pid)
JOIN idle USING (blocker)) AS behind_advisory_s,
coalesce((SELECT (n >= 3)::int FROM crowd), 0) AS crowded, (SELECT 'session ' || l.pid FROM every_lock l
JOIN crowd USING (transactionid) WHERE l.granted AND l.locktype = 'transactionid' LIMIT 1) AS crowd_holder,
(SELECT coalesce(extract(epoch FROM clock_timestamp() - min(xact_start)), 0) FROM roots) AS oldest_holder_s,
(SELECT count(*) FROM every_lock) AS entries, (SELECT count(DISTINCT relation) FROM every_lock) AS relations,
(SELECT count(*) FROM exclusive) AS exclusive,
(SELECT count(*) FROM locks l JOIN exclusive e USING (database, relation) WHERE l.pid <> e.pid) AS behind_exclusive"""
WAITSTART = "coalesce((SELECT min(l.waitstart) FROM locks l WHERE l.pid = a.pid), a.query_start)"
"""The server records the time a moment after the wait began."""

BLOCKING = Collector(
    "blocking",
    "pg_blocking_pids",
    {12: QUERY.format(since="a.query_start"), 14: QUERY.format(since=WAITSTART)},
    gauges=None,
    texts=frozenset({"advisory_names", "crowd_holder"}),
)
"""Blockers: the number and duration of waits for a lock, and the number of sessions that block without waiting.

`longest_object_wait_s` leaves out advisory locks, which applications wait for by their own design. `advisory_holders`
are roots that idle without a transaction and hold an advisory lock of their session, and `behind_advisory` those that
wait for them. `crowded` is 1 where three sessions and more wait for the end of one transaction, which `crowd_holder`
names. `exclusive` counts statements that wait for a table as a whole, as DDL does, and `behind_exclusive` those that
wait behind one of them. A prepared transaction blocks as process 0. No more than 100 waiting sessions are looked at.
`entries` are the locks that the shared table has, `relations` the tables and indexes among what they are on.
"""


BUILDS = Collector(
    "builds",
    "pg_stat_progress_create_index",
    {
        12: """SELECT (SELECT count(*) FROM pg_stat_progress_create_index)
+ (SELECT count(*) FROM pg_stat_progress_cluster) AS running""",
    },
    gauges=None,
)
"""Work other than queries that writes temporary files, and look-ups of subtransactions."""

SUBTRANSACTIONS = Collector(
    "subtransactions",
    "pg_stat_slru of subtransactions",
    {
        13: """SELECT sum(blks_hit + blks_read) AS looked_up, max(stats_reset) AS epoch
FROM pg_stat_slru WHERE name ILIKE 'subtrans%'""",
    },
)


LATCHES = {
    "latch_wal": "'%wal%insert%', '%walwrite%'",
    "latch_buffer_content": "'%buffer%content%'",
    "latch_buffer_mapping": "'%buffer%mapping%'",
    "latch_lock_manager": "'%lock%manager%'",
    "latch_snapshot": "'%procarray%'",
    "latch_subtransactions": "'%subtrans%'",
    "latch_multixact": "'%multixact%'",
}
UPKEEP = "^[[:space:]]*(vacuum|analyze|create|reindex|cluster|copy|refresh|alter)"
"""Statements that take long on a large table, and on whose end no client waits."""
BY_LATCH = ",\n".join(
    f"count(*) FILTER (WHERE wait_event_type = 'LWLock' AND wait_event ILIKE ANY (ARRAY[{names}])) AS {column}"
    for column, names in LATCHES.items()
)

SESSIONS = Collector(
    "sessions",
    "pg_stat_activity by what is waited for",
    {
        12: f"""SELECT count(*) FILTER (WHERE state LIKE 'idle in transaction%'
AND clock_timestamp() - state_change > interval '1 minute') AS idle_in_transaction,
coalesce(extract(epoch FROM max(clock_timestamp() - state_change)
FILTER (WHERE state LIKE 'idle in transaction%')), 0) AS idle_in_transaction_s,
count(*) FILTER (WHERE wait_event_type = 'Lock' AND wait_event IN ('tuple', 'transactionid')) AS waiting_row,
count(*) FILTER (WHERE wait_event_type = 'Lock' AND wait_event = 'tuple') AS queueing_row,
count(*) FILTER (WHERE wait_event_type = 'Lock' AND wait_event = 'relation') AS waiting_table,
count(*) FILTER (WHERE wait_event_type = 'Lock' AND wait_event = 'advisory') AS waiting_advisory,
count(*) FILTER (WHERE wait_event = 'CommitDelay') AS waiting_commit_delay,
count(*) FILTER (WHERE state = 'active' AND wait_event_type = 'Extension') AS waiting_extension,
coalesce(extract(epoch FROM max(clock_timestamp() - query_start) FILTER (WHERE state = 'active'
AND query !~* '{UPKEEP}')), 0) AS statement_s,
{BY_LATCH}
FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()""",  # noqa: S608
    },
    gauges=None,
)
"""pg_stat_activity: how long sessions idle in a transaction, and what the others wait for: a row, a latch, an
extension that asks another server. `statement_s` is the age of the oldest statement that runs, upkeep aside.

A latch is a lightweight lock; its names changed with version 13, and are recognised by the part that both spellings
share.
"""


LOADED = "concat_ws(',', current_setting('shared_preload_libraries'), current_setting('session_preload_libraries'))"

SETTINGS = ", ".join(
    f"max((s).setting) FILTER (WHERE (s).name = '{setting}') AS {name}"
    for name, setting in {
        "duration": "auto_explain.log_min_duration",
        "analyzed": "auto_explain.log_analyze",
        "rate": "auto_explain.sample_rate",
        "kept": "pg_stat_statements.max",
        "track": "pg_stat_statements.track",
        "audit": "pgaudit.log",
    }.items()
)
"""One by one: as a table, pg_settings would be kept in a temporary file where work_mem is small."""

WATCHING = Collector(
    "watching",
    "pg_settings of plug-ins",
    {
        12: f"""SELECT (loaded LIKE '%pg_stat_statements%')::int AS statements_loaded,
(coalesce(duration::float8, -1) >= 0)::int AS plans, coalesce(nullif(duration::float8, -1), 0) AS plans_ms,
coalesce((analyzed = 'on')::int, 0) AS plans_analyze, coalesce(rate::float8, 1) AS plans_share,
coalesce(kept::float8, 0) AS statements_kept, coalesce((track = 'all')::int, 0) AS statements_nested,
coalesce((audit ~* '(all|read|write)')::int, 0) AS audited,
(current_setting('log_destination') = '')::int AS log_nowhere
FROM (SELECT {LOADED} AS loaded) l, (SELECT {SETTINGS} FROM (SELECT pg_show_all_settings() AS s OFFSET 0) each) k""",  # noqa: S608
    },
    gauges=None,
    right="pg_has_role('pg_read_all_settings', 'USAGE')",
    grant="GRANT pg_monitor TO {account};",
)
"""The cost of monitoring and its gaps: plug-ins that are loaded, and the server's own log files."""

SERVER_LOG = Collector(
    "server_log",
    "pg_ls_logdir",
    {
        12: """SELECT coalesce(sum(size), 0) AS bytes, count(*) AS files, coalesce(max(size), 0) AS largest_bytes,
coalesce(extract(epoch FROM clock_timestamp() - min(modification)), 0) AS oldest_s FROM pg_ls_logdir()
WHERE current_setting('logging_collector') = 'on'""",
    },
    gauges=None,
    right="has_function_privilege('pg_ls_logdir()', 'EXECUTE')",
    grant="GRANT pg_monitor TO {account};",
    every_s=60.0,
)


WAITS = (BLOCKING, BUILDS, SUBTRANSACTIONS, SESSIONS, SERVER_LOG, WATCHING)

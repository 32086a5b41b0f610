"""Blockers: the number and duration of waits for a lock, and the number of sessions that block without waiting.

`longest_object_wait_s` leaves out advisory locks, which applications wait for by their own design. `advisory_holders`
are roots that idle without a transaction and hold an advisory lock of their session, and `behind_advisory` those that
wait for them. `crowded` is 1 where three sessions and more wait for the end of one transaction, which `crowd_holder`
names. `exclusive` counts statements that wait for a table as a whole, as DDL does, and `behind_exclusive` those that
wait behind one of them. A prepared transaction blocks as process 0. No more than 100 waiting sessions are looked at.
`entries` are the locks that the shared table has, `relations` the tables and indexes among what they are on.
"""

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

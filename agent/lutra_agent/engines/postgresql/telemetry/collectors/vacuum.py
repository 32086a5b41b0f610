"""How often an autovacuum worker went through its table's indexes before it was through the table; the oldest xid."""

from __future__ import annotations

from lutra_agent.engines.postgresql.telemetry.collectors.base import Collector

VACUUM = Collector(
    "vacuum",
    "pg_stat_progress_vacuum",
    {
        12: """SELECT (SELECT coalesce(max(p.index_vacuum_count), 0) FROM pg_stat_progress_vacuum p
JOIN pg_stat_activity a USING (pid) WHERE a.backend_type = 'autovacuum worker' AND p.phase = 'scanning heap')
AS index_passes, (SELECT max(age(datfrozenxid)) FROM pg_database) AS oldest_xid_age""",
    },
    gauges=frozenset({"index_passes", "oldest_xid_age"}),
)

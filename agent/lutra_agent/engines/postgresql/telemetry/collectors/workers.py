"""pg_stat_activity: how many autovacuum workers run, how many of them pause, and how many parallel workers run."""

from __future__ import annotations

from lutra_agent.engines.postgresql.telemetry.collectors.base import Collector

WORKERS = Collector(
    "workers",
    "pg_stat_activity of workers",
    {
        12: """SELECT count(*) FILTER (WHERE backend_type = 'autovacuum worker') AS vacuuming,
count(*) FILTER (WHERE backend_type = 'autovacuum worker' AND wait_event = 'VacuumDelay') AS vacuum_delayed,
count(*) FILTER (WHERE backend_type = 'parallel worker') AS parallel
FROM pg_stat_activity WHERE backend_type IN ('autovacuum worker', 'parallel worker')""",
    },
    gauges=frozenset({"vacuuming", "vacuum_delayed", "parallel"}),
)

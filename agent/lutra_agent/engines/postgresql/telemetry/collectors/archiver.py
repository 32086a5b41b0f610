"""pg_stat_archiver: archived segments, failures to archive, and for how long all has failed."""

from __future__ import annotations

from lutra_agent.engines.postgresql.telemetry.collectors.base import Collector

ARCHIVER = Collector(
    "archiver",
    "pg_stat_archiver",
    {
        12: """SELECT archived_count AS archived, failed_count AS failed,
CASE WHEN last_failed_time > coalesce(last_archived_time, '-infinity')
THEN extract(epoch FROM clock_timestamp() - coalesce(last_archived_time, stats_reset)) ELSE 0 END AS failing_s,
stats_reset AS epoch FROM pg_stat_archiver""",
    },
    gauges=frozenset({"failing_s"}),
)

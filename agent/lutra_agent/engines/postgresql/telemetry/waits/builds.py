"""Work other than queries that writes temporary files, and look-ups of subtransactions."""

from __future__ import annotations

from lutra_agent.engines.postgresql.telemetry.collectors.base import Collector

BUILDS = Collector(
    "builds",
    "pg_stat_progress_create_index",
    {
        12: """SELECT (SELECT count(*) FROM pg_stat_progress_create_index)
+ (SELECT count(*) FROM pg_stat_progress_cluster) AS running""",
    },
    gauges=None,
)

SUBTRANSACTIONS = Collector(
    "subtransactions",
    "pg_stat_slru of subtransactions",
    {
        13: """SELECT sum(blks_hit + blks_read) AS looked_up, max(stats_reset) AS epoch
FROM pg_stat_slru WHERE name ILIKE 'subtrans%'""",
    },
)

"""pg_stat_slru (13+): the small caches for transaction states and their kin."""

from __future__ import annotations

from lutra_agent.engines.postgresql.telemetry.collectors.base import Collector

SLRU = Collector(
    "slru",
    "pg_stat_slru",
    {
        13: """SELECT sum(blks_zeroed) AS blks_zeroed, sum(blks_hit) AS blks_hit, sum(blks_read) AS blks_read,
sum(blks_written) AS blks_written, sum(flushes) AS flushes, sum(truncates) AS truncates, max(stats_reset) AS epoch
FROM pg_stat_slru""",
    },
)

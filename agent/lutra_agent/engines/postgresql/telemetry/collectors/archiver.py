"""pg_stat_archiver: archived segments, and failures to archive."""

from __future__ import annotations

from lutra_agent.engines.postgresql.telemetry.collectors.base import Collector

ARCHIVER = Collector(
    "archiver",
    "pg_stat_archiver",
    {12: "SELECT archived_count AS archived, failed_count AS failed, stats_reset AS epoch FROM pg_stat_archiver"},
)

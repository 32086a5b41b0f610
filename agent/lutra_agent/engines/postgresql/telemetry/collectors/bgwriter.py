"""pg_stat_bgwriter: what the background writer cleaned."""

from __future__ import annotations

from lutra_agent.engines.postgresql.telemetry.collectors.base import Collector

COLUMNS = "buffers_clean, maxwritten_clean, buffers_alloc"

BGWRITER = Collector(
    "bgwriter",
    "pg_stat_bgwriter",
    {
        12: f"SELECT {COLUMNS}, buffers_backend, buffers_backend_fsync, stats_reset AS epoch FROM pg_stat_bgwriter",  # noqa: S608
        17: f"SELECT {COLUMNS}, stats_reset AS epoch FROM pg_stat_bgwriter",  # noqa: S608
    },
)

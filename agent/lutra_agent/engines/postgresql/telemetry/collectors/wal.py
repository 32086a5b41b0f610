"""pg_stat_wal since PostgreSQL 14; before it, the write-ahead log's position is all there is."""

from __future__ import annotations

from lutra_agent.engines.postgresql.telemetry.collectors.base import Collector

COLUMNS = "wal_records AS records, wal_fpi AS full_page_images, wal_bytes AS bytes, wal_buffers_full AS buffers_full"

WAL = Collector(
    "wal",
    "pg_stat_wal",
    {
        12: """SELECT CASE WHEN pg_is_in_recovery() THEN NULL
ELSE pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0') END AS bytes""",
        14: f"""SELECT {COLUMNS}, wal_write AS writes, wal_sync AS syncs, wal_write_time AS write_ms,
wal_sync_time AS sync_ms, stats_reset AS epoch FROM pg_stat_wal""",  # noqa: S608
        18: f"SELECT {COLUMNS}, stats_reset AS epoch FROM pg_stat_wal",  # noqa: S608
    },
)

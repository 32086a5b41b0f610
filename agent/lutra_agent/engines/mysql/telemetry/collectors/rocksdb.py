"""MyRocks, where that engine is loaded: write stalls, compaction, block cache."""

from __future__ import annotations

from lutra_agent.engines.mysql.telemetry.collectors.base import FromStatus

ROCKSDB = FromStatus(
    "rocksdb",
    {
        "stalls": "Rocksdb_stall_total_stops",
        "slowdowns": "Rocksdb_stall_total_slowdowns",
        "stall_us": "Rocksdb_stall_micros",
        "block_cache_hits": "Rocksdb_block_cache_hit",
        "block_cache_misses": "Rocksdb_block_cache_miss",
        "bytes_written": "Rocksdb_bytes_written",
        "bytes_read": "Rocksdb_bytes_read",
        "compaction_read_bytes": "Rocksdb_compact_read_bytes",
        "compaction_write_bytes": "Rocksdb_compact_write_bytes",
        "flush_write_bytes": "Rocksdb_flush_write_bytes",
        "wal_synced": "Rocksdb_wal_synced",
        "wal_bytes": "Rocksdb_wal_bytes",
    },
)

"""pg_stat_database, summed over the databases. Checksums fail where pages have one."""

from __future__ import annotations

from lutra_agent.engines.postgresql.telemetry.collectors.base import Collector

SUMS = """sum(xact_commit) AS xact_commit, sum(xact_rollback) AS xact_rollback, sum(blks_read) AS blks_read,
sum(blks_hit) AS blks_hit, sum(tup_returned) AS tup_returned, sum(tup_fetched) AS tup_fetched,
sum(tup_inserted) AS tup_inserted, sum(tup_updated) AS tup_updated, sum(tup_deleted) AS tup_deleted,
sum(conflicts) AS conflicts, sum(temp_files) AS temp_files, sum(temp_bytes) AS temp_bytes,
sum(deadlocks) AS deadlocks, sum(blk_read_time) AS blk_read_ms, sum(blk_write_time) AS blk_write_ms,
sum(numbackends) AS numbackends, coalesce(sum(checksum_failures), 0) AS checksum_failures,
coalesce(extract(epoch FROM clock_timestamp() - max(checksum_last_failure)), 0) AS checksum_failure_s,
sum(blks_read + blks_hit) FILTER (WHERE datname = current_database()) AS own_blocks"""

SESSIONS = """, sum(active_time) AS active_ms, sum(idle_in_transaction_time) AS idle_in_transaction_ms,
sum(sessions) AS sessions"""

PARALLEL = """, sum(parallel_workers_to_launch) AS parallel_workers_to_launch,
sum(parallel_workers_launched) AS parallel_workers_launched"""

EPOCH = "coalesce(max(stats_reset)::text, '') || '/' || count(*) AS epoch FROM pg_stat_database"
"""The number of databases is part of it: a dropped database takes its counters with it."""

DATABASE = Collector(
    "database",
    "pg_stat_database",
    {
        12: f"SELECT {SUMS}, {EPOCH}",
        14: f"SELECT {SUMS}{SESSIONS}, {EPOCH}",
        18: f"SELECT {SUMS}{SESSIONS}{PARALLEL}, {EPOCH}",
    },
    gauges=frozenset({"numbackends", "checksum_failures", "checksum_failure_s"}),
)

"""information_schema.INNODB_METRICS: the counters that are switched on and that the status variables do not have."""

from __future__ import annotations

from lutra_agent.engines.mysql.telemetry.collectors.base import FromRows

GAUGES = (
    "trx_rseg_history_len",
    "lock_threads_waiting",
    "log_lsn_checkpoint_age",
    "log_max_modified_age_async",
    "log_max_modified_age_sync",
    "buffer_pool_bytes_dirty",
)
COUNTERS = (
    "lock_deadlocks",
    "lock_timeouts",
    "trx_rw_commits",
    "trx_ro_commits",
    "trx_nl_ro_commits",
    "trx_rollbacks",
    "innodb_activity_count",
    "buffer_flush_background",
    "buffer_flush_adaptive_total_pages",
    "buffer_flush_sync_total_pages",
    "buffer_LRU_batch_flush_total_pages",
    "purge_del_mark_records",
    "ibuf_merges",
)

NAMES = ", ".join(f"'{n}'" for n in (*COUNTERS, *GAUGES))

METRICS = FromRows(
    "innodb_metrics",
    "information_schema.INNODB_METRICS",
    f"SELECT NAME, COUNT FROM information_schema.INNODB_METRICS WHERE TIME_ENABLED IS NOT NULL AND NAME IN ({NAMES})",  # noqa: S608
    frozenset(COUNTERS),
    frozenset(GAUGES),
)

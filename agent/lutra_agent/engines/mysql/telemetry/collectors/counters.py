"""The counters and gauges of every sample of MySQL and MariaDB: a collector for each subject."""

from __future__ import annotations

from dataclasses import dataclass

from lutra_agent.engines.common.answers import reading
from lutra_agent.engines.common.telemetry import Reading
from lutra_agent.engines.mysql.server.connect import Connection
from lutra_agent.engines.mysql.server.replica import channels
from lutra_agent.engines.mysql.telemetry.collectors.base import (
    IS_ON,
    Collector,
    FromQuery,
    FromRows,
    FromStatus,
    Seldom,
    Status,
)

# The binary log's caches and group commits.

BINLOG = FromStatus(
    "binlog",
    {
        "cache_uses": "Binlog_cache_use",
        "cache_disk_uses": "Binlog_cache_disk_use",
        "written_bytes": "Binlog_bytes_written",
        "commits": "Binlog_commits",
        "group_commits": "Binlog_group_commits",
    },
)


# InnoDB's buffer pool: what is in it, what had to be read, what had to wait.

BUFFER_POOL = FromStatus(
    "buffer_pool",
    {
        "read_requests": "Innodb_buffer_pool_read_requests",
        "reads": "Innodb_buffer_pool_reads",
        "write_requests": "Innodb_buffer_pool_write_requests",
        "wait_free": "Innodb_buffer_pool_wait_free",
        "pages_flushed": "Innodb_buffer_pool_pages_flushed",
        "read_ahead": "Innodb_buffer_pool_read_ahead",
        "read_ahead_evicted": "Innodb_buffer_pool_read_ahead_evicted",
        "pages_created": "Innodb_pages_created",
        "pages_read": "Innodb_pages_read",
        "pages_written": "Innodb_pages_written",
    },
    {
        "pages_total": "Innodb_buffer_pool_pages_total",
        "pages_data": "Innodb_buffer_pool_pages_data",
        "pages_dirty": "Innodb_buffer_pool_pages_dirty",
        "pages_free": "Innodb_buffer_pool_pages_free",
        "pages_misc": "Innodb_buffer_pool_pages_misc",
        "page_bytes": "Innodb_page_size",
    },
)


# Table and statement caches, and that of MyISAM's indexes: hits, misses, overflows.

CACHES = FromStatus(
    "caches",
    {
        "table_hits": "Table_open_cache_hits",
        "table_misses": "Table_open_cache_misses",
        "table_overflows": "Table_open_cache_overflows",
        "opened_tables": "Opened_tables",
        "opened_definitions": "Opened_table_definitions",
        "query_cache_hits": "Qcache_hits",
        "query_cache_inserts": "Qcache_inserts",
        "query_cache_prunes": "Qcache_lowmem_prunes",
        "adaptive_hash_searches": "Innodb_adaptive_hash_hash_searches",
        "tree_searches": "Innodb_adaptive_hash_non_hash_searches",
        "change_buffer_merges": "Innodb_ibuf_merges",
        "key_read_requests": "Key_read_requests",
    },
    {
        "open_tables": "Open_tables",
        "open_definitions": "Open_table_definitions",
        "prepared_statements": "Prepared_stmt_count",
        "key_blocks_used": "Key_blocks_used",
    },
)


# Statements that the server could not execute, the agent's own left out, and logins that it denied. Only where it
# counts errors by number.

COUNTS_NONE = "mariadb"
"""A part of the version of servers without such a view."""
DISK = (3, 20, 1016, 1021, 1023, 1026, 1030, 1114, 1194, 1195)
"""Files that cannot be opened, read or written, full disks and tables."""
MEMORY = (5, 1037, 1038, 1041, 1135, 1436, 1713, 3170)
LIMITS = (1153, 1197, 1206, 1461, 1637)
"""Settings that bound a packet, a transaction's binary log, locks, prepared statements and transactions at work."""
BROKEN_OFF = (1180, 1181, 1205, 1213, 1317, 3024, 3101)
"""Failed commits, lock timeouts, deadlocks, time limits, and transactions that a group refused."""
REFUSED_WRITES = (1290, 1598, 1836)
DENIED = "1045, 1698"
"""A wrong account or password."""
ERRORS = ", ".join(map(str, (*DISK, *MEMORY, *LIMITS, *BROKEN_OFF, *REFUSED_WRITES)))
FAILED = f"""SELECT COALESCE(SUM(SUM_ERROR_RAISED), 0) - COALESCE((SELECT SUM(SUM_ERROR_RAISED)
FROM performance_schema.events_errors_summary_by_thread_by_error WHERE ERROR_NUMBER IN ({ERRORS}) AND THREAD_ID =
(SELECT THREAD_ID FROM performance_schema.threads WHERE PROCESSLIST_ID = CONNECTION_ID())), 0)
AS statements, (SELECT COALESCE(SUM(SUM_ERROR_RAISED), 0)
FROM performance_schema.events_errors_summary_global_by_error WHERE ERROR_NUMBER IN ({DENIED})) AS denied
FROM performance_schema.events_errors_summary_global_by_error WHERE ERROR_NUMBER IN ({ERRORS})"""  # noqa: S608
"""Errors of all other numbers, such as a duplicate key or an unknown table, are due to the statement itself."""


@dataclass(frozen=True)
class Failures:
    name: str = "failures"
    view: str = "performance_schema.events_errors_summary_global_by_error"

    def read(self, connection: Connection, status: Status) -> Reading | None:
        if COUNTS_NONE in connection.server_version.lower() or not connection.row(IS_ON)[0]:
            return None
        names, rows = connection.named_rows(FAILED)
        return reading(dict(zip(names, rows[0], strict=True)), frozenset())


FAILURES = Failures()


# InnoDB's reads, writes and flushes of its files, and how large these are.

SIZES = """COALESCE(SUM(IF(NAME LIKE 'innodb\\_temporary%' OR NAME LIKE 'innodb\\_undo%', 0, FILE_SIZE)), 0) AS bytes,
COALESCE(SUM(IF(NAME LIKE 'innodb\\_undo%', FILE_SIZE, 0)), 0) AS undo_bytes,
COALESCE(SUM(IF(NAME LIKE 'innodb\\_temporary%', FILE_SIZE, 0)), 0) AS temporary_bytes
FROM information_schema"""

FILES = FromStatus(
    "files",
    {
        "reads": "Innodb_data_reads",
        "read_bytes": "Innodb_data_read",
        "writes": "Innodb_data_writes",
        "written_bytes": "Innodb_data_written",
        "fsyncs": "Innodb_data_fsyncs",
        "doublewrites": "Innodb_dblwr_writes",
        "doublewrite_pages": "Innodb_dblwr_pages_written",
    },
    {
        "pending_reads": "Innodb_data_pending_reads",
        "pending_writes": "Innodb_data_pending_writes",
        "pending_fsyncs": "Innodb_data_pending_fsyncs",
        "open_files": "Open_files",
    },
)
DATA = Seldom(
    "data",
    "the size of InnoDB's tablespaces",
    f"{SIZES}.INNODB_SYS_TABLESPACES",
    f"{SIZES}.INNODB_TABLESPACES",
)
"""All tables of InnoDB, by the size of their files; undo logs and temporary tables separately."""


# information_schema.INNODB_METRICS: the counters that are switched on and that the status variables do not have.

METRIC_GAUGES = (
    "trx_rseg_history_len",
    "lock_threads_waiting",
    "log_lsn_checkpoint_age",
    "log_max_modified_age_async",
    "log_max_modified_age_sync",
    "buffer_pool_bytes_dirty",
)
METRIC_COUNTERS = (
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

COUNTED = ", ".join(f"'{n}'" for n in (*METRIC_COUNTERS, *METRIC_GAUGES))

METRICS = FromRows(
    "innodb_metrics",
    "information_schema.INNODB_METRICS",
    f"SELECT NAME, COUNT FROM information_schema.INNODB_METRICS WHERE TIME_ENABLED IS NOT NULL AND NAME IN ({COUNTED})",  # noqa: S608
    frozenset(METRIC_COUNTERS),
    frozenset(METRIC_GAUGES),
)


# InnoDB's redo log: how much is written, how far the checkpoint is behind, who waits.

REDO = FromStatus(
    "redo",
    {
        "waits": "Innodb_log_waits",
        "write_requests": "Innodb_log_write_requests",
        "writes": "Innodb_log_writes",
        "written_bytes": "Innodb_os_log_written",
        "fsyncs": "Innodb_os_log_fsyncs",
    },
    {
        "checkpoint_age_bytes": "Innodb_checkpoint_age",
        "checkpoint_age_most_bytes": "Innodb_checkpoint_max_age",
        "logical_bytes": "Innodb_redo_log_logical_size",
        "physical_bytes": "Innodb_redo_log_physical_size",
        "capacity_bytes": "Innodb_redo_log_capacity_resized",
        "history_list": "Innodb_history_list_length",
    },
)


# How far this server is behind its source, where it has one. A lag that the server does not know is absent here.


@dataclass(frozen=True)
class Replication:
    name: str = "replication"
    view: str = "replication status"

    def read(self, connection: Connection, status: Status) -> Reading | None:
        found = channels(connection)
        lags = [float(c.lag_s) for c in found if c.lag_s is not None]
        gauges = {
            "channels": float(len(found)),
            "stopped": float(sum(not c.running for c in found)),
            "not_receiving": float(sum(not c.receives for c in found)),
            "not_applying": float(sum(not c.applies for c in found)),
            "io_error": max((c.io_error for c in found), default=0.0),
            "sql_error": max((c.sql_error for c in found), default=0.0),
            "delay_s": max((c.delay_s for c in found), default=0.0),
            "by_place": float(sum(not c.by_gtid for c in found)),
            "filtered": float(sum(c.filtered for c in found)),
        }
        return Reading(gauges={**gauges, **({"lag_s": max(lags)} if lags else {})})


REPLICATION = Replication()


# MyRocks, where that engine is loaded: write stalls, compaction, block cache.

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


# Waits for row locks, and the rows themselves.

ROW_LOCKS = FromStatus(
    "row_locks",
    {
        "waits": "Innodb_row_lock_waits",
        "wait_ms": "Innodb_row_lock_time",
        "deadlocks": "Innodb_deadlocks",
        "rows_read": "Innodb_rows_read",
        "rows_inserted": "Innodb_rows_inserted",
        "rows_updated": "Innodb_rows_updated",
        "rows_deleted": "Innodb_rows_deleted",
        "table_waits": "Table_locks_waited",
    },
    {"waiting": "Innodb_row_lock_current_waits"},
)


# The clients' requests by kind, and the resulting work of the storage engines.

STATEMENTS = FromStatus(
    "statements",
    {
        "questions": "Questions",
        "queries": "Queries",
        "slow": "Slow_queries",
        "select": "Com_select",
        "insert": "Com_insert",
        "update": "Com_update",
        "delete": "Com_delete",
        "replace": "Com_replace",
        "begin": "Com_begin",
        "commit": "Com_commit",
        "rollback": "Com_rollback",
        "over_statement_time": "Max_statement_time_exceeded",
        "over_execution_time": "Max_execution_time_exceeded",
        "prepared": "Com_stmt_prepare",
        "executed": "Com_stmt_execute",
        "handler_commit": "Handler_commit",
        "handler_rollback": "Handler_rollback",
        "handler_read_first": "Handler_read_first",
        "handler_read_key": "Handler_read_key",
        "handler_read_next": "Handler_read_next",
        "handler_read_rnd": "Handler_read_rnd",
        "handler_read_rnd_next": "Handler_read_rnd_next",
        "handler_write": "Handler_write",
        "handler_update": "Handler_update",
        "handler_delete": "Handler_delete",
        "full_join": "Select_full_join",
        "scan": "Select_scan",
        "sort_merge_passes": "Sort_merge_passes",
        "sort_rows": "Sort_rows",
        "sort_range": "Sort_range",
        "sort_scan": "Sort_scan",
    },
)


# Temporary tables and files, in memory and on disk.

TEMPORARY = FromStatus(
    "temporary",
    {
        "tables": "Created_tmp_tables",
        "disk_tables": "Created_tmp_disk_tables",
        "files": "Created_tmp_files",
        "rows": "Handler_tmp_write",
        "count_hit_limit": "TempTable_count_hit_max_ram",
    },
)


# Connections and the threads that serve them.

THREADS = FromStatus(
    "threads",
    {
        "connections": "Connections",
        "created": "Threads_created",
        "aborted_clients": "Aborted_clients",
        "aborted_connects": "Aborted_connects",
        "aborted_before_login": "Aborted_connects_preauth",
        "access_denied": "Access_denied_errors",
        "refused": "Connection_errors_max_connections",
        "refused_internal": "Connection_errors_internal",
        "refused_accept": "Connection_errors_accept",
        "refused_select": "Connection_errors_select",
        "slow_launch": "Slow_launch_threads",
        "bytes_received": "Bytes_received",
        "bytes_sent": "Bytes_sent",
    },
    {
        "connected": "Threads_connected",
        "running": "Threads_running",
        "cached": "Threads_cached",
        "most_used": "Max_used_connections",
        "pool_threads": "Threadpool_threads",
        "pool_idle": "Threadpool_idle_threads",
    },
)


# Transactions that are open just now.

TRANSACTIONS = FromQuery(
    "open_transactions",
    "information_schema.INNODB_TRX",
    """SELECT COUNT(*) AS open, COALESCE(SUM(TRX_STATE = 'LOCK WAIT'), 0) AS waiting,
COALESCE(MAX(TIMESTAMPDIFF(SECOND, TRX_STARTED, NOW())), 0) AS oldest_s,
COALESCE(MAX(TIMESTAMPDIFF(SECOND, TRX_WAIT_STARTED, NOW())), 0) AS longest_wait_s
FROM information_schema.INNODB_TRX""",
    frozenset({"open", "waiting", "oldest_s", "longest_wait_s"}),
)


COLLECTORS: tuple[Collector, ...] = (
    STATEMENTS,
    FAILURES,
    THREADS,
    BUFFER_POOL,
    FILES,
    DATA,
    REDO,
    ROW_LOCKS,
    TEMPORARY,
    CACHES,
    BINLOG,
    METRICS,
    TRANSACTIONS,
    REPLICATION,
    ROCKSDB,
)

"""Cases of MySQL and MariaDB."""

from __future__ import annotations

from tests.support.reported.postgresql import GB
from tests.unit.symptoms.case import MB, Case, maria, my

REDO = {"redo.written_bytes": 3600 * 2.0 * MB, "redo.checkpoint_age_bytes": 75.0 * MB}
REDO_MYSQL = {"redo.written_bytes": 3600 * 2.0 * MB, "redo.logical_bytes": 75.0 * MB}
POOL = {
    "buffer_pool.read_requests": 1e8,
    "buffer_pool.reads": 5e6,
    "buffer_pool.pages_total": 8192,
    "buffer_pool.pages_free": 100,
}
FLUSHING = {
    "buffer_pool.pages_flushed": 3600 * 1990.0,
    "buffer_pool.pages_total": 8192,
    "buffer_pool.pages_dirty": 5000,
    "host.disk_busy_ms": 3600 * 300.0,
}
FLUSHING_MARIADB = {**FLUSHING, "redo.checkpoint_age_bytes": 1e6}
FLUSHING_MYSQL = {**FLUSHING, "buffer_pool.pages_flushed": 3600 * 19_900.0, "redo.logical_bytes": 1e6}
MYSQLDS = (
    Case(
        "redo_full",
        maria(),
        REDO,
        {"redo.checkpoint_age_bytes": 57.0 * MB},
        [{"redo.written_bytes": 3600 * 0.2 * MB}],
        {"innodb_log_file_size": 7168 * MB},
    ),
    Case(
        "redo_full",
        my(innodb_redo_log_capacity="100M"),
        REDO_MYSQL,
        {"redo.logical_bytes": 59.0 * MB},
        [{"redo.written_bytes": 3600 * 0.2 * MB}],
        {"innodb_redo_log_capacity": 7168 * MB},
    ),
    Case(
        "redo_turns_fast",
        maria(),
        {**REDO, "redo.written_bytes": 2000.0 * MB},
        {"redo.written_bytes": 570.0 * MB},
        [{"redo.written_bytes": 2000.0 * MB, "redo.checkpoint_age_bytes": 20.0 * MB}],
        {"innodb_log_file_size": 1984 * MB},
    ),
    Case(
        "redo_turns_fast",
        my(innodb_redo_log_capacity="100M"),
        {**REDO_MYSQL, "redo.written_bytes": 2000.0 * MB},
        {"redo.written_bytes": 590.0 * MB},
        [{"redo.written_bytes": 2000.0 * MB, "redo.logical_bytes": 20.0 * MB}],
        {"innodb_redo_log_capacity": 1984 * MB},
    ),
    Case(
        "redo_suffices",
        maria(innodb_log_file_size="1G"),
        REDO,
        {"redo.checkpoint_age_bytes": 0.31 * GB},
        [{"redo.written_bytes": 15.0 * MB}],
    ),
    Case(
        "redo_suffices",
        my(innodb_redo_log_capacity="1G"),
        REDO_MYSQL,
        {"redo.logical_bytes": 0.31 * GB},
        [{"redo.written_bytes": 15.0 * MB}],
    ),
    *(
        case
        for server in (maria, my)
        for case in (
            Case(
                "log_buffer_full",
                server(innodb_log_buffer_size="8M", memory_gb=16),
                {"redo.waits": 4000},
                {"redo.waits": 70},
                [],
                {"innodb_log_buffer_size": 32 * MB},
            ),
            Case(
                "pool_small",
                server(innodb_buffer_pool_size="128M"),
                POOL,
                {"buffer_pool.read_requests": 6e8},
                [{"buffer_pool.pages_free": 4000}, {"buffer_pool.reads": 1.7e5, "buffer_pool.read_requests": 2e6}],
            ),
            Case(
                "pool_without_free_pages", server(), {"buffer_pool.wait_free": 4000}, {"buffer_pool.wait_free": 350}, []
            ),
            Case(
                "pool_suffices",
                server(),
                {"buffer_pool.read_requests": 1e8, "buffer_pool.reads": 100},
                {"buffer_pool.reads": 1.1e5},
                [{"buffer_pool.read_requests": 9e4}],
            ),
            Case(
                "pool_roomy",
                server(innodb_buffer_pool_size="4G"),
                {
                    "server.up_s": 90000,
                    "buffer_pool.reads": 100,
                    "buffer_pool.read_requests": 1e7,
                    "buffer_pool.pages_total": 262144,
                    "buffer_pool.pages_free": 200000,
                },
                {"buffer_pool.pages_free": 131000},
                [{"server.up_s": 80000}, {"buffer_pool.reads": 4000}, {"buffer_pool.read_requests": 1e6}],
            ),
            Case(
                "read_ahead_wasted",
                server(),
                {"buffer_pool.read_ahead": 1e5, "buffer_pool.read_ahead_evicted": 6e4},
                {"buffer_pool.read_ahead_evicted": 2.9e4},
                [{"buffer_pool.read_ahead": 3e4, "buffer_pool.read_ahead_evicted": 3e4}],
                {"innodb_read_ahead_threshold": 64},
            ),
            Case(
                "sorts_merge",
                server(memory_gb=64),
                {"statements.sort_merge_passes": 1e4, "statements.sort_range": 5e3, "statements.sort_scan": 5e3},
                {"statements.sort_scan": 1e5},
                [{"statements.sort_merge_passes": 300, "statements.sort_scan": 0, "statements.sort_range": 300}],
            ),
            Case(
                "sorts_in_memory",
                server(),
                {"statements.sort_merge_passes": 0, "statements.sort_range": 5e3, "statements.sort_scan": 5e3},
                {"statements.sort_range": 500, "statements.sort_scan": 490},
                [{"statements.sort_merge_passes": 1}],
            ),
            Case(
                "joins_without_index",
                server(),
                {"statements.full_join": 1e4, "statements.select": 1e5, "statements.handler_read_rnd_next": 1e8},
                {"statements.select": 5.1e5},
                [{"statements.handler_read_rnd_next": 1e6}],
            ),
            Case(
                "tables_read_whole",
                server(),
                {
                    "statements.handler_read_rnd_next": 1e9,
                    "statements.handler_read_key": 1e6,
                    "statements.handler_read_next": 1e6,
                },
                {"statements.handler_read_next": 1.2e8},
                [{"statements.handler_read_rnd_next": 3e8, "statements.handler_read_key": 0}],
                says="this one has read the most rows: shop: SELECT * FROM `orders` WHERE `no` = ?",
                texts={"scans.statement": "shop: SELECT * FROM `orders` WHERE `no` = ?"},
            ),
            Case(
                "temporary_tables_on_disk",
                server(memory_gb=64),
                {"temporary.tables": 1e4, "temporary.disk_tables": 6e3},
                {"temporary.disk_tables": 2.4e3},
                [{"temporary.tables": 400, "temporary.disk_tables": 300}],
            ),
            Case(
                "temporary_tables_in_memory",
                server(),
                {"temporary.tables": 1e4, "temporary.disk_tables": 10},
                {"temporary.disk_tables": 210},
                [{"temporary.tables": 900, "temporary.disk_tables": 0}],
            ),
            Case(
                "table_cache_small",
                server(table_open_cache=400),
                {"caches.table_hits": 1e5, "caches.table_misses": 5e4, "caches.table_overflows": 4e4},
                {"caches.table_misses": 1e3},
                [{"caches.table_overflows": 300}],
                {"table_open_cache": 2000},
            ),
            Case(
                "table_cache_suffices",
                server(),
                {"caches.table_hits": 1e5, "caches.table_misses": 10, "caches.table_overflows": 0},
                {"caches.table_misses": 1.1e3},
                [{"caches.table_overflows": 1}],
            ),
            Case(
                "definition_cache_small",
                server(table_definition_cache=400),
                {"caches.opened_definitions": 9e4, "caches.open_definitions": 400},
                {"caches.opened_definitions": 1.7e3},
                [{"caches.open_definitions": 300}],
                {"table_definition_cache": 2000},
            ),
            Case(
                "threads_not_cached",
                server(thread_cache_size=4),
                {"threads.connections": 1e5, "threads.created": 5e4, "threads.connected": 40},
                {"threads.connections": 5.1e5},
                [{"threads.created": 3500, "threads.connections": 3500}],
                {"thread_cache_size": 48},
            ),
            Case(
                "binlog_cache_small",
                server(memory_gb=32),
                {"binlog.cache_uses": 1e5, "binlog.cache_disk_uses": 3e4},
                {"binlog.cache_disk_uses": 4.9e3},
                [{"binlog.cache_disk_uses": 4, "binlog.cache_uses": 4}],
            ),
            Case(
                "key_buffer_roomy",
                server(key_buffer_size="128M"),
                {"server.up_s": 9000, "caches.key_read_requests": 10, "caches.key_blocks_used": 1},
                {"caches.key_blocks_used": 13200},
                [{"server.up_s": 3500}, {"caches.key_read_requests": 4e4}],
                {"key_buffer_size": 8 * MB},
            ),
            Case(
                "connections_near_limit", server(memory_gb=64), {"threads.most_used": 150}, {"threads.most_used": 128}
            ),
            Case(
                "connections_refused",
                server(memory_gb=64),
                {"threads.refused": 900, "threads.connections": 9000},
                {"threads.refused": 0.9},
            ),
            Case(
                "files_near_limit",
                server(open_files_limit=2000),
                {"files.open_files": 1990},
                {"files.open_files": 1690},
            ),
            Case(
                "row_locks",
                server(),
                {"row_locks.waits": 1e4, "row_locks.wait_ms": 3.6e7},
                {"row_locks.wait_ms": 3.5e6},
                [{"row_locks.waits": 9}],
            ),
            Case(
                "purge_held_back",
                server(),
                {"open_transactions.oldest_s": 4000, "innodb_metrics.trx_rseg_history_len": 5e4},
                {"open_transactions.oldest_s": 590},
                [
                    {"innodb_metrics.trx_rseg_history_len": 9e3},
                    {"open_transactions.oldest_s": 50, "innodb_metrics.trx_rseg_history_len": 5e5},
                ],
                says="information_schema.INNODB_TRX shows it with",
            ),
            Case(
                "purge_behind",
                server(innodb_purge_threads=1),
                {"open_transactions.oldest_s": 5, "innodb_metrics.trx_rseg_history_len": 5e5},
                {"innodb_metrics.trx_rseg_history_len": 1.9e5},
                [{"open_transactions.oldest_s": 70}],
            ),
        )
    ),
    Case(
        "temporary_tables_by_type",
        maria(),
        {"temporary.tables": 1e4, "temporary.disk_tables": 9e3, "temporary.rows": 9e5},
        {"temporary.disk_tables": 2.4e3},
        [{"temporary.rows": 4e7}, {"temporary.disk_tables": 300}],
        says="with 100 rows or fewer each and 16 MB of memory for each table: columns of type TEXT or BLOB",
    ),
    Case(
        "flushing_at_its_limit",
        maria(),
        FLUSHING_MARIADB,
        {"buffer_pool.pages_flushed": 3600 * 1590.0},
        [{"buffer_pool.pages_dirty": 3000}, {"host.disk_busy_ms": 3600 * 800.0}],
        {"innodb_io_capacity": 2000, "innodb_io_capacity_max": 4000},
    ),
    Case(
        "flushing_at_its_limit",
        my(),
        FLUSHING_MYSQL,
        {"buffer_pool.pages_flushed": 3600 * 15_900.0},
        [{"buffer_pool.pages_dirty": 3000}, {"host.disk_busy_ms": 3600 * 800.0}],
        {"innodb_io_capacity": 20000, "innodb_io_capacity_max": 40000},
    ),
    *(
        Case(
            "flushing_beyond_disk",
            server(innodb_io_capacity=10000, innodb_io_capacity_max=20000),
            {
                **FLUSHING,
                "buffer_pool.pages_flushed": 3600 * 340.0,
                "buffer_pool.pages_dirty": 800,
                redo: 1e6,
                "host.disk_writes": 3600 * 860.0,
                "host.io_waiting_s": 3600 * 0.47,
            },
            {"host.disk_writes": 3600 * 5100.0, "buffer_pool.pages_flushed": 3600 * 2000.0},
            [
                {"buffer_pool.pages_flushed": 3600 * 49.0},
                {"buffer_pool.pages_flushed": 3600 * 150.0},
                {"host.io_waiting_s": 3600 * 0.29},
                {"buffer_pool.pages_dirty": 3000},
            ],
            {"innodb_io_capacity": 220},
        )
        for server, redo in ((maria, "redo.checkpoint_age_bytes"), (my, "redo.logical_bytes"))
    ),
    Case(
        "dirty_pages_near_limit",
        maria(innodb_max_dirty_pages_pct=20),
        {**FLUSHING, "buffer_pool.pages_dirty": 1600},
        {"buffer_pool.pages_dirty": 1380},
        [{"buffer_pool.pages_flushed": 3600 * 9.0}],
        {"innodb_max_dirty_pages_pct": 90},
    ),
    Case(
        "dirty_pages_near_limit",
        my(),
        {**FLUSHING, "buffer_pool.pages_dirty": 7300},
        {"buffer_pool.pages_dirty": 6200},
        [{"buffer_pool.pages_flushed": 3600 * 9.0}],
    ),
    Case(
        "temporary_memory_full",
        my(memory_gb=64),
        {"temporary.count_hit_limit": 3600},
        {"temporary.count_hit_limit": 70},
        [],
        {"temptable_max_ram": 2 * GB},
    ),
    Case(
        "threads_held_back",
        my(innodb_thread_concurrency=4),
        {"threads.running": 16},
        {"threads.running": 5.9},
        [],
        {"innodb_thread_concurrency": 0},
    ),
    Case(
        "query_cache_useless",
        maria(query_cache_type="ON"),
        {"caches.query_cache_hits": 100, "caches.query_cache_inserts": 1e5},
        {"caches.query_cache_hits": 2.6e4},
        [{"caches.query_cache_inserts": 3500}],
        {"query_cache_type": "OFF", "query_cache_size": 0},
    ),
    Case(
        "adaptive_hash_unused",
        maria(innodb_adaptive_hash_index="ON"),
        {"caches.adaptive_hash_searches": 1e5, "caches.tree_searches": 1e7},
        {"caches.adaptive_hash_searches": 2.6e6},
        [{"caches.tree_searches": 3e6}],
        {"innodb_adaptive_hash_index": "off"},
    ),
)

"""Cases of MySQL's and MariaDB's housekeeping, plans, logs, locks and sessions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from lutra_models.server import Server, ServerSetting

from tests.support.reported.postgresql import GB
from tests.unit.symptoms.case import Case, maria, my

Make = Callable[..., Server]
LEFT_OPEN = {"pauses.in_transaction": 2, "pauses.in_transaction_s": 90, "redo.history_list": 1200}
LOCKED = {"pauses.in_transaction": 1, "pauses.in_transaction_s": 40, "open_transactions.waiting": 3}
WAITS = {"open_transactions.waiting": 2, "open_transactions.oldest_s": 30, "open_transactions.longest_wait_s": 9}
METADATA = {**LEFT_OPEN, "pauses.change_waits": 1, "pauses.change_waits_s": 12}
NAMED = {"pauses.named_waits": 2, "pauses.named_waits_s": 8}
ASLEEP = {"pauses.asleep": 120, "threads.connected": 130}
TEMPORARY = {"temporary.tables": 500, "temporary.disk_tables": 90}
JOINS = {"statements.full_join": 600, "statements.handler_read_rnd_next": 4e8}
OFF = {"optimizer_switch.off": 2, "optimizer_switch.semijoin": 1, "optimizer_switch.index_condition_pushdown": 1}
WATCHED = {"instruments.share": 0.99, "instruments.latches": 1, "instruments.waits": 3}
FLOODED = {"slow_query_log": "on", "log_queries_not_using_indexes": "on"}
SHORT = {"threads.connections": 36000, "statements.questions": 100_000}
WORK_REDO = {True: "innodb_log_file_size", False: "innodb_redo_log_capacity"}
TINY = {"buffer_pool.reads": 9000, "buffer_pool.pages_free": 10, "buffer_pool.pages_total": 500}
ISOLATION = {True: "tx_isolation", False: "transaction_isolation"}
WHO_WAITS = {
    True: "SELECT w.requesting_trx_id, r.trx_mysql_thread_id AS waits, r.trx_query, b.trx_mysql_thread_id AS blocks, "
    "b.trx_started FROM information_schema.INNODB_LOCK_WAITS w JOIN information_schema.INNODB_TRX r "
    "ON r.trx_id = w.requesting_trx_id JOIN information_schema.INNODB_TRX b ON b.trx_id = w.blocking_trx_id;",
    False: "SELECT wait_age, locked_table, waiting_pid, waiting_query, blocking_pid, blocking_query, "
    "sql_kill_blocking_connection FROM sys.innodb_lock_waits;",
}


def keep(server: Make) -> str:
    return "GLOBAL" if server is maria else "PERSIST"


def isolated(server: Make, level: str) -> Server:
    plain, name = server(), ISOLATION[server is maria]
    return replace(plain, settings={**plain.settings, name: replace(plain.settings[name], value=level)})


def audited(events: str) -> Server:
    """With the plug-in, which a fresh server has not."""
    plain = maria()
    more = {"server_audit_logging": ServerSetting("ON", kind="bool"), "server_audit_events": ServerSetting(events)}
    return replace(plain, settings={**plain.settings, **more})


MYSQL_WORK = (
    *(
        case
        for server in (maria, my)
        for case in (
            Case(
                "transactions_left_open",
                server(),
                LEFT_OPEN,
                {"pauses.in_transaction_s": 29},
                [{"pauses.in_transaction": 0}],
                says="Sessions that are idle in an open transaction: 2, the longest for 1.5 min. 1,200 transactions",
            ),
            Case(
                "purge_lag_bounded",
                server(innodb_max_purge_lag=10000),
                cures={"innodb_max_purge_lag": 0},
                says="innodb_max_purge_lag = 10,000",
                quiet=[server(), server(innodb_max_purge_lag=2_000_000)],
            ),
            Case(
                "purge_batch_small",
                server(innodb_purge_batch_size=5),
                cures={"innodb_purge_batch_size": 300},
                quiet=[server(), server(innodb_purge_batch_size=32)],
            ),
            Case(
                "statistics_not_renewed",
                server(innodb_stats_auto_recalc="off"),
                quiet=[server()],
                executes=[f"SET {keep(server)} innodb_stats_auto_recalc = ON;", "ANALYZE TABLE <table>;"],
            ),
            Case("statistics_not_kept", server(innodb_stats_persistent="off"), quiet=[server()]),
            Case(
                "statistics_sampled_thinly",
                server(innodb_stats_persistent_sample_pages=1),
                cures={"innodb_stats_persistent_sample_pages": 20},
                quiet=[server(), server(innodb_stats_persistent_sample_pages=5)],
            ),
            Case(
                "statistics_read_much",
                server(innodb_stats_persistent_sample_pages=100_000),
                cures={"innodb_stats_persistent_sample_pages": 200},
                quiet=[server(), server(innodb_stats_persistent_sample_pages=4000)],
            ),
            Case("statistics_renewed_by_looks", server(innodb_stats_on_metadata="on"), quiet=[server()]),
            Case("tables_without_key", server(), {"table_keys.without_key": 3}, {"table_keys.without_key": 0}),
            Case(
                "undo_grown",
                server(innodb_undo_log_truncate="off"),
                {"data.undo_bytes": 12 * GB, "data.bytes": 40 * GB, "redo.history_list": 900_000},
                {"data.undo_bytes": 3.9 * GB},
                [{"data.bytes": 130 * GB}],
                says="12 GB, for 40 GB of data",
            ),
            Case(
                "temporary_space_grown",
                server(),
                {"data.temporary_bytes": 40 * GB},
                {"data.temporary_bytes": 9.9 * GB},
                says="has 40 GB",
            ),
            Case(
                "lock_waits_time_out",
                server(),
                {"innodb_metrics.lock_timeouts": 60},
                {"innodb_metrics.lock_timeouts": 11},
                says="60 statements in 1 h failed with error 1205: they had waited",
            ),
            Case(
                "slow_statements_many",
                server(),
                {"statements.slow": 4000, "statements.questions": 40_000},
                {"statements.slow": 700, "statements.questions": 40_000},
                [{"statements.questions": 200_000, "statements.slow": 700}],
                says="4,000 of 40,000 statements",
                quiet=[server(log_queries_not_using_indexes="on")],
            ),
            Case(
                "table_locks_waited",
                server(),
                {"row_locks.table_waits": 9000},
                {"row_locks.table_waits": 1790},
                says="9,000 statements in 1 h waited",
            ),
            Case(
                "clients_vanish",
                server(),
                {"threads.aborted_clients": 500, "threads.connections": 700},
                {"threads.aborted_clients": 139},
                [{"threads.connections": 4000}],
                says="500 connections in 1 h were aborted because",
            ),
            Case(
                "planner_switches_off",
                server(),
                OFF,
                {"optimizer_switch.off": 0},
                says="Off in optimizer_switch: index_condition_pushdown, semijoin.",
                executes=[
                    f"SET {keep(server)} optimizer_switch = 'index_condition_pushdown=on';",
                    f"SET {keep(server)} optimizer_switch = 'semijoin=on';",
                ],
            ),
            Case(
                "planner_switches_waived",
                server(),
                {"optimizer_switch.waived": 1, "optimizer_switch.index_merge_intersection": 1},
                {"optimizer_switch.waived": 0},
                says="for every query: index_merge_intersection.",
            ),
            Case(
                "join_orders_not_searched",
                server(optimizer_search_depth=1),
                cures={"optimizer_search_depth": 62},
                quiet=[server(), server(optimizer_search_depth=0), server(optimizer_search_depth=5)],
            ),
            Case(
                "join_orders_all_searched",
                server(optimizer_prune_level=0),
                cures={"optimizer_prune_level": "2" if server is maria else "1"},
                quiet=[server()],
            ),
            Case(
                "lists_not_estimated",
                server(eq_range_index_dive_limit=1),
                cures={"eq_range_index_dive_limit": 200},
                quiet=[server(), server(eq_range_index_dive_limit=0), server(eq_range_index_dive_limit=6)],
            ),
            Case("seeks_believed_cheap", server(max_seeks_for_key=1), quiet=[server(), server(max_seeks_for_key=2000)]),
            Case(
                "joins_read_tables",
                server(),
                JOINS,
                {"statements.handler_read_rnd_next": 1.7e7},
                [{"statements.full_join": 60}, {"statements.handler_read_rnd_next": 5e5}],
                says="600 joins in 1 h had no index",
            ),
            Case(
                "large_joins_refused",
                server(sql_big_selects="off", max_join_size=1000),
                quiet=[server(), server(max_join_size=1000), server(sql_big_selects="off", max_join_size=20_000_000)],
                says="more than 1,000 rows",
            ),
            Case("results_cut", server(sql_select_limit=10), quiet=[server(), server(sql_select_limit=2_000_000)]),
            Case(
                "temporary_room_tiny",
                server(tmp_table_size="64K"),
                TEMPORARY,
                cures={"tmp_table_size": 16 << 20},
                silent=[{"temporary.tables": 0}],
                quiet=[server(), server(tmp_table_size="2M")],
                says="may use 64 kB of memory",
            ),
            Case(
                "scans_flush_the_pool",
                server(innodb_old_blocks_time=0),
                cures={"innodb_old_blocks_time": 1000},
                quiet=[server(), server(innodb_old_blocks_pct=80)],
            ),
            Case(
                "new_pages_leave_at_once",
                server(innodb_old_blocks_time=60000),
                cures={"innodb_old_blocks_time": 1000},
                quiet=[server(), server(innodb_old_blocks_pct=10)],
            ),
            Case(
                "flushing_not_adaptive",
                server(innodb_adaptive_flushing="off"),
                cures={"innodb_adaptive_flushing": "on"},
                quiet=[server()],
            ),
            Case(
                "free_pages_scanned_for",
                server(innodb_lru_scan_depth=100_000),
                quiet=[server(), server(innodb_lru_scan_depth=8192)],
            ),
            Case(
                "disk_held_back",
                server(innodb_io_capacity=100, innodb_io_capacity_max=100),
                cures={"innodb_io_capacity": 1000, "innodb_io_capacity_max": 4000},
                quiet=[server(), server(innodb_io_capacity=100, innodb_io_capacity_max=100, rotational=True)],
            ),
            Case(
                "latches_spun_for",
                server(innodb_sync_spin_loops=5000),
                cures={"innodb_sync_spin_loops": 30},
                quiet=[server(), server(innodb_sync_spin_loops=200)],
            ),
            Case("inserts_lock_tables", server(innodb_autoinc_lock_mode=0), quiet=[server()]),
            Case(
                "every_statement_logged",
                server(general_log="on"),
                says="to FILE: each writes to the log, with the values in it.",
                quiet=[
                    server(),
                    server(general_log="on", log_output="NONE"),
                    server(slow_query_log="on", long_query_time=0.1),
                ],
            ),
            Case(
                "every_statement_logged",
                server(slow_query_log="on", long_query_time=0),
                quiet=[server(slow_query_log="off", long_query_time=0)],
            ),
            Case(
                "logs_go_to_tables",
                server(log_output="TABLE", slow_query_log="on"),
                quiet=[server(), server(log_output="TABLE"), server(slow_query_log="on")],
            ),
            Case(
                "slow_log_floods",
                server(**FLOODED),
                quiet=[
                    server(),
                    server(slow_query_log="on", log_queries_not_using_indexes="on", min_examined_row_limit=1000),
                ],
            ),
            Case(
                "too_little_logged",
                server(),
                says="the log will not show: slow statements (slow_query_log = off); deadlocks",
                quiet=[server(slow_query_log="on", innodb_print_all_deadlocks="on")],
            ),
            Case(
                "locks_dumped_to_the_log",
                server(innodb_status_output="on", innodb_status_output_locks="on"),
                quiet=[server()],
                says="innodb_status_output, innodb_status_output_locks.",
                executes=[
                    f"SET {keep(server)} innodb_status_output = DEFAULT;",
                    f"SET {keep(server)} innodb_status_output_locks = DEFAULT;",
                ],
            ),
            Case(
                "everything_instrumented",
                server(),
                WATCHED,
                {"instruments.share": 0.7, "instruments.latches": 0.3, "instruments.waits": 0},
                says="99 % of its instruments on",
            ),
            Case(
                "rows_locked_by_the_idle",
                server(),
                {**LOCKED, "open_transactions.longest_wait_s": 20},
                {"open_transactions.longest_wait_s": 2},
                [{"pauses.in_transaction": 0}, {"pauses.in_transaction_s": 10}, {"open_transactions.waiting": 0}],
                says="Sessions that wait for a row lock: 3, the longest for 20 s",
            ),
            Case(
                "row_locks_waited_for",
                server(),
                WAITS,
                {"open_transactions.longest_wait_s": 4},
                [{"open_transactions.waiting": 0}],
                executes=[WHO_WAITS[server is maria]],
            ),
            Case(
                "change_waits_for_table",
                server(),
                METADATA,
                {"pauses.change_waits_s": 4},
                [{"pauses.change_waits": 0}, {"pauses.change_waits": 2}],
            ),
            Case(
                "locks_by_name_waited_for",
                server(),
                NAMED,
                {"pauses.named_waits_s": 4},
                [{"pauses.named_waits": 0}],
            ),
            Case(
                "deadlocks",
                server(),
                {"innodb_metrics.lock_deadlocks": 90},
                {"innodb_metrics.lock_deadlocks": 29},
                says="90 transactions in 1 h were rolled back",
            ),
            Case(
                "deadlocks_not_detected",
                server(innodb_deadlock_detect="off"),
                cures={"innodb_deadlock_detect": "on"},
                quiet=[server(), server(innodb_deadlock_detect="off", innodb_lock_wait_timeout=3)],
            ),
            Case(
                "lock_waits_cut",
                server(innodb_lock_wait_timeout=1),
                cures={"innodb_lock_wait_timeout": 50},
                quiet=[server(), server(innodb_lock_wait_timeout=2)],
            ),
            Case(
                "lock_waits_endless",
                server(innodb_lock_wait_timeout=10000),
                cures={"innodb_lock_wait_timeout": 50},
                quiet=[server(), server(innodb_lock_wait_timeout=600)],
            ),
            Case("schema_changes_cut", server(lock_wait_timeout=1), quiet=[server(), server(lock_wait_timeout=5)]),
            Case("idle_clients_cut", server(wait_timeout=5), quiet=[server(), server(wait_timeout=60)]),
            Case(
                "connections_asleep",
                server(),
                ASLEEP,
                {"pauses.asleep": 100},
                quiet=[server(wait_timeout=300)],
                says="120 of 130 connections have been asleep",
            ),
            Case("transfers_cut", server(net_read_timeout=1), quiet=[server(), server(net_read_timeout=10)]),
            Case(
                "hosts_blocked_quickly", server(max_connect_errors=1), quiet=[server(), server(max_connect_errors=20)]
            ),
            Case(
                "logins_wait",
                server(),
                {"pauses.logging_in": 5},
                {"pauses.logging_in": 2},
                quiet=[server(skip_name_resolve="on")],
            ),
            Case(
                "connections_short_lived",
                server(),
                SHORT,
                {"threads.connections": 17000},
                [{"statements.questions": 1.3e6}],
            ),
            Case(
                "transactions_serialized",
                isolated(server, "SERIALIZABLE"),
                quiet=[server(), isolated(server, "READ-COMMITTED")],
            ),
            Case("commits_do_more", server(completion_type="CHAIN"), quiet=[server()]),
            Case("changes_give_way", server(low_priority_updates="on"), quiet=[server()]),
            Case(
                "table_cache_tiny",
                server(table_open_cache=10),
                cures={"table_open_cache": 2000},
                quiet=[server(), server(table_open_cache=64)],
            ),
            Case(
                "threads_never_cached",
                server(thread_cache_size=0),
                cures={"thread_cache_size": 16},
                quiet=[server(thread_cache_size=1)],
            ),
            Case(
                "session_buffers_tiny",
                server(sort_buffer_size="32K"),
                cures={"sort_buffer_size": 1 << 20},
                quiet=[server(), server(sort_buffer_size="64K", join_buffer_size="32K")],
            ),
            Case(
                "pool_tiny",
                server(innodb_buffer_pool_size="8M", memory_gb=16),
                TINY,
                {"buffer_pool.reads": 700},
                [{"buffer_pool.pages_free": 30000, "buffer_pool.pages_total": 40000}],
                cures={"innodb_buffer_pool_size": 128 << 20},
                quiet=[server(memory_gb=16), server(innodb_buffer_pool_size="8M", memory_gb=0.3)],
            ),
            Case(
                "redo_tiny",
                server(**{WORK_REDO[server is maria]: "8M"}),
                cures={WORK_REDO[server is maria]: 512 << 20},
                quiet=[server(), server(**{WORK_REDO[server is maria]: "32M"})],
            ),
            Case(
                "dirty_pages_hardly_allowed",
                server(innodb_max_dirty_pages_pct=1),
                cures={"innodb_max_dirty_pages_pct": 90},
                quiet=[server(), server(innodb_max_dirty_pages_pct=10)],
            ),
            Case(
                "files_reopened",
                server(innodb_open_files=10),
                cures={"innodb_open_files": 2000},
                quiet=[server(), server(innodb_open_files=300)],
            ),
            Case(
                "bursts_refused",
                server(back_log=1),
                cures={"back_log": 150},
                quiet=[server(), server(back_log=50)],
            ),
            Case("changes_without_key_refused", server(sql_safe_updates="on"), quiet=[server()]),
        )
    ),
    Case(
        "statements_cut_short",
        maria(max_statement_time=0.05),
        quiet=[maria(), maria(max_statement_time=5)],
        says="cancels every statement after 50 ms, for all accounts.",
        executes=["SET GLOBAL max_statement_time = 0;"],
    ),
    Case(
        "statements_cut_short",
        my(max_execution_time=50),
        quiet=[my(), my(max_execution_time=5000)],
        says="cancels every SELECT after 50 ms",
        executes=["SET PERSIST max_execution_time = 0;"],
    ),
    Case(
        "ranges_given_up",
        my(range_optimizer_max_mem_size=5000),
        cures={"range_optimizer_max_mem_size": 8 << 20},
        quiet=[my(), my(range_optimizer_max_mem_size=0), my(range_optimizer_max_mem_size="1M")],
    ),
    Case(
        "conditions_cut",
        maria(optimizer_max_sel_arg_weight=20),
        quiet=[maria(), maria(optimizer_max_sel_arg_weight=0), maria(optimizer_max_sel_arg_weight=2000)],
    ),
    Case("join_buffers_unused", maria(join_cache_level=0), cures={"join_cache_level": 2}, quiet=[maria()]),
    Case(
        "selectivity_ignored",
        maria(optimizer_use_condition_selectivity="1"),
        cures={"optimizer_use_condition_selectivity": "4"},
        quiet=[maria()],
    ),
    Case(
        "temporary_memory_tiny",
        my(temptable_max_ram="2M"),
        cures={"temptable_max_ram": 256 << 20},
        quiet=[my(), my(temptable_max_ram="64M"), my(temptable_max_ram="2M", internal_tmp_mem_storage_engine="MEMORY")],
    ),
    Case(
        "neighbours_flushed",
        my(innodb_flush_neighbors="2"),
        cures={"innodb_flush_neighbors": "0"},
        quiet=[my(), my(innodb_flush_neighbors="1"), my(innodb_flush_neighbors="2", rotational=True)],
    ),
    Case("neighbours_flushed", maria(innodb_flush_neighbors="2"), quiet=[maria(), maria(innodb_flush_neighbors="1")]),
    Case(
        "changes_buffered",
        maria(innodb_change_buffering="all"),
        cures={"innodb_change_buffering": "none"},
        quiet=[maria()],
    ),
    Case("commits_take_turns", my(innodb_commit_concurrency=1), quiet=[my(), my(innodb_commit_concurrency=16)]),
    Case(
        "few_threads_enter",
        my(innodb_thread_concurrency=1),
        cures={"innodb_thread_concurrency": 0},
        quiet=[my(), my(innodb_thread_concurrency=8)],
    ),
    Case(
        "thread_pool_narrow",
        maria(thread_handling="pool-of-threads", thread_pool_size=1),
        cures={"thread_pool_size": 4},
        quiet=[maria(thread_pool_size=1), maria(thread_handling="pool-of-threads", thread_pool_size=4)],
    ),
    Case(
        "thread_pool_stalls",
        maria(thread_handling="pool-of-threads", thread_pool_stall_limit=10000),
        cures={"thread_pool_stall_limit": 500},
        quiet=[maria(thread_handling="pool-of-threads"), maria(thread_pool_stall_limit=10000)],
    ),
    Case(
        "commits_delayed",
        my(binlog_group_commit_sync_delay=100_000),
        cures={"binlog_group_commit_sync_delay": 0},
        quiet=[my(), my(binlog_group_commit_sync_delay=1000)],
    ),
    Case(
        "commits_delayed",
        maria(binlog_commit_wait_count=50, binlog_commit_wait_usec=100_000),
        cures={"binlog_commit_wait_count": 0},
        quiet=[
            maria(),
            maria(binlog_commit_wait_usec=100_000),
            maria(binlog_commit_wait_count=50, binlog_commit_wait_usec=1000),
        ],
    ),
    Case(
        "temporary_tables_bounded",
        maria(tmp_disk_table_size="1M"),
        quiet=[maria(), maria(tmp_disk_table_size="1G")],
        executes=["SET GLOBAL tmp_disk_table_size = DEFAULT;"],
    ),
    Case(
        "idle_transactions_cut",
        maria(idle_transaction_timeout=1),
        quiet=[maria(), maria(idle_write_transaction_timeout=60)],
        says="pauses within a transaction for 1 s (",
    ),
    Case("use_counted_by_account", maria(userstat="on"), quiet=[maria()]),
    Case("everything_audited", audited(""), quiet=[maria(), audited("CONNECT")]),
    Case("nothing_watched", my(performance_schema="off"), quiet=[my()]),
    Case(
        "statements_run_out_of_time",
        maria(),
        {"statements.over_statement_time": 300},
        {"statements.over_statement_time": 29},
        says="300 statements in 1 h were cancelled",
    ),
    Case(
        "statements_run_out_of_time",
        my(),
        {"statements.over_execution_time": 300},
        {"statements.over_execution_time": 2},
    ),
    Case(
        "statements_fail",
        my(),
        {"failures.statements": 900, "statements.questions": 9000},
        {"failures.statements": 89},
        [{"failures.statements": 4, "statements.questions": 10}],
        says="900 of 9,000 statements",
    ),
)

"""Cases of PostgreSQL's housekeeping, plans, logging and concurrency."""

from __future__ import annotations

from typing import Any

from lutra_models.server import Server

from tests.support.servers import GB, a_server
from tests.unit.symptoms.case import MB, RELOAD, Case


def pg(version: str = "15", **more: Any) -> Server:
    return a_server(version, **more)


FREE = {
    "activity.oldest_transaction_s": 3,
    "database.tup_updated": 1e6,
    "database.tup_deleted": 0,
    "tables.dead_rows": 5e5,
    "horizon.xids": 36_000,
    "horizon.session_xids": 30,
    "horizon.prepared_xids": 0,
    "horizon.prepared_s": 0,
    "horizon.slot_xids": 0,
    "horizon.standby_xids": 0,
}
"""Nobody holds dead rows."""
SCANS = {
    "tables.seq_scans": 4000,
    "tables.seq_rows": 4000 * 2e5,
    "indexes.large_scans": 4000,
    "indexes.foreign_keys": 0,
    "indexes.foreign_key_share": 0,
    "indexes.used_share": 0.9,
}
HOUSEKEEPING = (
    Case(
        "autovacuum_late_for_tables",
        pg(),
        {**FREE, "housekeeping.own_late": 1, "housekeeping.own_late_dead": 400_000},
        {"housekeeping.own_late": 0},
        [{"horizon.prepared_xids": 20_000}],
        says="let dead rows lie: 1, with 400,000 dead rows",
        quiet=[pg(autovacuum="off")],
    ),
    Case(
        "autovacuum_never_due",
        pg(autovacuum_vacuum_scale_factor=0.99, autovacuum_vacuum_threshold=100_000),
        {"housekeeping.largest_rows": 500_000},
        {"housekeeping.largest_rows": 9_000},
        cures={"autovacuum_vacuum_scale_factor": 0.1, "autovacuum_vacuum_threshold": 50},
        says="500,000 rows, only after 595,000 dead ones",
        quiet=[pg(), pg(autovacuum_vacuum_scale_factor=0, autovacuum_vacuum_threshold=100_000)],
    ),
    Case(
        "autoanalyze_never_due",
        pg(autovacuum_analyze_scale_factor=2),
        {"housekeeping.largest_rows": 500_000},
        {"housekeeping.largest_rows": 9_000},
        cures={"autovacuum_analyze_scale_factor": 0.05},
        says="is analyzed only after 1,000,050 changed ones",
        quiet=[pg(), pg(autovacuum_analyze_scale_factor=0.5)],
    ),
    Case(
        "autovacuum_seldom_looks",
        pg(autovacuum_naptime="1d"),
        {"tables.behind": 0},
        {"tables.behind": 1},
        cures={"autovacuum_naptime": 30},
        says="only every 1 d",
        quiet=[pg(), pg(autovacuum_naptime="5min")],
    ),
    Case(
        "autovacuum_crawls",
        pg(autovacuum_vacuum_cost_limit=10, autovacuum_vacuum_cost_delay="100ms"),
        cures={"autovacuum_vacuum_cost_limit": 1000, "autovacuum_vacuum_cost_delay": 2},
        says="may change only 40 kB of pages a second: 10 cost points per 100 ms",
        quiet=[pg(), pg(autovacuum_vacuum_cost_delay="20ms"), pg(autovacuum_vacuum_cost_delay=0)],
    ),
    Case(
        "statistics_missing",
        pg(),
        {"housekeeping.never_analyzed": 2},
        {"housekeeping.never_analyzed": 0},
        executes=["ANALYZE;"],
    ),
    Case("statistics_stale", pg(), {"housekeeping.stale": 1}, {"housekeeping.stale": 0}),
    Case(
        "statistics_coarse",
        pg(default_statistics_target=1),
        cures={"default_statistics_target": 100},
        quiet=[pg(), pg(default_statistics_target=30)],
    ),
    Case(
        "statistics_excessive",
        pg(default_statistics_target=10_000),
        cures={"default_statistics_target": 100},
        says="ANALYZE reads 3,000,000 rows of each table",
        quiet=[pg(), pg(default_statistics_target=1000)],
    ),
    Case(
        "tables_bloated",
        pg(),
        {"bloat.tables": 1, "bloat.table_bytes": 600.0 * MB, "bloat.tables_seen_bytes": 1.0 * GB},
        {"bloat.table_bytes": 300.0 * MB},
        [{"bloat.tables": 0}, {"bloat.table_bytes": 15.0 * MB, "bloat.tables_seen_bytes": 16.0 * MB}],
        says="An estimated 600 MB of the 1 GB",
    ),
    Case(
        "indexes_bloated",
        pg(),
        {"bloat.indexes": 2, "bloat.index_bytes": 200.0 * MB},
        {"bloat.index_bytes": 15.0 * MB},
        [{"bloat.indexes": 0}],
    ),
    Case("indexes_invalid", pg(), {"indexes.invalid": 1}, {"indexes.invalid": 0}),
    Case(
        "indexes_double",
        pg(),
        {"indexes.duplicates": 2, "indexes.duplicate_bytes": 30.0 * MB},
        {"indexes.duplicates": 0},
        says="another one of their table: 2, with 30 MB",
    ),
    Case(
        "indexes_unused",
        pg(),
        {"indexes.unused": 5, "indexes.unused_bytes": 30.0 * MB},
        {"indexes.unused": 2},
    ),
    Case(
        "foreign_key_without_index",
        pg(),
        {**SCANS, "indexes.foreign_keys": 1, "indexes.foreign_key_share": 0.8},
        {"tables.seq_rows": 4e8},
        [{"indexes.foreign_key_share": 0.2}, {"tables.seq_scans": 4}],
        says="which no index begins with: 1. They have 80 % of the 800,000,000 rows",
    ),
    Case(
        "scans_without_index",
        pg(),
        SCANS,
        {"indexes.used_share": 0.4},
        [{"indexes.large_scans": 1700}, {"indexes.foreign_key_share": 0.4}, {"tables.seq_rows": 4000 * 4e3}],
        says="4,000 scans read large tables whole in 1 h",
        quiet=[pg(random_page_cost=100), pg(enable_indexscan="off")],
    ),
    Case(
        "sequence_near_end",
        pg(),
        {"sequences.used_share": 0.97},
        {"sequences.used_share": 0.74},
        says="has used 97 % of its numbers",
    ),
    Case(
        "tables_unlogged",
        pg(),
        {"housekeeping.unlogged": 1, "housekeeping.unlogged_rows": 500},
        {"housekeeping.unlogged_rows": 0},
    ),
    Case(
        "temporary_files_limited",
        pg(temp_file_limit="1MB"),
        {"database.temp_files": 0, "database.temp_bytes": 0},
        says="only 1 MB of temporary files",
        executes=["ALTER SYSTEM SET temp_file_limit = -1;", RELOAD],
        quiet=[pg(), pg(temp_file_limit="10GB")],
    ),
    Case(
        "index_builds_spill",
        pg(),
        {"builds.running": 1, "database.temp_files": 6, "database.temp_bytes": 20.0 * GB},
        {"database.temp_bytes": 3000.0 * MB},
        [{"builds.running": 0}, {"database.temp_files": 0}],
    ),
)
PLANS = (
    Case("jit_for_every_query", pg(jit_above_cost=0), cures={"jit_above_cost": 100_000}, quiet=[pg(), pg(jit="off")]),
    Case(
        "cache_overstated_to_planner",
        pg(effective_cache_size="100GB"),
        cures={"effective_cache_size": 786432},
        quiet=[pg(), pg(effective_cache_size="11GB")],
    ),
    Case(
        "joins_not_reordered",
        pg(join_collapse_limit=1, from_collapse_limit=1),
        cures={"join_collapse_limit": 8, "from_collapse_limit": 8},
        quiet=[pg(), pg(join_collapse_limit=4)],
    ),
    Case(
        "join_search_unbounded",
        pg(join_collapse_limit=40, geqo="off"),
        says="tries all orders of up to 40 tables",
        quiet=[pg(), pg(join_collapse_limit=40), pg(geqo="off")],
    ),
    Case(
        "plans_forced",
        pg(plan_cache_mode="force_generic_plan"),
        says="the same plan for a frequent value as for a rare one",
        quiet=[pg()],
    ),
    Case(
        "parallel_plans_forced",
        pg("18", debug_parallel_query="on"),
        executes=["ALTER SYSTEM SET debug_parallel_query = off;", RELOAD],
        quiet=[pg(), pg("18")],
    ),
    Case(
        "planner_options_odd",
        pg(constraint_exclusion="on"),
        quiet=[pg(), pg(cursor_tuple_fraction=0.05)],
    ),
    Case(
        "roles_plan_oddly",
        pg(),
        {"role_settings.switches_off": 1, "role_settings.odd": 2},
        {"role_settings.switches_off": 0, "role_settings.odd": 0},
        says="switched off, 1; costs or limits far outside of what serves, 2.",
    ),
    Case(
        "roles_sort_oddly",
        pg(),
        {"role_settings.least_work_mem": 4.0 * MB, "role_settings.most_work_mem": 4.0 * GB},
        {"role_settings.most_work_mem": 0.4 * GB},
        says="between 4 MB and 4 GB",
    ),
    Case("work_mem_tiny", pg(work_mem="64kB"), cures={"work_mem": 4096}, quiet=[pg(), pg(work_mem="2MB")]),
    Case(
        "maintenance_work_mem_tiny",
        pg(maintenance_work_mem="1MB"),
        cures={"maintenance_work_mem": 65536},
        quiet=[pg(), pg(maintenance_work_mem="32MB")],
    ),
    Case(
        "parallelism_unbounded",
        pg(parallel_setup_cost=0, parallel_tuple_cost=0, min_parallel_table_scan_size=0),
        cures={"parallel_setup_cost": 1000, "parallel_tuple_cost": 0.1, "min_parallel_table_scan_size": 1024},
        quiet=[pg(), pg(max_parallel_workers_per_gather=4), pg(parallel_setup_cost=100)],
    ),
    Case(
        "parallelism_off",
        pg(max_parallel_workers_per_gather=0),
        {
            "tables.seq_scans": 200,
            "tables.seq_rows": 2e8,
            "indexes.rows_a_scan": 1e6,
            "activity.active": 1,
            "workers.parallel": 0,
        },
        {"indexes.rows_a_scan": 1.9e5},
        [{"tables.seq_scans": 1}, {"tables.seq_rows": 1.7e8}, {"activity.active": 3.5}, {"workers.parallel": 1}],
        cures={"max_parallel_workers_per_gather": 2},
        quiet=[pg()],
    ),
)
QUEUE = {"blocking.exclusive": 1, "blocking.behind_exclusive": 7, "blocking.longest_wait_s": 25, "activity.active": 9}
LATCHES = {
    "activity.active": 20,
    "activity.waiting_lwlock": 9,
    "sessions.latch_wal": 0,
    "sessions.latch_buffer_content": 7,
    "sessions.latch_buffer_mapping": 0,
    "sessions.latch_lock_manager": 1,
    "sessions.latch_snapshot": 0,
    "sessions.latch_subtransactions": 0,
    "sessions.latch_multixact": 0,
}
CONCURRENCY = (
    Case(
        "blocked_by_idle_session",
        pg(),
        {
            "blocking.waiting": 6,
            "blocking.longest_wait_s": 40,
            "blocking.holders": 2,
            "blocking.idle_holders": 1,
            "blocking.prepared_holders": 0,
            "blocking.oldest_holder_s": 300,
            "activity.active": 8,
        },
        {"blocking.longest_wait_s": 4.9},
        [{"blocking.waiting": 0}, {"blocking.idle_holders": 0}, {"blocking.oldest_holder_s": 4}],
        says="wait for a lock: 6, the longest for 40 s. Transactions that hold them up: 2, the oldest",
    ),
    Case(
        "queue_behind_exclusive_lock",
        pg(),
        QUEUE,
        {"blocking.longest_wait_s": 2},
        [{"blocking.exclusive": 0}, {"blocking.behind_exclusive": 0}],
        says="VACUUM FULL do: 1. Others that wait for the same table behind them: 7.",
    ),
    Case(
        "one_row_contended",
        pg(),
        {"activity.active": 16, "sessions.waiting_row": 14, "sessions.queueing_row": 13},
        {"sessions.waiting_row": 3.9},
        [{"sessions.queueing_row": 0.5}],
        says="14 of 16 active sessions wait for a row that another transaction changed, 13 of them",
    ),
    Case(
        "deadlocks",
        pg(),
        {"database.deadlocks": 60},
        {"database.deadlocks": 5.9},
        says="60 deadlocks in 1 h",
    ),
    Case(
        "latches_contended",
        pg(),
        LATCHES,
        {"activity.waiting_lwlock": 5.9},
        [{"activity.active": 2}],
        says="most of them for the content of the same pages. All sessions change the same pages",
    ),
    Case(
        "subtransactions_overflow",
        pg(),
        {"subtransactions.looked_up": 3e7, "horizon.xids": 36_000},
        {"subtransactions.looked_up": 7.1e6},
        [{"horizon.xids": 3e6}],
    ),
    Case(
        "rollbacks_many",
        pg(),
        {"database.xact_commit": 1000, "database.xact_rollback": 1000},
        {"database.xact_rollback": 240},
        [{"database.xact_commit": 0, "database.xact_rollback": 19}],
        says="50 % of all transactions in 1 h, 1,000, ended by a rollback",
    ),
    Case(
        "deadlock_timeout_odd",
        pg(deadlock_timeout="1ms"),
        cures={"deadlock_timeout": 1000},
        says="each short wait for a lock pays",
        quiet=[pg(), pg(deadlock_timeout="50ms"), pg(deadlock_timeout="30s")],
    ),
    Case(
        "commits_delayed",
        pg(commit_delay=100_000),
        cures={"commit_delay": 0},
        says="A commit waits 100 ms before",
        quiet=[pg(), pg(commit_delay=4000)],
    ),
    Case(
        "roles_cut_short",
        pg(),
        {
            "database.xact_rollback": 50,
            "role_settings.statement_ms": 200,
            "role_settings.lock_ms": 0,
            "role_settings.idle_ms": 0,
        },
        {"role_settings.statement_ms": 1100},
        [{"database.xact_rollback": 0}],
        says="for a statement or a transaction 200 ms, for a lock",
    ),
    Case(
        "sessions_cut_short",
        pg(idle_session_timeout="1s"),
        quiet=[pg(), pg(idle_in_transaction_session_timeout="5s")],
    ),
)
PLANS_LOGGED = {"watching.plans": 1, "watching.plans_ms": 0, "watching.plans_share": 1, "watching.plans_analyze": 1}
LOGGING = (
    Case(
        "log_verbose",
        pg(log_min_messages="debug2", log_executor_stats="on"),
        says="log_min_messages = debug2",
        quiet=[pg(), pg(log_min_messages="info")],
    ),
    Case("errors_not_logged", pg(log_min_messages="panic"), quiet=[pg()], says="log_min_messages = panic"),
    Case(
        "log_blind",
        pg(log_checkpoints="off"),
        {"watching.statements_loaded": 0},
        says="slow statements (log_min_duration_statement = -1, and no pg_stat_statements); who waited",
        quiet=[pg(log_min_duration_statement="1s", log_lock_waits="on", log_temp_files=0)],
    ),
    Case(
        "log_never_rotated",
        pg(logging_collector="on", log_rotation_age=0, log_rotation_size=0),
        quiet=[pg(), pg(logging_collector="on", log_rotation_age=0), pg(log_rotation_age=0, log_rotation_size=0)],
    ),
    Case(
        "log_fills_disk",
        pg(),
        {"server_log.bytes": 30.0 * GB, "server_log.files": 90, "server_log.oldest_s": 90 * 86400},
        {"server_log.bytes": 9.0 * GB},
        [{"server_log.files": 0}],
        says="takes 30 GB in 90 files, 30 % of the disk; the oldest is 90 d old",
    ),
    Case(
        "plans_logged",
        pg(),
        PLANS_LOGGED,
        {"watching.plans_ms": 60},
        [{"watching.plans": 0}, {"watching.plans_share": 0.01}],
        says="and measures each step of every statement",
    ),
    Case(
        "watching_is_costly",
        pg(),
        {"watching.statements_kept": 100_000, "watching.statements_nested": 1, "watching.audited": 0},
        {"watching.statements_kept": 19_000},
    ),
    Case("sessions_hidden", pg(track_activities="off"), quiet=[pg()]),
    Case(
        "statement_texts_odd",
        pg(track_activity_query_size=100),
        says="cut off before their conditions",
        quiet=[pg(), pg(track_activity_query_size="16kB")],
    ),
    Case("roles_log_everything", pg(), {"role_settings.logged": 1}, {"role_settings.logged": 0}),
)
WORK = (*HOUSEKEEPING, *PLANS, *CONCURRENCY, *LOGGING)

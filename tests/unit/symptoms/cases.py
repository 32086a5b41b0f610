"""For each symptom a server and an hour that show it, what makes it silent, and the settings that it then moves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from lutra_models.catalog import meet
from lutra_models.server import Policy, Server, ServerSetting
from lutra_models.symptoms import Diagnosis, MeasuredWindow, Symptom, SymptomRow, diagnose, of_engine

from tests.support.mysql_servers import a_mysqld
from tests.support.redis_servers import a_redis
from tests.support.servers import GB, a_server

MB = 2**20
HOUR = 3600.0
RELOAD = "SELECT pg_reload_conf();"
Numbers = Mapping[str, float]


@dataclass(frozen=True)
class Case:
    """`shown` are counts over the window for counters, and gauges; `silent` are changes each of which ends the symptom.

    `just` is one that leaves it a little on the quiet side of its bound. `quiet` are servers without it. `cures` are
    the values that are offered, `executes` the statements for a person.
    """

    name: str
    server: Server
    shown: Numbers = field(default_factory=dict)
    just: Numbers = field(default_factory=dict)
    silent: Sequence[Numbers] = ()
    cures: Mapping[str, Any] = field(default_factory=dict)
    says: str = ""
    seconds: float = HOUR
    policy: Policy = field(default_factory=Policy)
    quiet: Sequence[Server] = ()
    executes: Sequence[str] = ()

    @property
    def row(self) -> SymptomRow:
        found = {r.name: r for r in of_engine(self.server.engine) if r.covers(self.server.engine, self.server.version)}
        return found[self.name]

    def of(self, counted: Numbers) -> MeasuredWindow:
        counters = {m.metric for m in self.row.measured.values() if m.how in ("count", "rate")}
        metrics = {
            f"{n}_per_s" if n in counters else n: v / (self.seconds if n in counters else 1) for n, v in counted.items()
        }
        return MeasuredWindow(self.seconds, metrics)

    def diagnosis(self, counted: Numbers, policy: Policy | None = None) -> Diagnosis:
        return diagnose(meet(self.server), policy or self.policy, [self.of(counted)])

    def seen(self, counted: Numbers) -> Symptom | None:
        return next((s for s in self.diagnosis(counted).symptoms if s.name == self.name), None)


def pg(version: str = "15", **more: Any) -> Server:
    return a_server(version, **more)


def maria(**more: Any) -> Server:
    return a_mysqld("mariadb", **more)


def my(**more: Any) -> Server:
    return a_mysqld("mysql", **more)


CHECKPOINTS = {"checkpointer.requested": 38, "checkpointer.timed": 3, "wal.bytes": 22.0 * GB}
HELD_BY_NOBODY = {
    "activity.oldest_transaction_s": 3,
    "database.tup_updated": 1e6,
    "database.tup_deleted": 0,
    "horizon.xids": 36_000,
    "horizon.session_xids": 30,
    "horizon.prepared_xids": 0,
    "horizon.prepared_s": 0,
    "horizon.slot_xids": 0,
    "horizon.slot_catalog_xids": 0,
    "horizon.standby_xids": 0,
    "horizon.server_xids": 30,
}
HELD: Sequence[Numbers] = (
    {"horizon.session_xids": 20_000},
    {"horizon.prepared_xids": 20_000},
    {"horizon.slot_xids": 20_000},
    {"horizon.standby_xids": 20_000},
    {"horizon.prepared_s": 700},
    {"activity.oldest_transaction_s": 700},
)
"""Each by itself may keep half a million dead rows, with a million changed in 36,000 transactions."""
BEHIND = {
    **HELD_BY_NOBODY,
    "tables.behind": 4,
    "tables.dead_rows": 5e5,
    "workers.vacuuming": 2,
    "workers.vacuum_delayed": 1.8,
}
PLANS = {
    "tables.seq_scans": 100,
    "tables.idx_scans": 100,
    "tables.seq_rows": 5e6,
    "tables.bare_share": 0.2,
    "database.blks_read": 1e3,
    "database.blks_hit": 1e6,
}
POSTGRESQL = (
    Case(
        "checkpoints_forced",
        pg(),
        CHECKPOINTS,
        {"checkpointer.timed": 100},
        [{"checkpointer.requested": 1}, {"wal.bytes": 5.0 * GB}],
        {"max_wal_size": 10240},
        "38 of 41 checkpoints in 1 h were forced, at 6.26 MB/s of WAL against max_wal_size = 1 GB",
    ),
    Case(
        "full_page_images",
        pg(),
        {"checkpointer.requested": 0, "checkpointer.timed": 12, "wal.bytes": 2.0 * GB, "wal.full_page_images": 2e5},
        {"wal.full_page_images": 1e5},
        [{"checkpointer.timed": 4}, {"wal.bytes": 0.2 * GB}],
        {"checkpoint_timeout": 900},
        "76.3 % of the WAL",
    ),
    Case(
        "wal_uncompressed",
        pg(),
        {
            "wal.bytes": 8.0 * GB,
            "wal.full_page_images": 1e6,
            "replication.standbys": 0,
            "checkpointer.requested": 0,
            "checkpointer.timed": 4,
        },
        {"wal.full_page_images": 5e5},
        [{"wal.bytes": 3.0 * GB, "wal.full_page_images": 4e5}],
        {"wal_compression": "lz4"},
    ),
    Case(
        "checkpoints_rushed",
        pg(checkpoint_completion_target=0.5),
        {"checkpointer.requested": 0, "checkpointer.timed": 12, "checkpointer.buffers_written": 1e5},
        {"checkpointer.buffers_written": 11_900},
        [{"checkpointer.timed": 0}],
        {"checkpoint_completion_target": 0.9},
    ),
    Case(
        "checkpoints_sync_late",
        pg(checkpoint_flush_after=0),
        {"checkpointer.requested": 0, "checkpointer.timed": 12, "checkpointer.sync_ms": 60_000},
        {"checkpointer.sync_ms": 11_900},
        [],
        {"checkpoint_flush_after": 32},
    ),
    Case(
        "wal_buffers_full",
        pg(wal_buffers="4MB"),
        {"wal.bytes": 8.0 * GB, "wal.buffers_full": 2e5},
        {"wal.buffers_full": 20_900},
        [],
        {"wal_buffers": 2048},
        "because 4 MB of wal_buffers were full",
    ),
    Case(
        "checkpoints_timed",
        pg(),
        {"checkpointer.requested": 0, "checkpointer.timed": 12, "wal.bytes": 1e8},
        {"checkpointer.timed": 2.9},
        [{"checkpointer.requested": 1}],
    ),
    Case(
        "sorts_spill",
        pg(memory_gb=16),
        {"database.temp_files": 1800, "database.temp_bytes": 1800 * 8.0 * MB},
        {"database.temp_files": 400, "database.temp_bytes": 400 * 8.0 * MB},
        [{"database.temp_files": 4}, {"database.temp_bytes": 1800 * 1.0 * GB}],
        {"work_mem": 24576},
        "1,800 temporary files with 14.1 GB in 1 h, 8 MB each, with work_mem = 4 MB",
    ),
    Case(
        "spills_beyond_memory",
        pg(),
        {"database.temp_files": 20, "database.temp_bytes": 40.0 * GB},
        {"database.temp_bytes": 3.5 * GB},
        [{"database.temp_files": 1e4}],
    ),
    Case(
        "sorts_in_memory",
        pg(),
        {"database.temp_files": 0, "database.xact_commit": 1e5},
        {"database.xact_commit": 900},
        [{"database.temp_files": 1}],
    ),
    Case(
        "buffers_small",
        pg(),
        {"database.blks_read": 4e6, "database.blks_hit": 1.6e7, "bgwriter.buffers_alloc": 4e6},
        {"database.blks_hit": 7.7e7},
        [{"bgwriter.buffers_alloc": 3e4}, {"database.blks_read": 3e5, "bgwriter.buffers_alloc": 3e5}],
        {"shared_buffers": 262144},
    ),
    Case(
        "buffers_suffice",
        pg(),
        {"database.blks_read": 100, "database.blks_hit": 1e6},
        {"database.blks_read": 1.1e4},
        [{"database.blks_hit": 5e3}],
    ),
    Case(
        "buffers_roomy",
        pg(shared_buffers="2GB"),
        {
            "database.blks_read": 100,
            "database.blks_hit": 1e7,
            "database.own_blocks": 1e7,
            "bgwriter.buffers_alloc": 10,
            "tables.unanalyzed": 0,
            "size.bytes": 0.25 * GB,
        },
        {"size.bytes": 1.01 * GB},
        [
            {"tables.unanalyzed": 1},
            {"database.own_blocks": 9e6},
            {"bgwriter.buffers_alloc": 1e4},
            {"database.blks_hit": 1e6, "database.own_blocks": 1e6},
        ],
        {"shared_buffers": 49152},
    ),
    Case(
        "sessions_write_pages",
        pg("16"),
        {"io.backend_writes": 6e5, "bgwriter.buffers_clean": 2e5, "checkpointer.buffers_written": 2e5},
        {"checkpointer.buffers_written": 1.3e6},
        [{"io.backend_writes": 1e5}],
        {"bgwriter_lru_maxpages": 400, "bgwriter_lru_multiplier": 4, "bgwriter_delay": 50},
    ),
    Case(
        "background_writer_stops",
        pg(),
        {"bgwriter.maxwritten_clean": 9000},
        {"bgwriter.maxwritten_clean": 1700},
        [],
        {"bgwriter_lru_maxpages": 400},
    ),
    Case(
        "autovacuum_off",
        pg(autovacuum="off"),
        {"tables.behind": 2, "tables.dead_rows": 1e6},
        {"tables.behind": 0.9},
        [],
        {"autovacuum": "on"},
    ),
    Case(
        "autovacuum_throttled",
        pg(autovacuum_vacuum_cost_delay="20ms"),
        BEHIND,
        {"workers.vacuum_delayed": 0.7},
        [{"tables.behind": 0}, {"workers.vacuuming": 0.4}, *HELD],
        {"autovacuum_vacuum_cost_limit": 1000, "autovacuum_vacuum_cost_delay": 2},
    ),
    Case(
        "autovacuum_workers_short",
        pg("18"),
        {**BEHIND, "tables.behind": 6, "workers.vacuuming": 3, "workers.vacuum_delayed": 0.5},
        {"tables.behind": 2.9},
        [{"workers.vacuum_delayed": 2.5}, {"workers.vacuuming": 2}, *HELD],
        {"autovacuum_max_workers": 6},
    ),
    Case(
        "autovacuum_naps",
        pg(autovacuum_naptime="1h"),
        {**BEHIND, "tables.behind": 2, "workers.vacuuming": 0},
        {"tables.behind": 0.9},
        [{"workers.vacuuming": 1}, *HELD],
        {"autovacuum_naptime": 30},
    ),
    Case(
        "autovacuum_late",
        pg(autovacuum_vacuum_scale_factor=0.4, autovacuum_vacuum_threshold=5000),
        {**HELD_BY_NOBODY, "tables.behind": 0, "tables.live_rows": 1e6, "tables.dead_rows": 4e5},
        {"tables.dead_rows": 2.4e5},
        [{"tables.behind": 1}, {"tables.live_rows": 1e4, "tables.dead_rows": 9e3}, *HELD],
        {"autovacuum_vacuum_scale_factor": 0.1, "autovacuum_vacuum_threshold": 50},
    ),
    Case(
        "autovacuum_memory_short",
        pg(),
        {"vacuum.index_passes": 2},
        {"vacuum.index_passes": 0.9},
        [],
        {"maintenance_work_mem": 196608},
    ),
    Case(
        "dead_rows_held",
        pg(),
        {**BEHIND, **HELD[1], "tables.live_rows": 3e5, "tables.dead_rows": 1e6, "horizon.prepared_xids": 40_000},
        {"horizon.prepared_xids": 17_900},
        [{"tables.behind": 0}, {"horizon.xids": 5e6}],
        says="that a prepared transaction, 40,000 transactions old, may still read. No setting helps: COMMIT PREPARED",
    ),
    Case(
        "wraparound_near",
        pg(),
        {**HELD_BY_NOBODY, "vacuum.oldest_xid_age": 1.2e9},
        {"vacuum.oldest_xid_age": 0.99e9},
        [],
        {"autovacuum_vacuum_cost_limit": 2000},
    ),
    Case(
        "autovacuum_keeps_up",
        pg(),
        {
            "tables.behind": 0,
            "tables.live_rows": 1e6,
            "tables.dead_rows": 5e4,
            "database.tup_updated": 9e4,
            "database.tup_deleted": 2e4,
        },
        {"database.tup_updated": 0, "database.tup_deleted": 9e3},
        [{"tables.behind": 1}, {"tables.dead_rows": 2e5}],
    ),
    Case(
        "jit_costs",
        pg(),
        {"statements.jit_ms": 9e5, "statements.exec_ms": 3e6},
        {"statements.jit_ms": 2.9e5},
        [{"statements.jit_ms": 9e3, "statements.exec_ms": 3e4}],
        {"jit": "off"},
    ),
    Case(
        "random_reads_overpriced",
        pg(random_page_cost=40, rotational=True),
        PLANS,
        {"tables.seq_rows": 9e5},
        [{"tables.seq_scans": 4}, {"database.blks_hit": 1e4}, {"tables.bare_share": 0.6}],
        {"random_page_cost": 1.1},
    ),
    Case(
        "tables_read_whole",
        pg(),
        {**PLANS, "tables.seq_scans": 4546, "tables.seq_rows": 4546 * 5e5, "tables.bare_share": 0.9},
        {"tables.seq_rows": 3.9e8},
        [{"tables.seq_scans": 4}, {"tables.bare_share": 0.4}],
        says="4,546 scans of whole tables read 500,000 rows each in 1 h, most of them in large tables that have no",
    ),
    Case(
        "sequential_reads_overpriced",
        pg(seq_page_cost=8),
        PLANS,
        {"tables.seq_scans": 4, "tables.idx_scans": 5},
        [],
        {"seq_page_cost": 1.0},
    ),
    Case(
        "cpu_costs_odd",
        pg(cpu_tuple_cost=1),
        PLANS,
        {"tables.seq_scans": 4, "tables.idx_scans": 5},
        [],
        {"cpu_tuple_cost": 0.01},
    ),
    Case(
        "cache_unknown_to_planner",
        pg(effective_cache_size="64MB"),
        PLANS,
        {"tables.seq_scans": 4, "tables.idx_scans": 5},
        [],
        {"effective_cache_size": 786432},
    ),
    Case(
        "parallel_workers_short",
        pg("18", cores=16),
        {"database.parallel_workers_to_launch": 1000, "database.parallel_workers_launched": 400},
        {"database.parallel_workers_launched": 810},
        [{"database.parallel_workers_to_launch": 19, "database.parallel_workers_launched": 1}],
    ),
    Case(
        "parallel_workers_all_busy",
        pg(cores=8, max_parallel_workers=2),
        {"workers.parallel": 1.9},
        {"workers.parallel": 1.5},
        [],
        {"max_parallel_workers": 8},
    ),
    Case(
        "parallel_workers_crowd",
        pg(cores=2, max_parallel_workers=8),
        {"workers.parallel": 8, "activity.active": 6},
        {"workers.parallel": 3.5, "activity.active": 2.3},
        [{"activity.active": 9}],
        {"max_parallel_workers_per_gather": 1, "max_parallel_workers": 2},
    ),
    Case(
        "connections_near_limit",
        pg(memory_gb=64),
        {"activity.connections": 95, "activity.places": 97},
        {"activity.connections": 82},
        [{"activity.connections": 84, "activity.places": 100}],
        {"max_connections": 150},
    ),
    Case(
        "row_locks",
        pg(),
        {"activity.active": 10, "activity.waiting_lock": 6},
        {"activity.waiting_lock": 2.9},
        [{"activity.active": 0.5, "activity.waiting_lock": 0.5}],
    ),
    Case(
        "commits_wait_for_disk",
        pg(),
        {"activity.active": 10, "activity.waiting_wal_sync": 6},
        {"activity.waiting_wal_sync": 2.9},
    ),
    Case(
        "transactions_left_open",
        pg(),
        {"activity.idle_in_transaction": 1, "activity.oldest_transaction_s": 4000},
        {"activity.oldest_transaction_s": 590},
        [{"activity.idle_in_transaction": 0}],
    ),
    Case(
        "connections_short_lived",
        pg(),
        {"database.sessions": 9e4, "database.xact_commit": 1e5},
        {"database.xact_commit": 1.9e5},
        [{"database.sessions": 1e4, "database.xact_commit": 1e4}],
    ),
)
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
                says="INNODB_TRX names its session",
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
        says="with 100 rows or fewer each, where one may have 16 MB of memory: columns of type TEXT or BLOB",
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
AOF = {"appendonly": "yes"}
REFUSED = {
    "commands.processed": 1e5,
    **{f"refusals.{kind}": 0.0 for kind in ("memory", "snapshot", "replicas", "read_only")},
    **{f"refusals.{kind}": 0.0 for kind in ("loading", "busy", "primary_down", "cluster_down")},
}
REDIS = (
    Case(
        "fork_stalls",
        a_redis(),
        {"persistence.forks": 30, "persistence.latest_fork_us": 90_000},
        {"persistence.latest_fork_us": 19_900},
        [{"persistence.forks": 1}],
        {},  # what a crash may lose does not move unasked
        "stopped all clients for 90 ms",
    ),
    Case(
        "aof_syncs_delayed",
        a_redis(settings=AOF),
        {"persistence.delayed_syncs": 40, "persistence.forks": 3},
        {"persistence.delayed_syncs": 7},
        [],
    ),
    Case(
        "aof_rewrites_frequent",
        a_redis(settings=AOF),
        {"persistence.rewrites": 30, "persistence.aof_base_bytes": 10 * MB},
        {"persistence.rewrites": 5.9},
        [],
        {"auto-aof-rewrite-min-size": 256 * MB},
    ),
    Case(
        "aof_rewrites_frequent",
        a_redis(settings=AOF),
        {"persistence.rewrites": 30, "persistence.aof_base_bytes": 2 * GB},
        {"persistence.rewrites": 5.9},
        [],
        {"auto-aof-rewrite-percentage": 400},
    ),
    Case(
        "writes_refused_memory",
        a_redis(settings={"maxmemory": str(20 * MB)}),
        {**REFUSED, "refusals.memory": 9205, "memory.used_bytes": 20 * MB, "memory.limit_bytes": 20 * MB},
        {"refusals.memory": 90},
        [{"refusals.memory": 2, "commands.processed": 3}],
        {"maxmemory": 40 * MB},
        "20 MB are in use of maxmemory = 20 MB, and maxmemory-policy = noeviction finds nothing to evict",
        policy=Policy(durability=True),
    ),
    Case(
        "writes_refused_memory",
        a_redis(settings={"maxmemory": str(GB), "maxmemory-policy": "volatile-lru"}),
        {**REFUSED, "refusals.memory": 9205, "memory.used_bytes": GB, "memory.limit_bytes": GB},
        {"refusals.memory": 90},
        says="maxmemory-policy = volatile-lru finds nothing to evict. A person could raise maxmemory",
    ),
    *(
        Case(
            f"writes_refused_{kind}",
            a_redis(),
            {**REFUSED, f"refusals.{kind}": 9205},
            {f"refusals.{kind}": 90},
            [{f"refusals.{kind}": 2, "commands.processed": 3}],
            says=f"refused ({word})",
        )
        for kind, word in (("snapshot", "MISCONF"), ("replicas", "NOREPLICAS"), ("read_only", "READONLY"))
    ),
    *(
        Case(
            "commands_refused",
            a_redis(),
            {**REFUSED, f"refusals.{kind}": 500},
            {f"refusals.{kind}": 90},
            [{f"refusals.{kind}": 2, "commands.processed": 3}],
            says=word,
        )
        for kind, word in (
            ("loading", "LOADING"),
            ("busy", "SCRIPT KILL"),
            ("primary_down", "MASTERDOWN"),
            ("cluster_down", "CLUSTER INFO"),
        )
    ),
    Case(
        "keys_evicted",
        a_redis(settings={"maxmemory": str(GB), "maxmemory-policy": "allkeys-lru"}),
        {
            "keys.evicted": 1e5,
            "keys.hits": 1e6,
            "keys.misses": 1e5,
            "memory.used_bytes": GB,
            "memory.clients_bytes": 20 * MB,
        },
        {"keys.evicted": 1.09e4},
        [{"keys.misses": 0}, {"memory.clients_bytes": 300 * MB}],
        {},
        "under maxmemory = 1 GB",
    ),
    Case(
        "memory_fragmented",
        a_redis(),
        {"memory.fragmentation_bytes": 900 * MB, "memory.fragmentation_ratio": 1.9},
        {"memory.fragmentation_ratio": 1.39},
        [{"memory.fragmentation_bytes": 99 * MB}],
        {"activedefrag": "yes"},
    ),
    Case(
        "expiry_behind",
        a_redis(),
        {"keys.expiry_cut_short": 500, "keys.stale_share": 30},
        {"keys.stale_share": 9.9},
        [{"keys.expiry_cut_short": 9}],
        {"active-expire-effort": 4},
    ),
    Case(
        "clients_refused",
        a_redis(),
        {"connections.rejected": 100, "connections.opened": 1000},
        {"connections.rejected": 10},
        [],
        {"maxclients": 20000},
    ),
    Case(
        "backlog_small",
        a_redis(),
        {"replication.failed_partial_syncs": 9, "replication.partial_syncs": 3},
        {"replication.partial_syncs": 22},
        [{"replication.failed_partial_syncs": 1}],
        {"repl-backlog-size": 4 * MB},
    ),
    Case(
        "one_thread_busy",
        a_redis(cores=8),
        {"processor.user_s": 0.6 * HOUR, "processor.system_s": 0.35 * HOUR},
        {"processor.system_s": 0.24 * HOUR},
        [],
        {"io-threads": 6},
    ),
    Case(
        "output_waits",
        a_redis(),
        {"memory.clients_bytes": 300 * MB, "memory.used_bytes": GB},
        {"memory.used_bytes": 1.6 * GB},
        [{"memory.clients_bytes": 63 * MB, "memory.used_bytes": 200 * MB}],
    ),
    Case(
        "clients_blocked",
        a_redis(),
        {"connections.blocked": 30, "connections.connected": 40},
        {"connections.blocked": 19},
        [{"connections.connected": 9, "connections.blocked": 8}],
    ),
)


def hosted(**values: str) -> Server:
    """A server whose agent opens the host's settings."""
    kernel = {
        "vm.swappiness": ServerSetting("60", "", "integer", 0, 200, applies="immediate"),
        "vm.dirty_bytes": ServerSetting("0", "B", "integer", 0, 2**63 - 1, applies="immediate"),
        "vm.dirty_background_bytes": ServerSetting("0", "B", "integer", 0, 2**63 - 1, applies="immediate"),
        "vm.nr_hugepages": ServerSetting("0", "2048kB", "integer", 0, 2**31 - 1, applies="immediate"),
        "data_disk.read_ahead_kb": ServerSetting("8192", "kB", "integer", 0, 2**31 - 1, applies="immediate"),
    }
    server = pg()
    told = {n: replace(s, value=values.get(n, s.value)) for n, s in kernel.items()}
    return replace(server, settings={**server.settings, **told})


HOST = (
    Case(
        "swapping",
        hosted(),
        {"host.swap_in_bytes": HOUR * 2 * MB, "host.swap_out_bytes": HOUR * MB},
        {"host.swap_in_bytes": HOUR * 127 * 1024},
        [],
        {"vm.swappiness": 10},
        "2 MB came back from swap each second",
        policy=Policy(host=True),
    ),
    Case(
        "write_back_storm",
        hosted(),
        {"host.dirty_bytes": 400 * MB, "host.io_waiting_s": 0.5 * HOUR, "host.disk_write_bytes": HOUR * 40 * MB},
        {"host.dirty_bytes": 79 * MB},
        [{"host.io_waiting_s": 0.1 * HOUR}, {"host.dirty_bytes": 60 * MB, "host.disk_write_bytes": HOUR * 10 * MB}],
        {"vm.dirty_background_bytes": 20 * MB, "vm.dirty_bytes": 160 * MB},
        "400 MB wait to be written, 10 s of work for a disk that wrote 40 MB/s",
        policy=Policy(host=True),
    ),
    Case(
        "page_tables_large",
        hosted(),
        {"host.page_tables_bytes": 0.4 * GB, "activity.connections": 90},
        {"host.page_tables_bytes": 0.15 * GB},
        [{"host.page_tables_bytes": 100 * MB}],
        {"vm.nr_hugepages": 112},
        "Page tables hold 410 MB, 5 % of the server's memory: 90 connections map 208 MB",
        policy=Policy(host=True),
    ),
    Case(
        "processors_stolen",
        hosted(),
        {"host.cpu_steal_s": HOUR, "host.cpu_user_s": 2 * HOUR, "host.cpu_system_s": HOUR},
        {"host.cpu_user_s": 9 * HOUR},
        [{"host.cpu_steal_s": 0.04 * HOUR, "host.cpu_user_s": 0, "host.cpu_system_s": 0.01 * HOUR}],
        says="took 25 % of the processor time",
    ),
    Case(
        "processors_throttled",
        hosted(),
        {"host.cpu_throttled_s": 0.4 * HOUR},
        {"host.cpu_throttled_s": 0.04 * HOUR},
        says="kept its processors stopped for 400 ms of each second",
    ),
    Case(
        "kernel_read_ahead_wasted",
        hosted(),
        {"database.blks_read": 100_000, "host.disk_read_bytes": 8 * GB},
        {"host.disk_read_bytes": 1.4 * GB},
        [{"database.blks_read": 900}, {"host.disk_read_bytes": 60 * MB, "database.blks_read": 1000}],
        {"data_disk.read_ahead_kb": 128},
        "The disk read 8 GB in 1 h, and the server asked the kernel for 781 MB.",
        policy=Policy(host=True),
    ),
)
STANDBY = {
    "activity.waiting_standby": 12,
    "activity.longest_wait_for_standby_s": 90,
    "replication.synchronous": 0,
}
BLOCKED = {"activity.waiting_lock": 19, "activity.active": 20, "activity.oldest_transaction_s": 300}
SLOTS = {"slots.inactive": 1, "slots.inactive_bytes": 20 * GB}
HARM = (
    Case(
        "commits_wait_for_standby",
        pg(),
        STANDBY,
        {"activity.longest_wait_for_standby_s": 4},
        [{"replication.synchronous": 1}, {"activity.waiting_standby": 0}],
        says="synchronous standby to confirm their commit: 12, the longest for 1.5 min.",
        executes=["ALTER SYSTEM SET synchronous_standby_names = '';", RELOAD],
    ),
    Case(
        "all_wait_for_locks",
        pg(),
        BLOCKED,
        {"activity.waiting_lock": 15},
        [{"activity.waiting_lock": 4, "activity.active": 4}, {"activity.oldest_transaction_s": 9}],
        says="19 of 20 active sessions wait for locks, and a transaction is open for 5 min.",
    ),
    Case(
        "archiving_fails",
        pg(archive_mode="on"),
        {"archiver.failing_s": 7200},
        {"archiver.failing_s": 59},
        says="archive_command has failed since the last success 2 h ago",
        quiet=[pg()],
    ),
    Case(
        "slot_holds_log",
        pg(),
        SLOTS,
        {"slots.inactive_bytes": 2.4 * GB},
        [{"slots.inactive": 0}],
        says="Replication slots without a reader: 1. They hold 20 GB of log back",
        quiet=[pg(max_slot_wal_keep_size="10GB")],
    ),
    Case("slots_lost", pg(), {"slots.lost": 1}, {"slots.lost": 0}, says="Replication slots that are lost: 1."),
    Case(
        "writes_not_forced",
        pg(fsync="off"),
        quiet=[pg()],
        executes=["ALTER SYSTEM SET fsync = on;", RELOAD],
    ),
    Case("pages_may_tear", pg(full_page_writes="off"), quiet=[pg()]),
    Case("commits_not_safe", pg(synchronous_commit="off"), quiet=[pg()], says="wal_writer_delay, 200 ms"),
    Case(
        "damage_is_ignored",
        pg(zero_damaged_pages="on", ignore_system_indexes="on"),
        quiet=[pg()],
        says="in daily use: zero_damaged_pages, ignore_system_indexes.",
        executes=[
            "ALTER SYSTEM SET zero_damaged_pages = off;",
            "ALTER SYSTEM SET ignore_system_indexes = off;",
            RELOAD,
        ],
    ),
    Case("damage_is_not_seen", pg(), quiet=[pg("18")]),
    Case("rows_not_counted", pg(track_counts="off"), quiet=[pg()]),
    Case(
        "memory_beyond_host",
        pg(memory_gb=16, work_mem="4GB"),
        cures={"work_mem": 56 * 1024, "max_connections": None},
        says="The settings allow 697 GB of memory, and this server can have 16 GB. The largest part is sorts and",
        quiet=[pg(memory_gb=16), pg(memory_gb=16, work_mem="64MB")],
    ),
    Case(
        "planner_switches_off",
        pg(enable_seqscan="off", enable_nestloop="off"),
        quiet=[pg()],
        says="Off: enable_nestloop, enable_seqscan.",
        executes=["ALTER SYSTEM SET enable_nestloop = on;", "ALTER SYSTEM SET enable_seqscan = on;", RELOAD],
    ),
    Case(
        "every_statement_logged",
        pg(log_min_duration_statement=0),
        quiet=[pg(), pg(log_min_duration_statement="1s", log_statement="ddl")],
    ),
    Case(
        "statements_cut_short",
        pg(statement_timeout=30),
        quiet=[pg(), pg(statement_timeout="10s", lock_timeout="2s")],
        says="cancels every statement after 30 ms",
    ),
)
CASES = (*POSTGRESQL, *HARM, *HOST, *MYSQLDS, *REDIS)

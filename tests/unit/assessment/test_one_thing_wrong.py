"""Well-tuned servers under a load with one thing wrong: what is named first, and which way which setting moves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pytest
from lutra_models.evidence import Way

from tests.unit.assessment.injected import (
    GB,
    HOUR,
    INNODB_OWN,
    MB,
    Numbers,
    Seen,
    busy,
    innodb,
    moves,
    postgresql,
    redis,
    strong,
)

BOTH = ("mysql", "mariadb")
REDO_SETTING = {"mysql": "innodb_redo_log_capacity", "mariadb": "innodb_log_file_size"}


@dataclass(frozen=True)
class Fault:
    """`first` is the symptom that is named first; `moved` are all settings that are proposed, each with its way."""

    seen: Seen
    first: str
    moved: Mapping[str, Way]


def age(engine: str, size: float) -> Numbers:
    """The bytes in use of the redo log."""
    return dict.fromkeys(INNODB_OWN[engine], size)


DEAD = {"tables.behind": 6, "tables.dead_rows": 9e6}
MISSES = {"database.blks_read": 3e7, "bgwriter.buffers_alloc": 3e7, "host.disk_read_bytes": 100.0 * GB}
SPILLS = {"database.temp_files": 30_000, "database.temp_bytes": 30_000 * 3.0 * MB}
OPEN = {"sessions.idle_in_transaction": 3, "sessions.idle_in_transaction_s": 7000}
NAMED: Mapping[str, Fault] = {
    "PostgreSQL: max_wal_size of 512 MB": Fault(
        busy(postgresql(max_wal_size="512MB"), {"checkpointer.requested": 22, "checkpointer.timed": 0}),
        "checkpoints_forced",
        {"max_wal_size": "raise"},
    ),
    "PostgreSQL: a checkpoint each minute": Fault(
        busy(
            postgresql(checkpoint_timeout="1min"),
            {"checkpointer.timed": 60, "wal.full_page_images": 1.8e6, "wal.bytes": 8.0 * GB},
        ),
        "full_page_images",
        {"checkpoint_timeout": "raise"},
    ),
    "PostgreSQL: images of pages that nothing compresses": Fault(
        busy(postgresql(wal_compression="off"), {"wal.full_page_images": 6e5}),
        "wal_uncompressed",
        {"wal_compression": "set"},
    ),
    "PostgreSQL: shared_buffers of 128 MB": Fault(
        busy(postgresql(shared_buffers="128MB"), MISSES), "buffers_small", {"shared_buffers": "raise"}
    ),
    "PostgreSQL: work_mem of 1 MB": Fault(
        busy(postgresql(work_mem="1MB"), SPILLS), "sorts_spill", {"work_mem": "raise"}
    ),
    "PostgreSQL: sorts of gigabytes": Fault(
        busy(postgresql(), {"database.temp_files": 60, "database.temp_bytes": 120.0 * GB}), "spills_beyond_memory", {}
    ),
    "PostgreSQL: wal_buffers of 64 kB": Fault(
        busy(postgresql(wal_buffers="64kB"), {"wal.buffers_full": 3e5}), "wal_buffers_full", {"wal_buffers": "raise"}
    ),
    "PostgreSQL: vacuum pauses 20 ms": Fault(
        busy(
            postgresql(autovacuum_vacuum_cost_delay="20ms"),
            {},
            {**DEAD, "workers.vacuuming": 2.6, "workers.vacuum_delayed": 2.4},
        ),
        "autovacuum_throttled",
        {"autovacuum_vacuum_cost_limit": "set", "autovacuum_vacuum_cost_delay": "lower"},
    ),
    "PostgreSQL: vacuum with one worker": Fault(
        busy(
            postgresql("18", autovacuum_max_workers=1),
            {},
            {**DEAD, "workers.vacuuming": 1, "workers.vacuum_delayed": 0.1},
        ),
        "autovacuum_workers_short",
        {"autovacuum_max_workers": "raise"},
    ),
    "PostgreSQL: vacuum comes each hour": Fault(
        busy(postgresql(autovacuum_naptime="1h"), {}, {**DEAD, "workers.vacuuming": 0, "workers.vacuum_delayed": 0}),
        "autovacuum_naps",
        {"autovacuum_naptime": "lower"},
    ),
    "PostgreSQL: rows alone say when vacuum comes, and too many of them": Fault(
        busy(
            postgresql(autovacuum_vacuum_scale_factor=0, autovacuum_vacuum_threshold=5_000_000),
            {},
            {"tables.live_rows": 2e7, "tables.dead_rows": 9e6},
        ),
        "autovacuum_late",
        {"autovacuum_vacuum_threshold": "lower"},
    ),
    "PostgreSQL: a session that forgot its transaction": Fault(
        busy(postgresql(), {}, {**DEAD, **OPEN, "workers.vacuuming": 2.6, "workers.vacuum_delayed": 2.4}),
        "transactions_left_open",
        {},
    ),
    "PostgreSQL: a session that forgot its transaction, and vacuum that pauses for nothing": Fault(
        busy(postgresql(), {}, {**DEAD, **OPEN, "workers.vacuuming": 3, "workers.vacuum_delayed": 0}),
        "transactions_left_open",
        {},
    ),
    "PostgreSQL: a short list of dead rows": Fault(
        busy(postgresql(maintenance_work_mem="16MB"), {}, {"vacuum.index_passes": 3}),
        "autovacuum_memory_short",
        {"maintenance_work_mem": "raise"},
    ),
    "PostgreSQL: a list of dead rows that a setting cannot lengthen": Fault(
        busy(postgresql("16", memory_gb=64, maintenance_work_mem="1GB"), {}, {"vacuum.index_passes": 3}),
        "autovacuum_memory_short",
        {},
    ),
    "PostgreSQL: transaction ids run out": Fault(
        busy(postgresql(), {}, {"vacuum.oldest_xid_age": 1.5e9}),
        "wraparound_near",
        {"autovacuum_vacuum_cost_limit": "set"},
    ),
    "PostgreSQL: short queries are compiled": Fault(
        busy(postgresql(), {"statements.jit_ms": 2e6}), "jit_costs", {"jit": "set"}
    ),
    "PostgreSQL: pages at random are called dear on a fast disk": Fault(
        busy(
            postgresql(random_page_cost=40),
            {"tables.seq_scans": 800, "tables.seq_rows": 4e9},
            {"indexes.foreign_key_share": 0, "indexes.used_share": 0.1},
        ),
        "random_reads_overpriced",
        {"random_page_cost": "lower"},
    ),
    "PostgreSQL: helpers for every query": Fault(
        busy(
            postgresql(max_parallel_workers_per_gather=4, max_worker_processes=64, max_parallel_workers=32),
            {},
            {"workers.parallel": 28, "activity.active": 9},
        ),
        "parallel_workers_crowd",
        {"max_parallel_workers_per_gather": "lower", "max_parallel_workers": "lower"},
    ),
    "PostgreSQL: a storm of connections": Fault(
        busy(postgresql(), {"database.sessions": 2e6, "database.xact_commit": 2.5e6}), "connections_short_lived", {}
    ),
    "PostgreSQL: nearly no connection is left": Fault(
        busy(postgresql(memory_gb=64), {}, {"activity.connections": 98}),
        "connections_near_limit",
        {"max_connections": "raise"},
    ),
    "PostgreSQL: one row that all want": Fault(busy(postgresql(), {}, {"activity.waiting_lock": 5}), "row_locks", {}),
    "PostgreSQL: a slow disk for commits": Fault(
        busy(postgresql(), {}, {"activity.waiting_wal_sync": 5}), "commits_wait_for_disk", {}
    ),
    "PostgreSQL: neighbours take the processors": Fault(
        busy(postgresql(), {"host.cpu_steal_s": 6000}), "processors_stolen", {}
    ),
    "PostgreSQL: the quota stops the server": Fault(
        busy(postgresql(), {"host.cpu_throttled_s": 2000}), "processors_throttled", {}
    ),
    **{
        f"{e}: redo of 100 MB": Fault(
            busy(
                innodb(e, **{REDO_SETTING[e]: "100M"}),
                {"redo.written_bytes": HOUR * 2 * MB},
                age(e, 80.0 * MB),
            ),
            "redo_full",
            {REDO_SETTING[e]: "raise"},
        )
        for e in BOTH
    },
    **{
        f"{e}: a log buffer of 2 MB": Fault(
            busy(innodb(e, innodb_log_buffer_size="2M"), {"redo.waits": 9000}),
            "log_buffer_full",
            {"innodb_log_buffer_size": "raise"},
        )
        for e in BOTH
    },
    **{
        f"{e}: a pool of 1 GB": Fault(
            busy(
                innodb(e, innodb_buffer_pool_size="1G"),
                {
                    "buffer_pool.reads": 2e7,
                    "buffer_pool.read_ahead": 1e6,
                    "buffer_pool.read_ahead_evicted": 6e5,
                },
                {"buffer_pool.pages_total": 65_536, "buffer_pool.pages_free": 1000, "buffer_pool.pages_dirty": 9000},
            ),
            "pool_small",
            {"innodb_buffer_pool_size": "raise"},
        )
        for e in BOTH
    },
    **{
        f"{e}: every page is flushed at once": Fault(
            busy(
                innodb(e, innodb_max_dirty_pages_pct=0),
                {"buffer_pool.pages_flushed": HOUR * 1500},
                {"buffer_pool.pages_dirty": 60},
            ),
            "dirty_pages_near_limit",
            {"innodb_max_dirty_pages_pct": "raise"},
        )
        for e in BOTH
    },
    **{
        f"{e}: flushing too timid": Fault(
            busy(
                innodb(e, innodb_io_capacity=200, innodb_io_capacity_max=400),
                {"buffer_pool.pages_flushed": HOUR * 390},
                {"buffer_pool.pages_dirty": 400_000},
            ),
            "flushing_at_its_limit",
            {"innodb_io_capacity": "raise", "innodb_io_capacity_max": "raise"},
        )
        for e in BOTH
    },
    **{
        f"{e}: a table cache of 10": Fault(
            busy(
                innodb(e, table_open_cache=10),
                {"caches.table_misses": 3e6, "caches.table_hits": 3e6, "caches.table_overflows": 3e6},
            ),
            "table_cache_small",
            {"table_open_cache": "raise"},
        )
        for e in BOTH
    },
    **{
        f"{e}: no thread is kept": Fault(
            busy(innodb(e, thread_cache_size=0), {"threads.connections": 2e5, "threads.created": 2e5}),
            "threads_not_cached",
            {"thread_cache_size": "raise"},
        )
        for e in BOTH
    },
    **{
        f"{e}: sorts in 32 kB": Fault(
            busy(innodb(e, sort_buffer_size="32K"), {"statements.sort_merge_passes": 4e4}),
            "sorts_merge",
            {"sort_buffer_size": "raise"},
        )
        for e in BOTH
    },
    **{
        f"{e}: transactions larger than their cache": Fault(
            busy(innodb(e, binlog_cache_size="4K"), {"binlog.cache_disk_uses": 6e5}),
            "binlog_cache_small",
            {"binlog_cache_size": "raise"},
        )
        for e in BOTH
    },
    **{
        f"{e}: a session that forgot its transaction": Fault(
            busy(
                innodb(e, innodb_purge_threads=1),
                {},
                {"open_transactions.oldest_s": 7000, "innodb_metrics.trx_rseg_history_len": 3e6},
            ),
            "purge_held_back",
            {},
        )
        for e in BOTH
    },
    **{
        f"{e}: rows that all want": Fault(
            busy(innodb(e), {"row_locks.waits": 1e5, "row_locks.wait_ms": 3e7}), "row_locks", {}
        )
        for e in BOTH
    },
    **{
        f"{e}: tables are read whole": Fault(
            busy(innodb(e), {"statements.handler_read_rnd_next": 6e10}), "tables_read_whole", {}
        )
        for e in BOTH
    },
    "mariadb: temporary tables bounded by max_heap_table_size": Fault(
        busy(
            innodb("mariadb", tmp_table_size="512M", max_heap_table_size="16M", memory_gb=64),
            {"temporary.disk_tables": 2e4},
        ),
        "temporary_tables_on_disk",
        {"max_heap_table_size": "raise"},
    ),
    "mysql: temporary tables of the engine MEMORY": Fault(
        busy(
            innodb("mysql", internal_tmp_mem_storage_engine="MEMORY", max_heap_table_size="4M", memory_gb=64),
            {"temporary.disk_tables": 2e4},
        ),
        "temporary_tables_on_disk",
        {"max_heap_table_size": "raise"},
    ),
    "mysql: temporary tables of TempTable": Fault(
        busy(innodb("mysql", tmp_table_size="1M"), {"temporary.disk_tables": 2e4}),
        "temporary_tables_on_disk",
        {"tmp_table_size": "raise"},
    ),
    "mysql: few may enter InnoDB": Fault(
        busy(innodb("mysql", innodb_thread_concurrency=2), {}, {"threads.running": 30}),
        "threads_held_back",
        {"innodb_thread_concurrency": "lower"},
    ),
    "Redis: rewrites of a large file": Fault(
        busy(redis(appendonly="yes"), {"persistence.rewrites": 40, "persistence.forks": 40}),
        "aof_rewrites_frequent",
        {"auto-aof-rewrite-percentage": "raise"},
    ),
    "Redis: rewrites of a small file": Fault(
        busy(
            redis(appendonly="yes"),
            {"persistence.rewrites": 40, "persistence.forks": 40},
            {"persistence.aof_base_bytes": 20.0 * MB},
        ),
        "aof_rewrites_frequent",
        {"auto-aof-rewrite-min-size": "raise"},
    ),
    "Redis: a fragmented heap": Fault(
        busy(redis(), {}, {"memory.fragmentation_ratio": 1.9, "memory.fragmentation_bytes": 3.0 * GB}),
        "memory_fragmented",
        {"activedefrag": "set"},
    ),
    "Redis: forks that stop the clients": Fault(
        busy(redis(), {"persistence.forks": 60}, {"persistence.latest_fork_us": 300_000}), "fork_stalls", {}
    ),
    "Redis: a disk too slow for the append-only file": Fault(
        busy(redis(appendonly="yes"), {"persistence.delayed_syncs": 300, "persistence.forks": 0}),
        "aof_syncs_delayed",
        {},
    ),
    "Redis: a backlog of 1 MB": Fault(
        busy(redis(repl_backlog_size=str(MB)), {"replication.failed_partial_syncs": 30}),
        "backlog_small",
        {"repl-backlog-size": "raise"},
    ),
    "Redis: one thread for all": Fault(
        busy(redis(), {"processor.user_s": 2200, "processor.system_s": 1300}),
        "one_thread_busy",
        {"io-threads": "raise"},
    ),
    "Redis: clients that do not read": Fault(busy(redis(), {}, {"memory.clients_bytes": 3.0 * GB}), "output_waits", {}),
    "Redis: clients are refused": Fault(
        busy(redis(maxclients="1000"), {"connections.rejected": 4000}), "clients_refused", {"maxclients": "raise"}
    ),
}


@pytest.mark.parametrize("which", NAMED)
def test_it_is_named_first_and_nothing_else_moves(which: str) -> None:
    fault = NAMED[which]
    found = fault.seen.evidence()
    assert [f.name for f in strong(found)][:1] == [fault.first]
    assert {m.setting: m.way for m in moves(found)} == dict(fault.moved)

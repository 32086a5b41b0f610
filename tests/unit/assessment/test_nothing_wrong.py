"""Servers with nothing wrong: whoever approves each change would have to refuse whatever is proposed for them."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from tests.unit.assessment.injected import (
    HOUR,
    MB,
    MINUTE,
    Seen,
    busy,
    idle,
    innodb,
    moves,
    postgresql,
    redis,
    strong,
)

VERSIONS = ("15", "16", "18")
INNODBS = ("mysql", "mariadb")
BATCH = {"database.temp_files": 24, "database.temp_bytes": 24 * 90.0 * MB, "checkpointer.requested": 1}
HEALTHY: Mapping[str, Seen] = {
    **{f"PostgreSQL {v}, busy": busy(postgresql(v), {"io.backend_writes": 9000}) for v in VERSIONS},
    **{f"PostgreSQL {v}, idle": idle(postgresql(v), {"size.bytes": 8.0 * MB}) for v in VERSIONS},
    "PostgreSQL, a minute after its start": busy(
        postgresql(shared_buffers="2GB"),
        {
            "database.blks_read": 3e5,
            "database.blks_hit": 2e6,
            "bgwriter.buffers_alloc": 2.9e5,
            "wal.bytes": 80.0 * MB,
            "wal.full_page_images": 9000,
            "checkpointer.timed": 0,
            "database.xact_commit": 1e5,
            "statements.exec_ms": 9e4,
            "statements.jit_ms": 400,
        },
        {"tables.unanalyzed": 3},
        seconds=MINUTE,
    ),
    "PostgreSQL with a small database": busy(
        postgresql(shared_buffers="512MB", memory_gb=2, effective_cache_size="1536MB", work_mem="8MB"),
        {"database.blks_read": 10, "bgwriter.buffers_alloc": 5000},
        {
            "size.bytes": 300.0 * MB,
            "tables.live_rows": 2e5,
            "tables.dead_rows": 9000,
            "host.page_tables_bytes": 9.0 * MB,
        },
    ),
    "PostgreSQL, a standby that is read": busy(
        postgresql(),
        {
            "checkpointer.timed": 4,
            "wal.bytes": 0,
            "wal.full_page_images": 0,
            "wal.buffers_full": 0,
            "database.tup_updated": 0,
            "database.tup_deleted": 0,
        },
        {"replication.standbys": 0, "workers.vacuuming": 0, "workers.vacuum_delayed": 0},
    ),
    "PostgreSQL, a batch at night": busy(
        postgresql(),
        {
            **BATCH,
            "database.blks_read": 2e6,
            "bgwriter.buffers_alloc": 2e6,
            "tables.seq_scans": 60,
            "tables.seq_rows": 9e7,
            "host.io_waiting_s": 600,
        },
        {"activity.oldest_transaction_s": 900, "activity.idle_in_transaction": 0},
    ),
    "PostgreSQL, CHECKPOINT by a backup now and then": busy(
        postgresql(), {"checkpointer.requested": 3, "checkpointer.timed": 4}
    ),
    "PostgreSQL, rows freed under a threshold that is meant": busy(
        postgresql(autovacuum_vacuum_scale_factor=0, autovacuum_vacuum_threshold=100_000)
    ),
    **{f"{e}, busy": busy(innodb(e)) for e in INNODBS},
    **{f"{e}, idle": idle(innodb(e), {"buffer_pool.pages_free": 640_000}) for e in INNODBS},
    **{
        f"{e}, minutes after its start": busy(
            innodb(e),
            {"buffer_pool.reads": 5e5, "buffer_pool.read_requests": 9e6, "caches.table_misses": 600},
            {"buffer_pool.pages_free": 300_000, "server.up_s": 400},
            seconds=5 * MINUTE,
        )
        for e in INNODBS
    },
    **{
        f"{e}, its pool just full": busy(
            innodb(e, innodb_buffer_pool_size="9G"),
            {"buffer_pool.reads": 6e5, "buffer_pool.read_requests": 2e7},
            {"buffer_pool.pages_free": 300_000, "server.up_s": 1800},
            seconds=HOUR / 2,
            further=[{"buffer_pool.pages_free": n} for n in (150_000, 40_000, 3000, 3000, 3000)],
        )
        for e in INNODBS
    },
    **{
        f"{e}, a small database": busy(
            innodb(e, memory_gb=2, innodb_buffer_pool_size="1G"),
            {"buffer_pool.reads": 10},
            {"buffer_pool.pages_total": 65_536, "buffer_pool.pages_free": 60_000, "buffer_pool.pages_dirty": 300},
        )
        for e in INNODBS
    },
    **{
        f"{e}, a dump at night": busy(
            innodb(e),
            {
                "buffer_pool.reads": 8e5,
                "buffer_pool.read_requests": 8e8,
                "buffer_pool.read_ahead": 3e6,
                "buffer_pool.read_ahead_evicted": 3e4,
            },
            {"open_transactions.oldest_s": 500},
        )
        for e in INNODBS
    },
    **{
        f"{e}, a replica": busy(
            innodb(e), {"binlog.cache_uses": 0, "binlog.cache_disk_uses": 0, "statements.select": 10}
        )
        for e in INNODBS
    },
    "MySQL, a roomy temporary table and a small MEMORY table": busy(
        innodb(
            "mysql", tmp_table_size="512M", memory_gb=64, innodb_buffer_pool_size="44G", innodb_redo_log_capacity="8G"
        ),
        {"temporary.disk_tables": 2e4},
    ),
    "Redis, busy": busy(redis()),
    "Redis, idle": idle(redis(), {"memory.used_bytes": 1.0 * MB, "connections.connected": 1, "connections.blocked": 0}),
    "Redis, a tiny data set in a fragmented heap": busy(
        redis(),
        {},
        {"memory.used_bytes": 2.0 * MB, "memory.fragmentation_ratio": 9.0, "memory.fragmentation_bytes": 16 * MB},
    ),
    "Redis, one full copy to a new replica": busy(
        redis(), {"replication.failed_partial_syncs": 1, "persistence.forks": 1}
    ),
    "Redis, workers that wait for work": busy(redis(), {}, {"connections.blocked": 4, "connections.connected": 9}),
}
"""By what they are. On some of them a symptom may show and not be acted on."""


@pytest.mark.parametrize("which", HEALTHY)
def test_nothing_is_proposed(which: str) -> None:
    found = HEALTHY[which].evidence()
    assert [f"{f.name}: {f.sentence}" for f in strong(found)] == []
    assert moves(found) == []
    assert found.evaluated > 5


@pytest.mark.parametrize("which", [w for w in HEALTHY if "idle" in w or "start" in w])
def test_a_server_that_idles_or_only_started_is_not_advised_to_give_memory_back(which: str) -> None:
    found = HEALTHY[which].evidence()
    asked = {m.setting for f in found.findings if f.ground == "enough" for m in f.moves if m.after is not None}
    assert not asked & {"shared_buffers", "innodb_buffer_pool_size"}


def test_memory_that_is_never_used_is_seen_under_a_load() -> None:
    roomy = busy(
        postgresql(),
        {"database.blks_read": 10, "database.own_blocks": 2e8, "bgwriter.buffers_alloc": 100},
        {"size.bytes": 300.0 * MB},
    )
    (move,) = (m for f in roomy.evidence().findings if f.name == "buffers_roomy" for m in f.moves)
    assert 300 * MB < float(move.after or 0) * 8192 <= 450 * MB

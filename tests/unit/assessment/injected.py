"""Servers with one thing wrong, and servers with nothing wrong: the settings, and what their windows would bring.

Counts are of all windows together, as a server's counters would have grown; levels are gauges. The servers are well
tuned apart from what is named, so that no rule for the hardware speaks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from lutra_models.assessment import assess
from lutra_models.catalog import meet
from lutra_models.evidence import Evidence, Finding, Move
from lutra_models.server import Policy, Server
from lutra_models.symptoms import MeasuredWindow, diagnose

from tests.support.reported.mysql import a_mysqld
from tests.support.reported.postgresql import GB, a_server
from tests.support.reported.redis import a_redis

KB, MB = 2**10, 2**20
MINUTE, HOUR, DAY = 60.0, 3600.0, 86400.0
Numbers = Mapping[str, float]
STRONG = 0.4
"""From this strength on a symptom is acted on."""
PLAIN = Policy()

POSTGRESQL: Mapping[str, str | int | float] = {
    "shared_buffers": "4GB",
    "work_mem": "32MB",
    "maintenance_work_mem": "512MB",
    "effective_cache_size": "12GB",
    "max_wal_size": "8GB",
    "checkpoint_timeout": "15min",
    "wal_compression": "pglz",
    "random_page_cost": 1.1,
    "effective_io_concurrency": 200,
}
INNODB: Mapping[str, str | int | float] = {
    "innodb_buffer_pool_size": "10G",
    "sync_binlog": 1,
    "binlog_expire_logs_seconds": 864_000,
}
REDO = {"mysql": {"innodb_redo_log_capacity": "4G"}, "mariadb": {"innodb_log_file_size": "4G"}}
SETS_CONNECTIONS = {"peak_connections": 40}


def postgresql(version: str = "15", *, memory_gb: float = 16, disk_gb: float = 100, **other: Any) -> Server:
    return a_server(version, memory_gb, disk_gb=disk_gb, **{**SETS_CONNECTIONS, **POSTGRESQL, **other})


def innodb(engine: str, *, memory_gb: float = 16, disk_gb: float = 100, **other: Any) -> Server:
    chosen = {**INNODB, **REDO[engine], **other}
    server = a_mysqld(engine, memory_gb, **SETS_CONNECTIONS, **chosen)
    settings = {n: replace(s, source="config") if n in chosen else s for n, s in server.settings.items()}
    return replace(server, settings=settings, host=replace(server.host, disk_bytes=int(disk_gb * GB)))


def redis(**other: str) -> Server:
    return a_redis(16, settings={n.replace("_", "-"): v for n, v in other.items()})


@dataclass(frozen=True)
class Seen:
    """What a server's windows bring: `counts` over all of the `seconds`, and `levels` within them."""

    server: Server
    counts: Numbers = field(default_factory=dict)
    levels: Numbers = field(default_factory=dict)
    seconds: float = HOUR
    policy: Policy = PLAIN
    further: Sequence[Numbers] = ()
    """Levels of later windows of the same length and rates, where these differ from the first one's."""

    def evidence(self) -> Evidence:
        live = meet(self.server)
        per_s = {f"{name}_per_s": count / self.seconds for name, count in self.counts.items()}
        every = [self.levels, *({**self.levels, **more} for more in self.further)]
        windows = [MeasuredWindow(self.seconds / len(every), {**per_s, **levels}) for levels in every]
        return assess(live, self.policy, diagnose(live, self.policy, windows))


def strong(found: Evidence) -> list[Finding]:
    """What an operator is told of, the one worth most first: what is enough is no news."""
    return [f for f in found.findings if f.ground != "enough" and f.strength >= STRONG]


def moves(found: Evidence) -> list[Move]:
    """All that would be proposed."""
    return [m for f in strong(found) if f.ground != "elsewhere" for m in f.moves if m.after is not None]


# An hour of a well-tuned server under a good load, as an agent's windows of it read.

POSTGRESQL_COUNTS: Numbers = {
    "checkpointer.requested": 0,
    "checkpointer.timed": 4,
    "checkpointer.buffers_written": 200_000,
    "checkpointer.sync_ms": 800,
    "wal.bytes": 6.0 * GB,
    "wal.full_page_images": 150_000,
    "wal.buffers_full": 100,
    "database.xact_commit": 7.2e6,
    "database.blks_hit": 2e8,
    "database.blks_read": 4e5,
    "database.own_blocks": 1.9e8,
    "database.temp_files": 4,
    "database.temp_bytes": 60.0 * MB,
    "database.tup_updated": 4e6,
    "database.tup_deleted": 1e5,
    "database.sessions": 2000,
    "horizon.xids": 3e6,
    "bgwriter.buffers_alloc": 4e5,
    "bgwriter.buffers_clean": 3e4,
    "bgwriter.maxwritten_clean": 20,
    "tables.seq_scans": 5000,
    "tables.seq_rows": 2.5e6,
    "tables.idx_scans": 1e8,
    "statements.jit_ms": 2e4,
    "statements.exec_ms": 4e6,
}
HOST_COUNTS: Numbers = {
    "host.swap_in_bytes": 0,
    "host.swap_out_bytes": 0,
    "host.io_waiting_s": 100,
    "host.disk_read_bytes": 2.5 * GB,
    "host.disk_write_bytes": 12.0 * GB,
    "host.disk_busy_ms": 9e5,
    "host.cpu_user_s": 5000,
    "host.cpu_system_s": 1500,
    "host.cpu_steal_s": 30,
}
HOST_LEVELS: Numbers = {"host.dirty_bytes": 30.0 * MB, "host.page_tables_bytes": 60.0 * MB}
POSTGRESQL_LEVELS: Numbers = {
    "tables.live_rows": 5e7,
    "tables.dead_rows": 1e6,
    "tables.behind": 0,
    "tables.unanalyzed": 0,
    "tables.bare_share": 0.1,
    "size.bytes": 40.0 * GB,
    "workers.vacuuming": 0.3,
    "workers.vacuum_delayed": 0.2,
    "workers.parallel": 0.1,
    "activity.connections": 30,
    "activity.active": 6,
    "activity.waiting_lock": 0.3,
    "activity.waiting_wal_sync": 1,
    "activity.idle_in_transaction": 2,
    "activity.oldest_transaction_s": 2,
    "vacuum.index_passes": 0,
    "vacuum.oldest_xid_age": 1.5e8,
    "horizon.session_xids": 200,
    "horizon.prepared_xids": 0,
    "horizon.prepared_s": 0,
    "horizon.slot_xids": 0,
    "horizon.slot_catalog_xids": 0,
    "horizon.standby_xids": 300,
    "horizon.server_xids": 300,
    "replication.standbys": 1,
}
INNODB_COUNTS: Numbers = {
    "redo.written_bytes": HOUR * 0.5 * MB,
    "redo.waits": 0,
    "buffer_pool.read_requests": 4e8,
    "buffer_pool.reads": 3e5,
    "buffer_pool.wait_free": 0,
    "buffer_pool.pages_flushed": HOUR * 120,
    "buffer_pool.read_ahead": 4000,
    "buffer_pool.read_ahead_evicted": 100,
    "temporary.tables": 3e4,
    "temporary.disk_tables": 300,
    "temporary.rows": 3e9,
    "temporary.count_hit_limit": 0,
    "statements.sort_merge_passes": 20,
    "statements.sort_range": 2e4,
    "statements.sort_scan": 2e4,
    "statements.full_join": 40,
    "statements.select": 5e6,
    "statements.handler_read_rnd_next": 2e7,
    "statements.handler_read_key": 4e7,
    "statements.handler_read_next": 8e7,
    "caches.table_hits": 6e6,
    "caches.table_misses": 50,
    "caches.table_overflows": 0,
    "caches.opened_definitions": 30,
    "caches.key_read_requests": 10,
    "binlog.cache_uses": 1e6,
    "binlog.cache_disk_uses": 900,
    "binlog.written_bytes": 2.0 * GB,
    "threads.connections": 3000,
    "threads.created": 20,
    "row_locks.waits": 500,
    "row_locks.wait_ms": 9000,
}
INNODB_LEVELS: Numbers = {
    "buffer_pool.pages_total": 655_360,
    "buffer_pool.pages_free": 5000,
    "buffer_pool.pages_dirty": 40_000,
    "innodb_metrics.trx_rseg_history_len": 900,
    "caches.open_tables": 600,
    "caches.open_definitions": 500,
    "caches.key_blocks_used": 20,
    "threads.connected": 40,
    "threads.running": 5,
    "threads.most_used": 80,
    "files.open_files": 200,
    "open_transactions.oldest_s": 1,
    "server.up_s": 9 * DAY,
}
INNODB_OWN: Mapping[str, Numbers] = {
    "mysql": {"redo.logical_bytes": 900.0 * MB},
    "mariadb": {"redo.checkpoint_age_bytes": 900.0 * MB},
}
REDIS_COUNTS: Numbers = {
    "persistence.forks": 1,
    "persistence.rewrites": 0,
    "persistence.delayed_syncs": 0,
    "keys.evicted": 0,
    "keys.hits": 5e6,
    "keys.misses": 2e5,
    "keys.expiry_cut_short": 0,
    "connections.opened": 500,
    "connections.rejected": 0,
    "replication.partial_syncs": 0,
    "replication.failed_partial_syncs": 0,
    "processor.user_s": 700,
    "processor.system_s": 400,
}
REDIS_LEVELS: Numbers = {
    "persistence.latest_fork_us": 9000,
    "persistence.aof_base_bytes": 3.0 * GB,
    "memory.used_bytes": 4.0 * GB,
    "memory.fragmentation_bytes": 120.0 * MB,
    "memory.fragmentation_ratio": 1.04,
    "memory.clients_bytes": 2.0 * MB,
    "keys.stale_share": 0.4,
    "connections.blocked": 1,
    "connections.connected": 60,
}


def busy(server: Server, counts: Numbers | None = None, levels: Numbers | None = None, **more: Any) -> Seen:
    """An hour of a good load on this server, with what is other in it."""
    engine = server.engine
    usual, held = {
        "postgresql": (POSTGRESQL_COUNTS, POSTGRESQL_LEVELS),
        "mysql": (INNODB_COUNTS, INNODB_LEVELS),
        "mariadb": (INNODB_COUNTS, INNODB_LEVELS),
        "redis": (REDIS_COUNTS, REDIS_LEVELS),
    }[engine]
    own = INNODB_OWN.get(engine, {})
    return Seen(
        server, {**usual, **HOST_COUNTS, **(counts or {})}, {**held, **HOST_LEVELS, **own, **(levels or {})}, **more
    )


def idle(server: Server, levels: Numbers | None = None, **more: Any) -> Seen:
    """An hour in which the agent alone asks, and nothing is counted but its own few queries."""
    seen = busy(server)
    asked = {
        "database.xact_commit": 5000,
        "database.blks_hit": 2e4,
        "database.own_blocks": 2e4,
        "checkpointer.timed": 4,
        "wal.bytes": 1e4,
        "tables.seq_scans": 0,
        "buffer_pool.read_requests": 1e4,
        "temporary.tables": 2000,
        "statements.select": 2000,
        "statements.handler_read_rnd_next": 8e5,
        "caches.table_hits": 3000,
        "threads.connections": 0,
        "processor.user_s": 10,
        "processor.system_s": 5,
        "host.cpu_user_s": 60,
    }
    counts = {name: asked.get(name, 0) for name in seen.counts}
    quiet = {
        "activity.connections": 1,
        "activity.active": 0,
        "activity.waiting_lock": 0,
        "activity.waiting_wal_sync": 0,
        "activity.idle_in_transaction": 0,
        "activity.oldest_transaction_s": 0,
        "workers.vacuuming": 0,
        "workers.vacuum_delayed": 0,
        "workers.parallel": 0,
        "threads.connected": 1,
        "threads.running": 1,
        "buffer_pool.pages_dirty": 0,
    }
    held = {n: quiet.get(n, v) for n, v in seen.levels.items()}
    return Seen(server, counts, {**held, **(levels or {})}, **more)

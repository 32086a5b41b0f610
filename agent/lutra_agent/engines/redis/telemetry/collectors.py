"""What is read of INFO. A next collector is one value, and one line of the tuple."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from lutra_agent.engines.common.telemetry import Reading


@dataclass(frozen=True)
class FromInfo:
    """Our names of lines of INFO. A line that the version lacks, or that holds no number, is absent."""

    name: str
    counters: Mapping[str, str] = field(default_factory=dict)
    gauges: Mapping[str, str] = field(default_factory=dict)

    def read(self, info: Mapping[str, str]) -> Reading | None:
        """None where the server has nothing of it."""
        counters, gauges = (
            {ours: n for ours, theirs in names.items() if (n := number(info.get(theirs))) is not None}
            for names in (self.counters, self.gauges)
        )
        return Reading(counters, gauges) if counters or gauges else None


@dataclass(frozen=True)
class FromErrors:
    """Our names of errors by which the server refuses what it was rightly asked, by their first word.

    One that never came counts 0. All others say what is wrong with the question.
    """

    name: str
    kinds: Mapping[str, str]

    def read(self, info: Mapping[str, str]) -> Reading | None:
        """None where the server counts no errors."""
        if number(info.get("total_error_replies")) is None:
            return None
        counted = {ours: info.get(f"errorstat_{kind}", "").partition("count=")[2] for ours, kind in self.kinds.items()}
        return Reading({ours: number(text) or 0.0 for ours, text in counted.items()})


COLLECTORS: tuple[FromInfo | FromErrors, ...] = (
    FromInfo(
        "commands",
        {
            "processed": "total_commands_processed",
            "errors": "total_error_replies",
            "reads": "total_reads_processed",
            "writes": "total_writes_processed",
            "threaded_reads": "io_threaded_reads_processed",
            "threaded_writes": "io_threaded_writes_processed",
            "bytes_received": "total_net_input_bytes",
            "bytes_sent": "total_net_output_bytes",
            "event_loop_us": "eventloop_duration_sum",
            "event_loop_cycles": "eventloop_cycles",
        },
    ),
    FromInfo(
        "connections",
        {"opened": "total_connections_received", "rejected": "rejected_connections", "evicted": "evicted_clients"},
        {
            "connected": "connected_clients",
            "blocked": "blocked_clients",
            "largest_output": "client_recent_max_output_buffer",
            "largest_input": "client_recent_max_input_buffer",
        },
    ),
    FromInfo(
        "memory",
        {"freed_later": "lazyfreed_objects"},
        {
            "used_bytes": "used_memory",
            "limit_bytes": "maxmemory",
            "resident_bytes": "used_memory_rss",
            "most_bytes": "used_memory_peak",
            "overhead_bytes": "used_memory_overhead",
            "fragmentation_bytes": "allocator_frag_bytes",
            "fragmentation_ratio": "allocator_frag_ratio",
            "clients_bytes": "mem_clients_normal",
            "replicas_bytes": "mem_clients_slaves",
            "backlog_bytes": "mem_replication_backlog",
            "aof_bytes": "mem_aof_buffer",
            "to_free": "lazyfree_pending_objects",
            "memtables_bytes": "db_memtable_usage",
            "table_readers_bytes": "db_tablereader_usage",
        },
    ),
    FromInfo(
        "keys",
        {
            "hits": "keyspace_hits",
            "misses": "keyspace_misses",
            "expired": "expired_keys",
            "expiry_cut_short": "expired_time_cap_reached_count",
            "expiry_ms": "expire_cycle_cpu_milliseconds",
            "evicted": "evicted_keys",
            "over_memory_ms": "total_eviction_exceeded_time",
        },
        {"stale_share": "expired_stale_perc"},
    ),
    FromInfo(
        "persistence",
        {
            "delayed_syncs": "aof_delayed_fsync",
            "snapshots": "rdb_saves",
            "rewrites": "aof_rewrites",
            "forks": "total_forks",
        },
        {
            "latest_fork_us": "latest_fork_usec",
            "changes_since_snapshot": "rdb_changes_since_last_save",
            "snapshot_runs": "rdb_bgsave_in_progress",
            "rewrite_runs": "aof_rewrite_in_progress",
            "copied_bytes": "current_cow_size",
            "snapshot_copied_bytes": "rdb_last_cow_size",
            "rewrite_copied_bytes": "aof_last_cow_size",
            "aof_size_bytes": "aof_current_size",
            "aof_base_bytes": "aof_base_size",
            "waiting_syncs": "aof_pending_bio_fsync",
        },
    ),
    FromInfo(
        "replication",
        {"full_syncs": "sync_full", "partial_syncs": "sync_partial_ok", "failed_partial_syncs": "sync_partial_err"},
        {"replicas": "connected_slaves", "lag_s": "master_last_io_seconds_ago"},
    ),
    FromInfo(
        "defragmentation",
        {"moved": "active_defrag_hits", "left": "active_defrag_misses", "ms": "total_active_defrag_time"},
        {"share_of_core": "active_defrag_running"},
    ),
    FromInfo(
        "processor",
        {
            "system_s": "used_cpu_sys",
            "user_s": "used_cpu_user",
            "children_system_s": "used_cpu_sys_children",
            "children_user_s": "used_cpu_user_children",
        },
    ),
    FromErrors(
        "refusals",
        {
            "memory": "OOM",
            "snapshot": "MISCONF",
            "replicas": "NOREPLICAS",
            "good_replicas": "NOGOODSLAVE",
            "read_only": "READONLY",
            "loading": "LOADING",
            "busy": "BUSY",
            "primary_down": "MASTERDOWN",
            "cluster_down": "CLUSTERDOWN",
            "disk": "IOERR",
        },
    ),
    FromInfo("disk", {}, {"data_bytes": "db_size", "log_bytes": "log_size"}),
)


def keys_in(info: Mapping[str, str]) -> dict[str, float]:
    """The keys of all databases, and those among them that expire."""
    found: dict[str, float] = {}
    for name, line in info.items():
        if name.startswith("db") and name[2:].isdigit():
            pairs = dict(part.partition("=")[::2] for part in line.split(","))
            for ours, theirs in (("count", "keys"), ("expiring", "expires")):
                found[ours] = found.get(ours, 0.0) + (number(pairs.get(theirs)) or 0.0)
    return found


def number(text: str | None) -> float | None:
    """None for what is no number of zero or more: a server says -1 where it has none."""
    try:
        found = float(text or "")
    except ValueError:
        return None
    return found if 0 <= found < float("inf") else None

"""The readings from INFO. A further collector is one value, and one line of the tuple."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from lutra_agent.engines.common.telemetry import Reading


@dataclass(frozen=True)
class FromInfo:
    """Lutra's names for lines of INFO. A line that the version lacks, or that holds no number, is absent.

    `texts` are names, and no numbers.
    """

    name: str
    counters: Mapping[str, str] = field(default_factory=dict)
    gauges: Mapping[str, str] = field(default_factory=dict)
    texts: Mapping[str, str] = field(default_factory=dict)

    def read(self, info: Mapping[str, str]) -> Reading | None:
        """None if the server has nothing of it."""
        counters, gauges = (
            {ours: n for ours, theirs in names.items() if (n := number(info.get(theirs))) is not None}
            for names in (self.counters, self.gauges)
        )
        texts = {ours: info[theirs] for ours, theirs in self.texts.items() if theirs in info}
        return Reading(counters, gauges, texts=texts) if counters or gauges or texts else None


@dataclass(frozen=True)
class FromErrors:
    """Lutra's names for errors by which the server refuses correct requests, by their first word.

    An error that never occurred counts 0. All other errors are due to the request itself.
    """

    name: str
    kinds: Mapping[str, str]

    def read(self, info: Mapping[str, str]) -> Reading | None:
        """None if the server counts no errors."""
        if number(info.get("total_error_replies")) is None:
            return None
        counted = {ours: info.get(f"errorstat_{kind}", "").partition("count=")[2] for ours, kind in self.kinds.items()}
        return Reading({ours: number(text) or 0.0 for ours, text in counted.items()})


@dataclass(frozen=True)
class FromWords:
    """Lutra's names for lines of INFO that contain a word: 1 if it is not the normal one."""

    name: str
    good: Mapping[str, tuple[str, str]]

    def read(self, info: Mapping[str, str]) -> Reading | None:
        """None if the server has nothing of it."""
        found = {
            ours: float(info[line] != word) for ours, (line, word) in self.good.items() if info.get(line) is not None
        }
        return Reading(gauges=found) if found else None


@dataclass(frozen=True)
class FromCommands:
    """The number and the microseconds of commands of some kinds, by the first word of their names.

    A kind that never ran counts 0.
    """

    name: str
    kinds: Mapping[str, frozenset[str]]

    def read(self, info: Mapping[str, str]) -> Reading | None:
        """None if the server counts no commands one by one."""
        calls, spent = (dict.fromkeys(self.kinds, 0.0) for _ in range(2))
        seen, total = False, 0.0
        for line, text in info.items():
            if not line.startswith(COMMAND):
                continue
            seen, name = True, line.removeprefix(COMMAND).partition("|")[0].lower()
            about = dict(part.partition("=")[::2] for part in text.split(","))
            us = number(about.get("usec")) or 0.0
            total += us
            for kind, names in self.kinds.items():
                if name in names:
                    calls[kind] += number(about.get("calls")) or 0.0
                    spent[kind] += us
        both = {**calls, **{f"{kind}_us": us for kind, us in spent.items()}}
        return Reading({**both, "all_us": total}) if seen else None


@dataclass(frozen=True)
class FromSizes:
    """The largest keys of some kinds, as powers of two that they have reached, in all databases.

    The server counts the keys of each size: bytes of strings, items of collections. A kind without keys is 0.
    """

    name: str
    kinds: Mapping[str, frozenset[str]]

    def read(self, info: Mapping[str, str]) -> Reading | None:
        """None if the server counts no sizes."""
        found: dict[str, float] = {}
        for line, text in info.items():
            _, distribution, kind = line.partition(DISTRIBUTION)
            if not distribution or not line.startswith("db"):
                continue
            sizes = [_size(part.partition("=")[0]) for part in text.split(",")]
            for ours, names in self.kinds.items():
                if kind in names:
                    found[ours] = max([*sizes, found.get(ours, 0.0)])
        return Reading(gauges={**dict.fromkeys(self.kinds, 0.0), **found}) if found else None


def _size(text: str) -> float:
    """`256K` in full; 0 for what is no size."""
    scale = SCALES.get(text[-1:], 1)
    return (number(text if scale == 1 else text[:-1]) or 0.0) * scale


DISTRIBUTION = "_distrib_"
SCALES = {letter: 1 << 10 * power for power, letter in enumerate("KMGT", start=1)}
COMMAND = "cmdstat_"
WHOLE = frozenset(
    (
        *("smembers", "hgetall", "hkeys", "hvals", "sort", "sort_ro", "xrange", "xrevrange"),
        *("lrange", "lrem", "linsert", "lindex", "lpos", "ltrim"),
        *("zrange", "zrevrange", "zrangebyscore", "zrevrangebyscore", "zrangebylex"),
        *("sinter", "sinterstore", "sunion", "sunionstore", "sdiff", "sdiffstore"),
        *("zinter", "zinterstore", "zunion", "zunionstore", "zdiff", "zdiffstore"),
    )
)
"""Commands whose time grows with the length of the collection."""
SCRIPTS = frozenset(["eval", "evalsha", "eval_ro", "evalsha_ro", "fcall", "fcall_ro"])

COLLECTORS: tuple[FromInfo | FromErrors | FromWords | FromCommands | FromSizes, ...] = (
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
        {
            "opened": "total_connections_received",
            "rejected": "rejected_connections",
            "evicted": "evicted_clients",
            "cut_by_output": "client_output_buffer_limit_disconnections",
            "cut_by_input": "client_query_buffer_limit_disconnections",
        },
        {
            "connected": "connected_clients",
            "blocked": "blocked_clients",
            "largest_output": "client_recent_max_output_buffer",
            "largest_input": "client_recent_max_input_buffer",
            "channels": "pubsub_channels",
            "patterns": "pubsub_patterns",
            "waiting_on_keys": "total_blocking_keys",
        },
    ),
    FromInfo(
        "memory",
        {"freed_later": "lazyfreed_objects", "scripts_evicted": "evicted_scripts"},
        {
            "used_bytes": "used_memory",
            "limit_bytes": "maxmemory",
            "resident_bytes": "used_memory_rss",
            "most_bytes": "used_memory_peak",
            "data_bytes": "used_memory_dataset",
            "scripts": "number_of_cached_scripts",
            "scripts_bytes": "used_memory_scripts",
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
            "loading": "loading",
            "loading_left_s": "loading_eta_seconds",
            "rewrite_failures": "aof_rewrites_consecutive_failures",
        },
    ),
    FromWords(
        "failures",
        {
            "snapshot": ("rdb_last_bgsave_status", "ok"),
            "rewrite": ("aof_last_bgrewrite_status", "ok"),
            "log_write": ("aof_last_write_status", "ok"),
            "link": ("master_link_status", "up"),
        },
    ),
    FromInfo(
        "replication",
        {
            "full_syncs": "sync_full",
            "partial_syncs": "sync_partial_ok",
            "failed_partial_syncs": "sync_partial_err",
            "written_bytes": "master_repl_offset",
        },
        {
            "replicas": "connected_slaves",
            "lag_s": "master_last_io_seconds_ago",
            "good_replicas": "min_slaves_good_slaves",
            "link_down_s": "master_link_down_since_seconds",
            "copying": "master_sync_in_progress",
            "kept_bytes": "repl_backlog_histlen",
        },
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
    FromErrors("denials", {"no_login": "NOAUTH", "wrong_password": "WRONGPASS", "no_right": "NOPERM"}),
    FromCommands(
        "work",
        {
            "keys": frozenset({"keys"}),
            "whole": WHOLE,
            "scripts": SCRIPTS,
            "deletes": frozenset({"del"}),
            "flushes": frozenset({"flushall", "flushdb"}),
            "logins": frozenset({"auth", "hello"}),
        },
    ),
    FromSizes(
        "largest",
        {
            "string_bytes": frozenset({"strings_sizes"}),
            "items": frozenset({"lists_items", "sets_items", "hashes_items"}),
            "sorted_items": frozenset({"zsets_items"}),
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


def replication(info: Mapping[str, str]) -> dict[str, float]:
    """Whether this is a replica; for a primary the lag of its last replica in bytes and the number of its replicas; the
    age of the latest save.
    """
    found: dict[str, float] = {}
    if role := info.get("role"):
        found["is_replica"] = float(role != "master")
    written = number(info.get("master_repl_offset"))
    offsets, following = [], 0
    for name, line in info.items():
        if name.startswith("slave") and name[5:].isdigit():
            pairs = dict(part.partition("=")[::2] for part in line.split(","))
            following += pairs.get("state") == "online"
            if (offset := number(pairs.get("offset"))) is not None and pairs.get("state") == "online":
                offsets.append(offset)
    if role == "master":
        found["following"] = float(following)
    if written is not None and offsets:
        found["behind_bytes"] = max(written - min(offsets), 0.0)
    return found


def since_snapshot_s(info: Mapping[str, str]) -> float | None:
    """Seconds since the latest snapshot, or since the start if that was later; None if the clock is not reported."""
    now_us, saved = number(info.get("server_time_usec")), number(info.get("rdb_last_save_time"))
    return None if now_us is None or saved is None else max(now_us / 1e6 - saved, 0.0)


def paused(info: Mapping[str, str]) -> float | None:
    """1 if somebody pauses clients; None if the version does not say so."""
    reason = info.get("paused_reason")
    return None if reason is None else float(reason == "client_pause")


def number(text: str | None) -> float | None:
    """None for a value that is not a number of zero or more: a server reports -1 if it has none."""
    try:
        found = float(text or "")
    except ValueError:
        return None
    return found if 0 <= found < float("inf") else None

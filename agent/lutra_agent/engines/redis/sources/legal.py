"""Values that a server accepts although they make no sense or crash it: they are refused before they are sent."""

from __future__ import annotations

import re
from collections.abc import Mapping

KB, MB, GB = 2**10, 2**20, 2**30
INT32 = 2**31 - 1
"""From 2^31 on, pika answers OK but sets a different value."""

_NUMBER = re.compile(r"(-?\d+)([kmgt]?)(b?)", re.ASCII | re.IGNORECASE)
_POWERS = " kmgt"

_REDIS: Mapping[str, tuple[float, float]] = {
    "maxclients": (100, 1_000_000),  # below that clients, and this agent, are locked out
    "maxmemory-samples": (1, 64),
    "repl-backlog-size": (16 * KB, 64 * GB),
    "hz": (1, 500),
    "io-threads": (1, 128),
    "timeout": (0, INT32),
}

LEGAL: Mapping[str, Mapping[str, tuple[float, float]]] = {
    "redis": _REDIS,
    "valkey": _REDIS,
    "pika": {
        "write-buffer-size": (MB, INT32),
        "arena-block-size": (4 * KB, INT32),
        "max-write-buffer-number": (2, 64),
        "max-write-buffer-num": (2, 64),
        "max-write-buffer-size": (MB, 2**40),
        "max-client-response-size": (MB, INT32),
        "timeout": (0, INT32),
        "max-cache-files": (-1, INT32),
        "max-background-flushes": (1, 4),
        "max-background-compactions": (1, 8),
        "thread-num": (1, 24),
        "thread-pool-size": (1, 100),
        "sync-thread-num": (1, 24),
        "target-file-size-base": (MB, 2 * GB - 1),
        "max-bytes-for-level-multiplier": (10, INT32),
        "block-size": (KB, 16 * MB),
        "block-cache": (0, 2**40),
        "binlog-file-size": (KB, GB),
        "expire-logs-nums": (10, INT32),
        "expire-logs-days": (1, 3650),
        "sync-window-size": (1, 90_000),
        "small-compaction-threshold": (1, 100_000),
        "max-cache-statistic-keys": (0, INT32),
        "slowlog-max-len": (1, INT32),
        "slowlog-log-slower-than": (0, INT32),
        "db-sync-speed": (0, 1024),
        "root-connection-num": (1, INT32),
        "dump-expire": (0, 3650),
        "databases": (1, 8),
        "slave-priority": (0, INT32),
    },
}
"""Low and high, both included, in the server's unit: by product and setting."""


def number(value: str) -> float | None:
    """None for a text that is not a number, such as a share of another setting."""
    try:
        return float(value)
    except ValueError:
        return None


def same(one: str, other: str, kilo: int = 1000) -> bool:
    """Whether two texts mean the same value: 1gb and 1073741824, yes and YES. `kilo` is the server's meaning of 1k."""
    return _plain(one, kilo) == _plain(other, kilo)


def _plain(text: str, kilo: int) -> str | int:
    found = _NUMBER.fullmatch(text.strip())
    if found is None:
        return text.strip().lower()
    # 1kb is 1024 everywhere.
    one = 1024 if found[3] else kilo
    return int(found[1]) * int(one ** _POWERS.index(found[2].lower() or " "))

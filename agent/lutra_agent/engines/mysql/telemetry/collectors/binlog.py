"""The binary log's caches and group commits."""

from __future__ import annotations

from lutra_agent.engines.mysql.telemetry.collectors.base import FromStatus

BINLOG = FromStatus(
    "binlog",
    {
        "cache_uses": "Binlog_cache_use",
        "cache_disk_uses": "Binlog_cache_disk_use",
        "written_bytes": "Binlog_bytes_written",
        "commits": "Binlog_commits",
        "group_commits": "Binlog_group_commits",
    },
)

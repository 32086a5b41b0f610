"""Temporary tables and files, in memory and on disk."""

from __future__ import annotations

from lutra_agent.engines.mysql.telemetry.collectors.base import FromStatus

TEMPORARY = FromStatus(
    "temporary",
    {
        "tables": "Created_tmp_tables",
        "disk_tables": "Created_tmp_disk_tables",
        "files": "Created_tmp_files",
        "rows": "Handler_tmp_write",
        "count_hit_limit": "TempTable_count_hit_max_ram",
    },
)

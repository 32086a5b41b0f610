"""InnoDB's reads, writes and flushes of its files."""

from __future__ import annotations

from lutra_agent.engines.mysql.telemetry.collectors.base import FromStatus

FILES = FromStatus(
    "files",
    {
        "reads": "Innodb_data_reads",
        "read_bytes": "Innodb_data_read",
        "writes": "Innodb_data_writes",
        "written_bytes": "Innodb_data_written",
        "fsyncs": "Innodb_data_fsyncs",
        "doublewrites": "Innodb_dblwr_writes",
        "doublewrite_pages": "Innodb_dblwr_pages_written",
    },
    {
        "pending_reads": "Innodb_data_pending_reads",
        "pending_writes": "Innodb_data_pending_writes",
        "pending_fsyncs": "Innodb_data_pending_fsyncs",
        "open_files": "Open_files",
    },
)

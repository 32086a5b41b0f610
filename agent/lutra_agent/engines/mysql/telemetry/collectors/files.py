"""InnoDB's reads, writes and flushes of its files, and how large these are."""

from __future__ import annotations

from lutra_agent.engines.mysql.telemetry.collectors.base import FromStatus, Seldom

SIZES = """COALESCE(SUM(IF(NAME LIKE 'innodb\\_temporary%' OR NAME LIKE 'innodb\\_undo%', 0, FILE_SIZE)), 0) AS bytes,
COALESCE(SUM(IF(NAME LIKE 'innodb\\_undo%', FILE_SIZE, 0)), 0) AS undo_bytes,
COALESCE(SUM(IF(NAME LIKE 'innodb\\_temporary%', FILE_SIZE, 0)), 0) AS temporary_bytes
FROM information_schema"""

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
DATA = Seldom(
    "data",
    "the size of InnoDB's tablespaces",
    f"{SIZES}.INNODB_SYS_TABLESPACES",
    f"{SIZES}.INNODB_TABLESPACES",
)
"""All tables of InnoDB, by the size of their files; of undo logs and of temporary tables apart."""

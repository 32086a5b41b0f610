"""InnoDB's redo log: how much is written, how far the checkpoint is behind, who waits."""

from __future__ import annotations

from lutra_agent.engines.mysql.telemetry.collectors.base import FromStatus

REDO = FromStatus(
    "redo",
    {
        "waits": "Innodb_log_waits",
        "write_requests": "Innodb_log_write_requests",
        "writes": "Innodb_log_writes",
        "written_bytes": "Innodb_os_log_written",
        "fsyncs": "Innodb_os_log_fsyncs",
    },
    {
        "checkpoint_age_bytes": "Innodb_checkpoint_age",
        "checkpoint_age_most_bytes": "Innodb_checkpoint_max_age",
        "logical_bytes": "Innodb_redo_log_logical_size",
        "physical_bytes": "Innodb_redo_log_physical_size",
        "capacity_bytes": "Innodb_redo_log_capacity_resized",
        "history_list": "Innodb_history_list_length",
    },
)

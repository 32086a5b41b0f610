"""Waits for row locks, and the rows themselves."""

from __future__ import annotations

from lutra_agent.engines.mysql.telemetry.collectors.base import FromStatus

ROW_LOCKS = FromStatus(
    "row_locks",
    {
        "waits": "Innodb_row_lock_waits",
        "wait_ms": "Innodb_row_lock_time",
        "deadlocks": "Innodb_deadlocks",
        "rows_read": "Innodb_rows_read",
        "rows_inserted": "Innodb_rows_inserted",
        "rows_updated": "Innodb_rows_updated",
        "rows_deleted": "Innodb_rows_deleted",
        "table_waits": "Table_locks_waited",
    },
    {"waiting": "Innodb_row_lock_current_waits"},
)

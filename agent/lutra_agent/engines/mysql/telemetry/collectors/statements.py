"""The clients' requests by kind, and the resulting work of the storage engines."""

from __future__ import annotations

from lutra_agent.engines.mysql.telemetry.collectors.base import FromStatus

STATEMENTS = FromStatus(
    "statements",
    {
        "questions": "Questions",
        "queries": "Queries",
        "slow": "Slow_queries",
        "select": "Com_select",
        "insert": "Com_insert",
        "update": "Com_update",
        "delete": "Com_delete",
        "replace": "Com_replace",
        "begin": "Com_begin",
        "commit": "Com_commit",
        "rollback": "Com_rollback",
        "over_statement_time": "Max_statement_time_exceeded",
        "over_execution_time": "Max_execution_time_exceeded",
        "prepared": "Com_stmt_prepare",
        "executed": "Com_stmt_execute",
        "handler_commit": "Handler_commit",
        "handler_rollback": "Handler_rollback",
        "handler_read_first": "Handler_read_first",
        "handler_read_key": "Handler_read_key",
        "handler_read_next": "Handler_read_next",
        "handler_read_rnd": "Handler_read_rnd",
        "handler_read_rnd_next": "Handler_read_rnd_next",
        "handler_write": "Handler_write",
        "handler_update": "Handler_update",
        "handler_delete": "Handler_delete",
        "full_join": "Select_full_join",
        "scan": "Select_scan",
        "sort_merge_passes": "Sort_merge_passes",
        "sort_rows": "Sort_rows",
        "sort_range": "Sort_range",
        "sort_scan": "Sort_scan",
    },
)

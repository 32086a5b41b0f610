"""Prepared transactions that no longer have a session: only XA COMMIT or XA ROLLBACK ends them."""

from __future__ import annotations

from lutra_agent.engines.mysql.telemetry.collectors.base import FromQuery

PREPARED = FromQuery(
    "prepared",
    "information_schema.INNODB_TRX",
    """SELECT COUNT(*) AS transactions, COALESCE(MAX(TIMESTAMPDIFF(SECOND, TRX_STARTED, NOW())), 0) AS oldest_s,
COALESCE(SUM(TRX_ROWS_LOCKED), 0) AS rows_locked FROM information_schema.INNODB_TRX
WHERE TRX_MYSQL_THREAD_ID = 0 AND TRX_STATE <> 'ROLLING BACK'""",
    frozenset({"transactions", "oldest_s", "rows_locked"}),
)

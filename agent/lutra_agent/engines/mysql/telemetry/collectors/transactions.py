"""Transactions that are open just now."""

from __future__ import annotations

from lutra_agent.engines.mysql.telemetry.collectors.base import FromQuery

TRANSACTIONS = FromQuery(
    "open_transactions",
    "information_schema.INNODB_TRX",
    """SELECT COUNT(*) AS open, COALESCE(SUM(TRX_STATE = 'LOCK WAIT'), 0) AS waiting,
COALESCE(MAX(TIMESTAMPDIFF(SECOND, TRX_STARTED, NOW())), 0) AS oldest_s,
COALESCE(MAX(TIMESTAMPDIFF(SECOND, TRX_WAIT_STARTED, NOW())), 0) AS longest_wait_s
FROM information_schema.INNODB_TRX""",
    frozenset({"open", "waiting", "oldest_s", "longest_wait_s"}),
)

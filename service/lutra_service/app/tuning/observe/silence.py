"""The reason why a database has no new windows: no agent has reported yet, it is away, or it cannot measure."""

from __future__ import annotations

from datetime import datetime, timedelta

from lutra_service.db.schema.records import Database
from lutra_service.db.store import UnitOfWork

AT_LEAST = timedelta(minutes=1)
WINDOWS = 3
"""The number of window lengths that may pass without a window."""


def sentence(unit: UnitOfWork, database: Database) -> str:
    """Empty if windows arrive."""
    last = database.last_report_at
    if last is None:
        return "no agent has reported yet: start `lutra-agent run` on the database's host"
    newest = next(iter(unit.reports.windows(database.id, 1)), None)
    problems = (database.agent_status or {}).get("problems", ())
    if newest is None or newest.window_end is None or newest.window_start is None:
        return f"its agent has measured nothing yet: {problems[0]}" if problems else ""
    patience = max(AT_LEAST, WINDOWS * (newest.window_end - newest.window_start))
    if unit.now - last > patience:
        where = "check whether its agent is running, and run `lutra-agent check` on its host"
        return f"no report has arrived since {_told(last)}: {where}"
    if problems and unit.now - newest.received_at > patience:
        return f"its agent has measured nothing since {_told(newest.received_at)}: {problems[0]}"
    return ""


def _told(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M:%S} UTC"

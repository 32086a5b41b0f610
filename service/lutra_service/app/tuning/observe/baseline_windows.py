"""The baseline of a live session: earlier windows under the settings and at the load with which it began."""

from __future__ import annotations

from datetime import timedelta

from lutra_models.history import same_context

from lutra_service.app.tuning.observe import offered_load
from lutra_service.db.schema.records import Session, StoredReport
from lutra_service.db.store import UnitOfWork

RECENT = timedelta(hours=6)
"""The load, its data and its caches may have been different half a day earlier."""
LOOKED_AT = 200
"""Windows: of many that say the same, the newest few count."""


def windows(unit: UnitOfWork, session: Session, most: int) -> list[StoredReport]:
    """The newest windows up to a maximum, oldest first. Empty in a lab, where no load runs between two trials, and for
    a server that was replaced.
    """
    if session.mode == "lab" or session.baseline is None or session.rebased_at is not None:
        return []
    since = session.created_at - RECENT
    found = unit.reports.windows(session.database_id, LOOKED_AT, since=since, until=session.created_at)
    earlier = [r for r in found if r.session_id != session.id and r.metrics and r.failure is None]
    now = offered_load.offered(r.metrics for r in earlier[: offered_load.WINDOWS])
    kept = [r for r in earlier if _is_like(r, session, earlier[0], now)]
    return kept[:most][::-1]


def _is_like(report: StoredReport, session: Session, newest: StoredReport, now: dict[str, float]) -> bool:
    active, baseline = report.configuration or {}, session.baseline or {}
    if any(active.get(name) != value for name, value in baseline.items()):
        return False
    return same_context(report.context, newest.context) and offered_load.is_like(report.metrics, now)


def bind_p99(unit: UnitOfWork, session: Session) -> None:
    """The p99 source that was measured before the session is the session's: only one source counts."""
    if session.mode == "lab":
        return
    for report in unit.reports.windows(session.database_id, offered_load.WINDOWS):
        if report.p99_source is not None and report.p99_of is not None:
            unit.sessions.bind_p99(session.id, report.p99_source, report.p99_of)
            return

"""A session that the service pauses, with the reason, or leads on."""

from __future__ import annotations

from lutra_models.lifecycle import SessionState

from lutra_service.app.access import audit
from lutra_service.db.schema.records import Session
from lutra_service.db.store import UnitOfWork


def pause(unit: UnitOfWork, session: Session | None, why: str) -> None:
    """Where there is one, and it runs or has settled."""
    if session is None or session.state not in (SessionState.RUNNING, SessionState.SETTLED):
        return
    unit.sessions.step(session, SessionState.PAUSED, message=why[:1000])
    before, after = {"state": session.state}, {"state": SessionState.PAUSED, "message": why}
    audit.record(unit, "session.pause", session.id, before, after, database_id=session.database_id, automatic=True)
    unit.publish(session.id, session.database_id)


def wake(unit: UnitOfWork, session: Session) -> Session:
    """Lead a settled session on."""
    unit.sessions.step(session, SessionState.RUNNING, message="")
    unit.publish(session.id, session.database_id)
    return unit.sessions.get(session.id)

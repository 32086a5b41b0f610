"""A session that the service pauses, with the reason."""

from __future__ import annotations

from lutra_models.lifecycle import SessionState

from lutra_service.app.access import audit
from lutra_service.db.schema.records import Session
from lutra_service.db.store import Unit


def pause(unit: Unit, session: Session | None, why: str) -> None:
    """Where there is one, and it runs."""
    if session is None or session.state != SessionState.RUNNING:
        return
    unit.sessions.step(session, SessionState.PAUSED, message=why[:1000])
    before, after = {"state": session.state}, {"state": SessionState.PAUSED, "message": why}
    audit.record(unit, "session.pause", session.id, before, after, database_id=session.database_id, automatic=True)
    unit.announce(session.id, session.database_id)


def pause_of(unit: Unit, session_id: str | None, why: str) -> None:
    pause(unit, unit.sessions.get(session_id) if session_id else None, why)

"""The steps of a session that the service takes by itself, with the reason."""

from __future__ import annotations

from typing import Any

from lutra_models.lifecycle import SessionState

from lutra_service.app.access import audit
from lutra_service.app.access.audit import Action
from lutra_service.db.schema.records import Recommendation, Session
from lutra_service.db.store import UnitOfWork

LONGEST_MESSAGE = 1000


def transition(unit: UnitOfWork, session: Session, to: SessionState, action: Action, why: str, **values: Any) -> None:
    """Take a session to another state, and tell its message, the audit log and whoever waits for it `why`.

    `values` are columns that change with the state. Raises IllegalTransition.
    """
    unit.sessions.step(session, to, message=why[:LONGEST_MESSAGE], **values)
    before, after = {"state": session.state}, {"state": to, "message": why}
    audit.record(unit, action, session.id, before, after, database_id=session.database_id, by=audit.SERVICE)
    unit.publish(session.id, session.database_id)


def pause(unit: UnitOfWork, session: Session | None, why: str) -> None:
    """Where there is one, and it runs or has settled."""
    if session is not None and session.state in (SessionState.RUNNING, SessionState.SETTLED):
        transition(unit, session, SessionState.PAUSED, "session.pause", why)


def wake(unit: UnitOfWork, session: Session) -> Session:
    """Let a settled session run on."""
    unit.sessions.step(session, SessionState.RUNNING, message="")
    unit.publish(session.id, session.database_id)
    return unit.sessions.get(session.id)


def undone(unit: UnitOfWork, row: Recommendation, why: str) -> None:
    """`row` was undone: where its session had completed, the database is left with something else than that session
    says.
    """
    session = unit.sessions.of(row)
    if session is None or session.state != SessionState.COMPLETED or not row.changes:
        return
    names = ", ".join(c["setting"] for c in row.changes)
    ended = f" The session had ended with: {session.message}" if session.message else ""
    message = f"{why}; {names} no longer have the values of this session's final configuration.{ended}"
    transition(unit, session, SessionState.UNDONE, "session.undone", message)

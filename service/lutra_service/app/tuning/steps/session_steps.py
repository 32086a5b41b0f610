"""The steps of a session that the service takes by itself, with the reason."""

from __future__ import annotations

from lutra_models.lifecycle import SessionState

from lutra_service.app.tuning.steps.facts import Heard, NextStep, UndoBegun
from lutra_service.common.actor import SERVICE
from lutra_service.db.schema.recommendation import Recommendation
from lutra_service.db.schema.records import Session
from lutra_service.db.schema.transitions import SessionTransition, Transition
from lutra_service.db.store import UnitOfWork


def pause(unit: UnitOfWork, session: Session | None, why: str) -> None:
    """Applies only to a session that is running or has settled."""
    if session is not None and session.state in (SessionState.RUNNING, SessionState.SETTLED):
        unit.sessions.step(session, SessionState.PAUSED, SERVICE, why)


def wake(unit: UnitOfWork, session: Session) -> Session:
    """Let a settled session continue."""
    unit.sessions.step(session, SessionState.RUNNING, SERVICE)
    return unit.sessions.get(session.id)


def say(unit: UnitOfWork, begun: UndoBegun) -> None:
    """Also allowed in an ended session."""
    if begun.session_id is not None:
        unit.sessions.change(begun.session_id, message=begun.message)


def undone(unit: UnitOfWork, row: Recommendation, why: str) -> None:
    """`row` was undone: if its session had completed, the database no longer has that session's final configuration."""
    session = unit.sessions.of(row)
    if session is None or session.state != SessionState.COMPLETED or not row.changes:
        return
    names = ", ".join(c["setting"] for c in row.changes)
    ended = f" The session had ended with: {session.message}" if session.message else ""
    message = f"{why}; {names} no longer have the values of this session's final configuration.{ended}"
    unit.sessions.step(session, SessionState.UNDONE, SERVICE, message)


def step_after_transition(unit: UnitOfWork, made: Transition | SessionTransition) -> None:
    _record(unit, made.row.database_id)


def step_after_report(unit: UnitOfWork, heard: Heard) -> None:
    _record(unit, heard.database.id)


def _record(unit: UnitOfWork, database_id: str) -> None:
    step = NextStep(database_id)
    if step not in unit.news.facts:
        unit.record(step)

"""Changes that the service undoes by itself: withdrawn while their agent made them, or forgotten by their agent."""

from __future__ import annotations

import logging

from lutra_models.errors import LutraError
from lutra_models.lifecycle import RecommendationKind as Kind
from lutra_models.lifecycle import RecommendationState as State
from lutra_models.wire import Report

from lutra_service.app.access import audit
from lutra_service.app.access.audit import SERVICE, named
from lutra_service.app.recommendations import decide, outcomes
from lutra_service.db.schema.records import Database, Recommendation
from lutra_service.db.store import UnitOfWork

log = logging.getLogger(__name__)


def undo_withdrawn(unit: UnitOfWork, database: Database) -> None:
    """One at a time, and each once: what its agent then refuses is left to the operator."""
    for row in unit.recommendations.withdrawn(database.id):
        if not row.is_active or row.kind == Kind.ROLLBACK:
            continue
        backs = unit.recommendations.rollbacks_of(row)
        if any(_undid(back, row) for back in backs):
            by, why = named(unit, row.withdrawn_by), row.error or ""
            audit.happened(unit, row, State.REVERTED, by, why, ended_at=unit.now)
            unit.publish(row.id, row.session_id)
        elif not backs and not _rollback_pending(unit, database):
            _undo(unit, row, row.withdrawn_by or SERVICE, f"{row.id} was withdrawn while its agent applied it")


def undo_forgotten(unit: UnitOfWork, database: Database, report: Report) -> None:
    row = outcomes.forgotten(unit, database, report)
    if row is not None:
        _undo(unit, row, SERVICE, outcomes.LOST)


def _undo(unit: UnitOfWork, row: Recommendation, by: str, why: str) -> None:
    """A report is stored all the same where its undo fails: the recommendation says why."""
    try:
        back = decide.take_back(unit, row.id, by)
    except (LutraError, LookupError, ValueError) as error:
        message = f"{why}, but cannot be undone: {error}"[:1000]
        if message != row.error:
            log.error("%s cannot be undone: %s", row.id, error)
    else:
        message = f"{why}; {back.id} undoes it"
        if row.session_id is not None:
            unit.sessions.change(row.session_id, message=message)
    unit.recommendations.change(row.id, error=message)
    unit.publish(row.id, row.session_id)


def _rollback_pending(unit: UnitOfWork, database: Database) -> bool:
    approved = unit.recommendations.in_states(database.id, (State.APPROVED,))
    return any(r.kind == Kind.ROLLBACK and r.withdrawn_at is None for r in approved)


def _undid(back: Recommendation, row: Recommendation) -> bool:
    if back.state != State.CONFIRMED or back.applied_at is None or row.applied_at is None:
        return False
    return back.applied_at >= row.applied_at

"""Changes that the service undoes by itself: withdrawn while their agent applied them, or unknown to an agent that lost
its state.
"""

from __future__ import annotations

import logging
from dataclasses import replace

from lutra_models.errors import DecisionCode, Failure, LutraError
from lutra_models.lifecycle import RecommendationKind as Kind
from lutra_models.lifecycle import RecommendationState as State

from lutra_service.app.access import audit
from lutra_service.app.access.audit import named
from lutra_service.app.tuning.decide import decisions
from lutra_service.app.tuning.result import outcomes
from lutra_service.app.tuning.steps.facts import Reported, SettingsSeen, UndoBegun
from lutra_service.common.actor import SERVICE
from lutra_service.db.schema.recommendation import Recommendation
from lutra_service.db.schema.records import Database
from lutra_service.db.store import UnitOfWork

log = logging.getLogger(__name__)


def undo_withdrawn(unit: UnitOfWork, reported: Reported) -> None:
    """Undo one change at a time, and each only once: a refused undo is left to the operator."""
    database = reported.database
    for row in unit.recommendations.withdrawn(database.id):
        if not row.is_active or row.kind == Kind.ROLLBACK:
            continue
        backs = unit.recommendations.rollbacks_of(row)
        if any(_undid(back, row) for back in backs):
            by, why = named(unit, _withdrawn_by(row)), row.error or ""
            unit.recommendations.step(row, State.REVERTED, by, why, told=f"{row.id} was rolled back")
        elif not backs and not _rollback_pending(unit, database):
            by, why = _withdrawn_by(row) or SERVICE, f"{row.id} was withdrawn while its agent applied it"
            _undo(unit, row, by, Failure(DecisionCode.WITHDRAWN, why, audit.party(by)))


def _withdrawn_by(row: Recommendation) -> str | None:
    return None if row.delivery is None else row.delivery.withdrawn_by


def undo_forgotten(unit: UnitOfWork, settings_seen: SettingsSeen) -> None:
    row = outcomes.forgotten(unit, settings_seen.database, settings_seen.report)
    if row is not None:
        _undo(unit, row, SERVICE, outcomes.LOST)


def _undo(unit: UnitOfWork, row: Recommendation, by: str, known: Failure) -> None:
    """A report is stored all the same where its undo fails: the recommendation says why."""
    try:
        back = decisions.take_back(unit, row.id, by)
    except (LutraError, LookupError, ValueError) as error:
        failure = replace(known, message=f"{known.message}, but cannot be undone: {error}")
        if failure != row.failure:
            log.error("%s cannot be undone: %s", row.id, error)
    else:
        failure = replace(known, message=f"{known.message}; {back.id} undoes it")
        unit.record(UndoBegun(row.session_id, failure.text))
    unit.recommendations.change(row.id, failure=failure)


def _rollback_pending(unit: UnitOfWork, database: Database) -> bool:
    approved = unit.recommendations.in_states(database.id, (State.APPROVED,))
    return any(r.kind == Kind.ROLLBACK and not r.is_withdrawn for r in approved)


def _undid(back: Recommendation, row: Recommendation) -> bool:
    if back.state != State.CONFIRMED or back.applied_at is None or row.applied_at is None:
        return False
    return back.applied_at >= row.applied_at

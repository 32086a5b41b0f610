"""Overdue steps and their end: approvals that expired or were never answered, measurements that never arrived."""

from __future__ import annotations

import logging
from datetime import timedelta
from functools import partial

from lutra_models.errors import ApplyCode, Failure, FailureCode, MeasureCode, Party
from lutra_models.lifecycle import RecommendationState as State

from lutra_service.app.databases.current_server import effective_mode
from lutra_service.app.tuning.deliver import directive_holder, withdrawal
from lutra_service.common.actor import SERVICE
from lutra_service.db.schema.recommendation import Recommendation
from lutra_service.db.store import Store, UnitOfWork

log = logging.getLogger(__name__)

MEASUREMENT_LATE = timedelta(hours=2)


def sweep(store: Store) -> None:
    """End overdue steps, each in its own transaction."""
    for id_ in store.read(overdue):
        try:
            store.write(partial(end_overdue, id_=id_))
        except Exception:
            log.exception("%s waited too long and could not be ended", id_)


def overdue(unit: UnitOfWork) -> list[str]:
    """Overdue recommendations: approvals that expired or were never answered, changes without a measurement."""
    late = unit.recommendations.overdue(unit.now, unit.now - MEASUREMENT_LATE, unit.now - directive_holder.SILENCE)
    return [row.id for row in late if row.state != State.APPLIED or _awaits_its_measurement(unit, row)]


def end_overdue(unit: UnitOfWork, id_: str) -> None:
    """End an overdue recommendation, if it is still overdue."""
    unit.databases.lock(unit.recommendations.get(id_).database_id)
    if id_ not in overdue(unit):
        return
    row = unit.recommendations.get(id_)
    if withdrawal.is_given(row):
        withdrawal.end_unanswered(unit, row)
    else:
        to, code, message = _lapsed(row)
        unit.recommendations.step(row, to, SERVICE, failure=Failure(code, message, Party.SERVICE))


def _lapsed(row: Recommendation) -> tuple[State, FailureCode, str]:
    if row.state == State.APPLIED:
        return State.FAILED, MeasureCode.NO_MEASUREMENT, "no measurement came"
    return State.EXPIRED, ApplyCode.EXPIRED, ""


def _awaits_its_measurement(unit: UnitOfWork, applied: Recommendation) -> bool:
    """In a lab a measurement follows at once; elsewhere windows come as they come."""
    session = unit.sessions.of(applied)
    lab = effective_mode(unit.databases.get(applied.database_id), session) == "lab"
    return lab and applied.measured is None

"""Overdue steps and their end: approvals that expired or were never answered, measurements that never arrived."""

from __future__ import annotations

from datetime import timedelta

from lutra_models.errors import ApplyCode, Failure, FailureCode, MeasureCode, Party
from lutra_models.lifecycle import RecommendationState as State

from lutra_service.app.databases.current_server import effective_mode
from lutra_service.app.tuning.deliver import directive_holder, withdrawal
from lutra_service.common.actor import SERVICE
from lutra_service.db.schema.records import Recommendation
from lutra_service.db.store import UnitOfWork

MEASUREMENT_LATE = timedelta(hours=2)


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

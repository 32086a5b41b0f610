"""The measurement of a recommendation, and its consequences."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import Any

from lutra_models.errors import ApplyCode, Failure
from lutra_models.lifecycle import RecommendationState as State

from lutra_service.app.access import audit
from lutra_service.app.databases.current_server import effective_mode
from lutra_service.app.tuning.record import trial_record
from lutra_service.app.tuning.record.histories import targets_of
from lutra_service.app.tuning.steps.facts import Measured
from lutra_service.common.documents import Document
from lutra_service.db.schema.recommendation import Measurement, Recommendation
from lutra_service.db.schema.records import Database, Session, StoredReport
from lutra_service.db.store import UnitOfWork

WINDOWS_PER_TRIAL = 3
"""The number of windows of a measurement outside a lab, after the first one, which is warm-up."""


def being_watched(unit: UnitOfWork, database: Database, start: datetime) -> Recommendation | None:
    """The applied recommendation that a window beginning at `start` measures, outside a lab."""
    for applied in unit.recommendations.in_states(database.id, (State.APPLIED,)):
        session = unit.sessions.of(applied)
        lab = effective_mode(database, session) == "lab"
        if not lab and applied.applied_at is not None and start >= applied.applied_at:
            return applied
    return None


def record_measurement(unit: UnitOfWork, fact: Measured) -> None:
    """In a lab the measurement is one window; elsewhere it is the mean of several, without the first."""
    id_, report = fact.recommendation_id, fact.report
    recommendation = unit.recommendations.get(id_)
    if recommendation.state not in (State.APPLIED, State.REVERTED, State.FAILED, State.REFUSED):
        return
    if report.failure is not None:
        _failed(unit, recommendation, Failure.told(report.failure), audit.agent(report.agent))
    elif recommendation.state == State.APPLIED:
        measured = _measured(unit, recommendation, lab=report.measures is not None)
        told = recommendation.measurement or Measurement()
        if report.ended_early is not None:
            told = replace(told, ended_early=report.ended_early.model_dump())
        if measured is not None:
            told = replace(told, measured=measured)
        if measured is not None and not _provisional(recommendation):
            unit.recommendations.step(recommendation, State.CONFIRMED, audit.agent(report.agent), measurement=told)
        elif told != (recommendation.measurement or Measurement()):
            unit.recommendations.change(id_, measurement=told)


def _provisional(recommendation: Recommendation) -> bool:
    """Whether its agent may still take it back by itself because nothing confirms it."""
    return recommendation.outcome is not None and recommendation.outcome.is_provisional


def _failed(unit: UnitOfWork, recommendation: Recommendation, failure: Failure, by: str) -> None:
    if recommendation.state == State.APPLIED:
        unit.recommendations.step(recommendation, State.FAILED, by, failure=failure)
    elif recommendation.failure is None or failure.code is ApplyCode.DID_NOT_START:
        unit.recommendations.change(recommendation.id, failure=failure)


def _measured(unit: UnitOfWork, recommendation: Recommendation, lab: bool) -> Document | None:
    session = unit.sessions.of(recommendation)
    windows = [r for r in unit.reports.of_recommendation(recommendation.id) if r.metrics]
    if lab:
        return _document(windows[-1], _of_trial(unit, recommendation, session, targets_of(windows[-1], session)))
    after_warm_up = windows[1:]
    if len(after_warm_up) < WINDOWS_PER_TRIAL:
        return None
    readings = [targets_of(w, session) for w in after_warm_up]
    names = set.intersection(*(set(r) for r in readings))
    return _document(windows[-1], {n: sum(r[n] for r in readings) / len(readings) for n in sorted(names)})


def _of_trial(
    unit: UnitOfWork, recommendation: Recommendation, session: Session | None, metrics: dict[str, float]
) -> dict[str, float]:
    if session is None or session.aim is None:
        return metrics
    return trial_record.with_aim(session, unit.recommendations.outlined(session.id), recommendation, metrics)


def _document(window: StoredReport, metrics: dict[str, float]) -> Document:
    told: dict[str, Any] = dict(metrics)
    if "p99_ms" in metrics:
        told |= {"p99_source": window.p99_source, "p99_of": window.p99_of}
    of_loads = {name: of for name, of in window.context.items() if name.startswith("p99_of.")}
    return {**told, "p99_source": "driver", **of_loads} if of_loads else told

"""The next step of a session: at most once in a transaction, whatever the cause."""

from __future__ import annotations

from lutra_service.app.tuning.steps.facts import Heard, NextStep
from lutra_service.db.schema.transitions import SessionTransition, Transition
from lutra_service.db.store import UnitOfWork


def after_transition(unit: UnitOfWork, made: Transition | SessionTransition) -> None:
    _record(unit, made.row.database_id)


def after_report(unit: UnitOfWork, heard: Heard) -> None:
    _record(unit, heard.database.id)


def _record(unit: UnitOfWork, database_id: str) -> None:
    step = NextStep(database_id)
    if step not in unit.news.facts:
        unit.record(step)

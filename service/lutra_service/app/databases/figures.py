"""The store's figures about the product, for `/metrics`: every process of the service reports the same."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import get_args

from lutra_models.guardrails import GuardName

from lutra_service.app.access.audit import ACTIONS, guard
from lutra_service.db.schema.records import Database
from lutra_service.db.store import UnitOfWork

GUARDS: tuple[GuardName, ...] = get_args(GuardName)
PAGE = 500


@dataclass(frozen=True)
class Figures:
    """The figures of one database, or of all together: then counts are sums, and ages the largest.

    `changes` are counted by outcome and `fired` by guard, since the database was registered. The age of something that
    never arrived is the time since the registration.
    """

    changes: Mapping[str, int]
    fired: Mapping[str, int]
    to_decide: int
    paused: int
    report_age_s: float
    window_age_s: float


def by_database(unit: UnitOfWork, only: str | None) -> dict[str, Figures]:
    """By name, of the databases that a token reaches: all, or `only` the one."""
    to_decide = unit.recommendations.to_decide()
    return {found.name: _of(unit, found, to_decide.get(found.id, 0)) for found in _all(unit, only)}


def together(found: Iterable[Figures]) -> Figures:
    every = list(found)
    return Figures(
        {state: sum(f.changes[state] for f in every) for state in ACTIONS},
        {name: sum(f.fired[name] for f in every) for name in GUARDS},
        sum(f.to_decide for f in every),
        sum(f.paused for f in every),
        max((f.report_age_s for f in every), default=0.0),
        max((f.window_age_s for f in every), default=0.0),
    )


def _all(unit: UnitOfWork, only: str | None) -> Iterable[Database]:
    after = None
    while page := unit.databases.listed(PAGE, after, only):
        yield from page
        after = page[-1].id


def _of(unit: UnitOfWork, database: Database, to_decide: int) -> Figures:
    counts = database.counts or {}
    reported, measured = (
        max((unit.now - (moment or database.created_at)).total_seconds(), 0.0)
        for moment in (database.last_report_at, database.last_window_end)
    )
    return Figures(
        {state: counts.get(state, 0) for state in ACTIONS},
        {name: counts.get(guard(name), 0) for name in GUARDS},
        to_decide,
        int(database.agent.paused),
        reported,
        measured,
    )

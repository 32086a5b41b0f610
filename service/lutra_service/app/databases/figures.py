"""The store's figures about the product, for `/metrics`: every process of the service reports the same."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, get_args

from lutra_models.catalog import meet
from lutra_models.errors import LutraError
from lutra_models.guardrails import GuardName
from lutra_models.metrics import P99, QPS
from lutra_models.symptoms.listed import HARMFUL

from lutra_service.app.access.audit import ACTIONS, guard
from lutra_service.app.databases.current_server import server_of
from lutra_service.db.schema.records import Database
from lutra_service.db.store import UnitOfWork

GUARDS: tuple[GuardName, ...] = get_args(GuardName)
PAGE = 500
_HEADROOM = "headroom"


@dataclass(frozen=True)
class Figures:
    """The figures of one database, or of all together. For all, counts are sums and ages are the largest.

    `changes` are counted by outcome and `fired` by guard, since the database was registered. `findings` are the harmful
    ones that show now, by kind. The age of something that never arrived is the time since the registration.
    """

    changes: Mapping[str, int]
    fired: Mapping[str, int]
    findings: Mapping[str, int]
    to_decide: int
    paused: int
    report_age_s: float
    window_age_s: float


@dataclass(frozen=True)
class Present:
    """One database now. `session` is the state of its open session, and `headroom_bytes` the memory limit less the
    worst case of the current settings. A figure that is not known is None.
    """

    p99_s: float | None
    qps: float | None
    headroom_bytes: float | None
    session: str | None


@dataclass(frozen=True)
class Row:
    """A database by name, with its figures."""

    name: str
    figures: Figures
    present: Present


def together(unit: UnitOfWork) -> Figures:
    """Of all databases."""
    every = [figures for page in _pages(unit, None) for figures in _counted(unit, page)]
    return Figures(
        {state: sum(f.changes[state] for f in every) for state in ACTIONS},
        {name: sum(f.fired[name] for f in every) for name in GUARDS},
        {kind: sum(f.findings[kind] for f in every) for kind in HARMFUL},
        sum(f.to_decide for f in every),
        sum(f.paused for f in every),
        max((f.report_age_s for f in every), default=0.0),
        max((f.window_age_s for f in every), default=0.0),
    )


def by_database(unit: UnitOfWork, only: str | None, most: int) -> list[Row]:
    """The figures of the databases that a token reaches, the oldest registrations first: all up to `most`, or only
    `only`.
    """
    return list(islice(_rows(unit, only), most))


def _rows(unit: UnitOfWork, only: str | None) -> Iterable[Row]:
    for page in _pages(unit, only):
        latest = unit.reports.latest_metrics([d.id for d in page])
        for database, figures in zip(page, _counted(unit, page), strict=True):
            yield Row(database.name, figures, _present(unit, database, latest.get(database.id, {})))


def _pages(unit: UnitOfWork, only: str | None) -> Iterable[Sequence[Database]]:
    after = None
    while page := unit.databases.listed(PAGE, after, only):
        yield page
        after = page[-1].id


def _counted(unit: UnitOfWork, page: Sequence[Database]) -> list[Figures]:
    to_decide, showing = unit.recommendations.to_decide(), unit.findings.showing([d.id for d in page])
    return [_figures(unit, found, to_decide.get(found.id, 0), showing.get(found.id, {})) for found in page]


def _figures(unit: UnitOfWork, database: Database, to_decide: int, showing: Mapping[str, int]) -> Figures:
    counts = database.counts or {}
    reported, measured = (
        max((unit.now - (moment or database.created_at)).total_seconds(), 0.0)
        for moment in (database.last_report_at, database.last_window_end)
    )
    return Figures(
        {state: counts.get(state, 0) for state in ACTIONS},
        {name: counts.get(guard(name), 0) for name in GUARDS},
        {kind: showing.get(kind, 0) for kind in HARMFUL},
        to_decide,
        int(database.agent.paused),
        reported,
        measured,
    )


def _present(unit: UnitOfWork, database: Database, metrics: Mapping[str, Any]) -> Present:
    p99_ms, session = metrics.get(P99.name), unit.sessions.open_one(database.id)
    return Present(
        None if p99_ms is None else p99_ms / 1000,
        metrics.get(QPS.name),
        _headroom(unit, database),
        None if session is None else session.state,
    )


def _headroom(unit: UnitOfWork, database: Database) -> float | None:
    """Computed once for the same settings, host and policy: a sum takes milliseconds."""
    kept: dict[str, tuple[object, float | None]] = unit.kept.setdefault(_HEADROOM, {})
    asked = (database.settings_hash, database.host, database.peak_connections, database.policy)
    known = kept.get(database.id)
    if known is None or known[0] != asked:
        known = kept[database.id] = (asked, _computed_headroom(unit, database))
    return known[1]


def _computed_headroom(unit: UnitOfWork, database: Database) -> float | None:
    """None before the first report, and for a server whose sum cannot be computed."""
    try:
        live = meet(server_of(unit, database))
        return live.memory_limit(database.settings_policy) - live.worst_case({}).worst_case_bytes
    except (LutraError, ArithmeticError):
        return None

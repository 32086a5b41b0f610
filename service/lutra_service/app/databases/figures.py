"""The store's figures about the product, for `/metrics`: every process of the service reports the same."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass
from datetime import datetime, timedelta
from itertools import islice
from operator import add
from typing import Any, get_args

from lutra_models.catalog import meet
from lutra_models.errors import LutraError
from lutra_models.guardrails import GuardName
from lutra_models.metrics import P99, QPS
from lutra_models.symptoms.listed import HARMFUL

from lutra_service.app.access.audit import ACTIONS, guard
from lutra_service.app.databases.current_server import server_of
from lutra_service.db.schema.judged import Judged
from lutra_service.db.schema.records import Database
from lutra_service.db.store import UnitOfWork

GUARDS: tuple[GuardName, ...] = get_args(GuardName)
GAINS_OVER = timedelta(days=90)
"""The age of the oldest changes whose gains count."""
PAGE = 500
_HEADROOM = "headroom"


@dataclass(frozen=True)
class Gains:
    """The reported gains, by their outcome: they hold, decayed, or nothing is known of them.

    `unknown` includes those that wait for their first judgement after a day.
    """

    reported: int = 0
    holds: int = 0
    decayed: int = 0
    unknown: int = 0

    def __add__(self, other: Gains) -> Gains:
        return Gains(*map(add, astuple(self), astuple(other)))

    @property
    def share(self) -> float | None:
        """The share of the judged ones that hold; None if none was judged."""
        judged = self.holds + self.decayed
        return self.holds / judged if judged else None

    @classmethod
    def of(cls, counts: Mapping[str, int]) -> Gains:
        """Of their number by state."""
        reported, holds, decayed = (sum(counts.values()), counts.get("holds", 0), counts.get("decayed", 0))
        return cls(reported, holds, decayed, reported - holds - decayed)


@dataclass(frozen=True)
class Figures:
    """The figures of one database, or of all together. For all, counts are sums and ages are the largest.

    `changes` are counted by outcome and `fired` by guard, since the database was registered. `gains` are those of
    GAINS_OVER. `findings` are the harmful
    ones that show now, by kind. The age of something that never arrived is the time since the registration.
    """

    changes: Mapping[str, int]
    fired: Mapping[str, int]
    findings: Mapping[str, int]
    gains: Gains
    to_decide: int
    paused: int
    report_age_s: float
    window_age_s: float


@dataclass(frozen=True)
class Present:
    """One database now. `session` is the state of its open session, and `headroom_bytes` the memory limit less the
    worst case of the current settings. `reported` and `held` are the ratios of after to before of the newest gain:
    when it was reported, and by the last look at it. A figure that is not known is None.
    """

    p99_s: float | None
    qps: float | None
    headroom_bytes: float | None
    session: str | None
    reported: float | None
    held: float | None


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
        sum((f.gains for f in every), Gains()),
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


def reported_and_held(unit: UnitOfWork, since: datetime, only: str | None = None) -> Gains:
    """The reported gains of changes that were made active after `since`, on the databases that a token reaches: all, or
    `only` the one.
    """
    found = (unit.recommendations.gains([d.id for d in page], since) for page in _pages(unit, only))
    return sum((Gains.of(counts) for of_page in found for counts in of_page.values()), Gains())


def _rows(unit: UnitOfWork, only: str | None) -> Iterable[Row]:
    for page in _pages(unit, only):
        ids = [d.id for d in page]
        latest, gained = unit.reports.latest_metrics(ids), unit.recommendations.latest_gains(ids)
        for database, figures in zip(page, _counted(unit, page), strict=True):
            told = latest.get(database.id, {}), gained.get(database.id)
            yield Row(database.name, figures, _present(unit, database, *told))


def _pages(unit: UnitOfWork, only: str | None) -> Iterable[Sequence[Database]]:
    after = None
    while page := unit.databases.listed(PAGE, after, only):
        yield page
        after = page[-1].id


def _counted(unit: UnitOfWork, page: Sequence[Database]) -> list[Figures]:
    ids = [d.id for d in page]
    to_decide, showing = unit.recommendations.to_decide(), unit.findings.showing(ids)
    gains = unit.recommendations.gains(ids, unit.now - GAINS_OVER)
    return [
        _figures(unit, d, to_decide.get(d.id, 0), showing.get(d.id, {}), Gains.of(gains.get(d.id, {}))) for d in page
    ]


def _figures(unit: UnitOfWork, database: Database, to_decide: int, showing: Mapping[str, int], gains: Gains) -> Figures:
    counts = database.counts or {}
    reported, measured = (
        max((unit.now - (moment or database.created_at)).total_seconds(), 0.0)
        for moment in (database.last_report_at, database.last_window_end)
    )
    return Figures(
        {state: counts.get(state, 0) for state in ACTIONS},
        {name: counts.get(guard(name), 0) for name in GUARDS},
        {kind: showing.get(kind, 0) for kind in HARMFUL},
        gains,
        to_decide,
        int(database.agent.paused),
        reported,
        measured,
    )


def _present(unit: UnitOfWork, database: Database, metrics: Mapping[str, Any], gain: Judged | None) -> Present:
    p99_ms, session = metrics.get(P99.name), unit.sessions.open_one(database.id)
    held = gain.lasting[-1].held if gain and gain.lasting else None
    return Present(
        None if p99_ms is None else p99_ms / 1000,
        metrics.get(QPS.name),
        _headroom(unit, database),
        None if session is None else session.state,
        None if gain is None else gain.gained,
        None if held is None else held["ratio"],
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

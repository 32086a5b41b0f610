"""What is kept, and for how long.

Windows older than the retention are drawn together, one for each configuration and load, so that a session still learns
from them; a trial's one window is left as it is. Of what stays beyond that age the newest rows stay, a bounded number
of them for each database. `PRUNED` names all of it: a table that grows has its line there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from lutra_models.knobs import Configuration

from lutra_service import limits
from lutra_service.app.audit import KEPT as AUDIT_KEPT
from lutra_service.db.records import StoredReport
from lutra_service.db.retention import BATCH, Group
from lutra_service.db.store import Store, Unit

Prune = Callable[[Store, datetime], int]
"""Deletes what came before a moment and is not kept, each batch in a transaction of its own; how many rows went."""


@dataclass(frozen=True)
class Pruned:
    """How many rows went, by the names in PRUNED; `windows` were drawn together into others."""

    rows: Mapping[str, int]

    @property
    def total(self) -> int:
        return sum(self.rows.values())

    def __getitem__(self, name: str) -> int:
        return self.rows[name]

    def __str__(self) -> str:
        return ", ".join(f"{name} {number}" for name, number in self.rows.items())


def prune(store: Store, keep: timedelta) -> Pruned:
    """Reports come in meanwhile."""
    before = store.read(lambda unit: unit.now - keep)
    return Pruned({name: pruned(store, before) for name, pruned in PRUNED})


def _everywhere(batch: Callable[[Unit, datetime], int]) -> Prune:
    return lambda store, before: _to_the_end(store, lambda unit: batch(unit, before))


def _each_database(batch: Callable[[Unit, str, datetime], int]) -> Prune:
    def pruned(store: Store, before: datetime) -> int:
        databases = store.read(lambda unit: unit.old.databases())
        return sum(_to_the_end(store, _of(batch, database, before)) for database in databases)

    return pruned


def _of(batch: Callable[[Unit, str, datetime], int], database: str, before: datetime) -> Callable[[Unit], int]:
    return lambda unit: batch(unit, database, before)


def _windows(store: Store, before: datetime) -> int:
    done = 0
    for database in store.read(lambda unit: unit.old.databases()):
        for group in store.read(_crowded(database, before)):
            while gone := store.write(_drawing_together(group, before)):
                done += gone
    return done


def _crowded(database: str, before: datetime) -> Callable[[Unit], list[Group]]:
    return lambda unit: unit.old.crowded(database, before)


PRUNED: tuple[tuple[str, Prune], ...] = (
    ("windows", _windows),
    ("heartbeats", _each_database(lambda unit, db, before: unit.old.delete_heartbeats(db, before))),
    ("requests", _everywhere(lambda unit, before: unit.old.delete_requests(before))),
    ("snapshots", _everywhere(lambda unit, before: unit.old.delete_snapshots(before, limits.SNAPSHOTS))),
    ("answers", _everywhere(lambda unit, before: unit.old.delete_answers(before))),
    ("audit", _everywhere(lambda unit, _: unit.audit.delete_audit(unit.now - AUDIT_KEPT))),
    ("settings", _everywhere(lambda unit, before: unit.old.delete_settings(before))),
    (
        "reports",
        _each_database(lambda unit, db, before: unit.old.delete_surplus_reports(db, before, limits.OLD_REPORTS)),
    ),
    ("events", _each_database(lambda unit, db, before: unit.old.delete_surplus_events(db, before, limits.EVENTS))),
    (
        "recommendations",
        _each_database(
            lambda unit, db, before: unit.old.delete_surplus_recommendations(db, before, limits.RECOMMENDATIONS)
        ),
    ),
    (
        "sessions",
        _each_database(lambda unit, db, before: unit.old.delete_surplus_sessions(db, before, limits.SESSIONS)),
    ),
)
"""In this order: a recommendation goes after what is measured under it, a session after its recommendations."""


def _to_the_end(store: Store, batch: Callable[[Unit], int]) -> int:
    """Repeat until a batch is not full."""
    done = 0
    while True:
        gone = store.write(batch)
        done += gone
        if gone < BATCH:
            return done


def _drawing_together(group: Group, before: datetime) -> Callable[[Unit], int]:
    def batch(unit: Unit) -> int:
        unit.databases.lock(group["database_id"])
        return sum(_into_one(unit, windows) for windows in _by_load(unit.old.windows(group, before)))

    return batch


def _by_load(windows: Sequence[StoredReport]) -> list[list[StoredReport]]:
    """The windows of each load: a mean over two loads is a reading of neither."""
    apart: dict[Configuration, list[StoredReport]] = {}
    for window in windows:
        apart.setdefault(Configuration(window.context), []).append(window)
    return list(apart.values())


def _into_one(unit: Unit, windows: Sequence[StoredReport]) -> int:
    if len(windows) < 2:
        return 0
    unit.reports.replace(windows[-1].id, **drawn_together(windows))
    return unit.old.delete_reports([w.id for w in windows[:-1] if w.id is not None])


def drawn_together(reports: Sequence[StoredReport]) -> dict[str, Any]:
    """What one row says in place of `reports`: the whole span, and each metric's mean over the windows that have it."""
    starts = [r.window_start for r in reports if r.window_start is not None]
    ends = [r.window_end for r in reports if r.window_end is not None]
    return {
        "window_start": min(starts),
        "window_end": max(ends),
        "windows": sum(r.windows for r in reports),
        "metrics": {name: _mean(name, reports) for name in _names(reports)},
    }


def _names(reports: Sequence[StoredReport]) -> list[str]:
    """The metrics that stay: those that most of the windows have."""
    seen: Counter[str] = Counter()
    for report in reports:
        seen.update(dict.fromkeys(report.metrics, report.windows))
    return sorted(sorted(seen, key=lambda name: (-seen[name], name))[: limits.METRICS_TOGETHER])


def _mean(name: str, reports: Sequence[StoredReport]) -> float:
    told = [(r.metrics[name], r.windows) for r in reports if name in r.metrics]
    weight = sum(windows for _, windows in told)
    return float(sum(value * (windows / weight) for value, windows in told))

"""The kinds of rows that are kept, and their retention.

Windows older than the retention are merged, one for each configuration and load, so that a session still learns from
them; a trial's own window is left unchanged. Of the rows beyond that age, each database keeps a bounded number of the
newest. `RULES` names all of it: a table that grows has its line there.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Protocol, TypeVar

from lutra_models.knobs import Configuration

from lutra_service.app.access.audit import KEPT as AUDIT_KEPT
from lutra_service.common import limits
from lutra_service.common.settings import Settings
from lutra_service.db.repositories.retention import BATCH, Group
from lutra_service.db.schema.records import StoredReport
from lutra_service.db.store import Store, StoreAway, UnitOfWork, Work

log = logging.getLogger(__name__)

SHARE = 0.1
"""The largest share of the time for which pruning uses the store: ten thousand databases take ten thousand queries, and
agents report meanwhile.
"""
THREAD_T = TypeVar("THREAD_T")

T = TypeVar("T")


class Transactions(Protocol):
    """A store, or a wrapper that pauses between transactions."""

    def read(self, work: Work[T]) -> T: ...

    def write(self, work: Work[T]) -> T: ...


Rule = Callable[[Transactions, datetime], int]
"""Deletes rows older than a given time that are not kept, each batch in its own transaction. Returns the number of
rows.
"""


@dataclass(frozen=True)
class Pruned:
    """The number of deleted rows, by the names in RULES; `windows` were merged into others."""

    rows: Mapping[str, int]

    @property
    def total(self) -> int:
        return sum(self.rows.values())

    def __getitem__(self, name: str) -> int:
        return self.rows[name]

    def __str__(self) -> str:
        return ", ".join(f"{name} {number}" for name, number in self.rows.items())


def prune(store: Transactions, keep: timedelta) -> Pruned:
    """Reports arrive meanwhile."""
    before = store.read(lambda unit: unit.now - keep)
    return Pruned({name: rule(store, before) for name, rule in RULES})


def _everywhere(batch: Callable[[UnitOfWork, datetime], int]) -> Rule:
    return lambda store, before: _to_the_end(store, lambda unit: batch(unit, before))


def _each_database(batch: Callable[[UnitOfWork, str, datetime], int]) -> Rule:
    def rule(store: Transactions, before: datetime) -> int:
        databases = store.read(lambda unit: unit.retention.databases())
        return sum(_to_the_end(store, _of(batch, database, before)) for database in databases)

    return rule


def _of(
    batch: Callable[[UnitOfWork, str, datetime], int], database: str, before: datetime
) -> Callable[[UnitOfWork], int]:
    return lambda unit: batch(unit, database, before)


def _windows(store: Transactions, before: datetime) -> int:
    done = 0
    for database in store.read(lambda unit: unit.retention.databases()):
        for group in store.read(_mergeable(database, before)):
            while gone := store.write(_merging(group, before)):
                done += gone
    return done


def _mergeable(database: str, before: datetime) -> Callable[[UnitOfWork], list[Group]]:
    return lambda unit: unit.retention.mergeable(database, before)


RULES: tuple[tuple[str, Rule], ...] = (
    ("windows", _windows),
    ("heartbeats", _each_database(lambda unit, db, before: unit.retention.delete_heartbeats(db, before))),
    ("requests", _everywhere(lambda unit, before: unit.retention.delete_requests(before))),
    (
        "workloads",
        _each_database(lambda unit, db, _: unit.retention.delete_surplus_workloads(db, limits.SNAPSHOTS)),
    ),
    ("snapshots", _everywhere(lambda unit, before: unit.retention.delete_snapshots(before, limits.SNAPSHOTS))),
    ("answers", _everywhere(lambda unit, before: unit.retention.delete_answers(before))),
    ("audit", _everywhere(lambda unit, _: unit.audit.delete_audit(unit.now - AUDIT_KEPT))),
    ("hours", _everywhere(lambda unit, _: unit.retention.delete_load_hours(unit.now - limits.LOAD_HOURS))),
    ("deliveries", _everywhere(lambda unit, before: unit.retention.delete_deliveries(before))),
    ("settings", _everywhere(lambda unit, before: unit.retention.delete_settings(before))),
    (
        "reports",
        _each_database(lambda unit, db, before: unit.retention.delete_surplus_reports(db, before, limits.OLD_REPORTS)),
    ),
    (
        "events",
        _each_database(lambda unit, db, before: unit.retention.delete_surplus_events(db, before, limits.EVENTS)),
    ),
    (
        "findings",
        _each_database(lambda unit, db, before: unit.retention.delete_surplus_findings(db, before, limits.FINDINGS)),
    ),
    (
        "recommendations",
        _each_database(
            lambda unit, db, before: unit.retention.delete_surplus_recommendations(db, before, limits.RECOMMENDATIONS)
        ),
    ),
    (
        "sessions",
        _each_database(lambda unit, db, before: unit.retention.delete_surplus_sessions(db, before, limits.SESSIONS)),
    ),
)
"""The order of deletion: a recommendation goes after its measurements, a session after its recommendations."""


def _to_the_end(store: Transactions, batch: Callable[[UnitOfWork], int]) -> int:
    """Repeat until a batch is not full."""
    done = 0
    while True:
        gone = store.write(batch)
        done += gone
        if gone < BATCH:
            return done


def _merging(group: Group, before: datetime) -> Callable[[UnitOfWork], int]:
    def batch(unit: UnitOfWork) -> int:
        unit.databases.lock(group["database_id"])
        return sum(_into_one(unit, windows) for windows in _by_load(unit.retention.windows(group, before)))

    return batch


def _by_load(windows: Sequence[StoredReport]) -> list[list[StoredReport]]:
    """The windows of each load: a mean over two loads is a reading of neither."""
    apart: dict[Configuration, list[StoredReport]] = {}
    for window in windows:
        apart.setdefault(Configuration(window.context), []).append(window)
    return list(apart.values())


def _into_one(unit: UnitOfWork, windows: Sequence[StoredReport]) -> int:
    if len(windows) < 2:
        return 0
    unit.reports.replace(windows[-1].id, **merged(windows))
    return unit.retention.delete_reports([w.id for w in windows[:-1] if w.id is not None])


def merged(reports: Sequence[StoredReport]) -> dict[str, Any]:
    """One row in place of `reports`: the whole span, and each metric's mean over the windows that have it.

    Names of objects are dropped.
    """
    starts = [r.window_start for r in reports if r.window_start is not None]
    ends = [r.window_end for r in reports if r.window_end is not None]
    return {
        "window_start": min(starts),
        "window_end": max(ends),
        "windows": sum(r.windows for r in reports),
        "metrics": {name: _mean(name, reports) for name in _names(reports)},
        "texts": None,
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


class Stopped(Exception):
    """The service stops: what is not pruned yet is pruned when it runs again."""


class Unhurried:
    """A store that rests after each transaction. Raises Stopped once `stopping` is set."""

    def __init__(self, store: Store, stopping: threading.Event) -> None:
        self._store = store
        self._stopping = stopping

    def read(self, work: Work[THREAD_T]) -> THREAD_T:
        return self._rested(self._store.read, work)

    def write(self, work: Work[THREAD_T]) -> THREAD_T:
        return self._rested(self._store.write, work)

    def _rested(self, run: Callable[[Work[THREAD_T]], THREAD_T], work: Work[THREAD_T]) -> THREAD_T:
        began = time.monotonic()
        found = run(work)
        if self._stopping.wait((time.monotonic() - began) * (1 - SHARE) / SHARE):
            raise Stopped
        return found


class RetentionThread:
    """`start` and `stop` once each. Several services may prune one database: each batch locks its rows."""

    def __init__(self, store: Store, settings: Settings) -> None:
        self._settings = settings
        self._stopping = threading.Event()
        self._unhurried = Unhurried(store, self._stopping)
        self._thread = threading.Thread(target=self._run, name="retention", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stopping.set()
        if self._thread.ident is not None:
            self._thread.join(timeout=10)

    def _run(self) -> None:
        while not self._stopping.is_set():
            try:
                pruned = prune(self._unhurried, timedelta(days=self._settings.retention_days))
                if pruned.total:
                    log.info("%s", pruned)
            except Stopped:
                return
            except StoreAway:
                pass  # what is old does not get younger
            except Exception:
                log.exception("old rows could not be pruned")
            self._stopping.wait(self._settings.prune_s)

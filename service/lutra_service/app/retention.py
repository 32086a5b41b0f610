"""What is kept, and for how long.

Windows older than the retention are drawn together, one for each configuration, so that a session still learns from
them; a trial's one window is left as it is. What answers `lutra replay` is never deleted: a recommendation's request,
and the snapshots that the request builds on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from lutra_service.app.audit import KEPT as AUDIT_KEPT
from lutra_service.db.records import StoredReport
from lutra_service.db.retention import BATCH, Group
from lutra_service.db.store import Store, Unit


@dataclass(frozen=True)
class Pruned:
    """How many rows went; `windows` were drawn together into others."""

    windows: int
    heartbeats: int
    snapshots: int
    requests: int
    answers: int
    audit: int

    @property
    def total(self) -> int:
        return self.windows + self.heartbeats + self.snapshots + self.requests + self.answers + self.audit


def prune(store: Store, keep: timedelta) -> Pruned:
    """Each batch in a transaction of its own, so that reports come in meanwhile."""
    before = store.read(lambda unit: unit.now - keep)
    groups = store.read(lambda unit: unit.old.crowded(before))
    return Pruned(
        windows=sum(_to_the_end(store, _drawing_together(group, before)) for group in groups),
        heartbeats=_to_the_end(store, lambda unit: unit.old.delete_heartbeats(before)),
        requests=_to_the_end(store, lambda unit: unit.old.delete_requests(before)),
        snapshots=_to_the_end(store, lambda unit: unit.old.delete_snapshots(before)),
        answers=store.write(lambda unit: unit.old.delete_answers(before)),
        audit=_to_the_end(store, lambda unit: unit.audit.delete_audit(unit.now - AUDIT_KEPT)),
    )


def _to_the_end(store: Store, batch: Callable[[Unit], int]) -> int:
    """Repeat until a batch is not full."""
    done = 0
    while True:
        gone = store.write(batch)
        done += gone
        if gone < BATCH - 1:  # a full batch of windows leaves the one that the others went into
            return done


def _drawing_together(group: Group, before: datetime) -> Callable[[Unit], int]:
    def batch(unit: Unit) -> int:
        unit.databases.lock(group["database_id"])
        windows = unit.old.windows(group, before)
        if len(windows) < 2:
            return 0
        unit.reports.replace(windows[-1].id, **drawn_together(windows))
        return unit.old.delete_reports([w.id for w in windows[:-1] if w.id is not None])

    return batch


def drawn_together(reports: Sequence[StoredReport]) -> dict[str, Any]:
    """What one row says in place of `reports`: the whole span, and each metric's mean over the windows that have it."""
    names = sorted({name for r in reports for name in r.metrics})
    starts = [r.window_start for r in reports if r.window_start is not None]
    ends = [r.window_end for r in reports if r.window_end is not None]
    return {
        "window_start": min(starts),
        "window_end": max(ends),
        "windows": sum(r.windows for r in reports),
        "metrics": {name: _mean(name, reports) for name in names},
    }


def _mean(name: str, reports: Sequence[StoredReport]) -> float:
    told = [(r.metrics[name], r.windows) for r in reports if name in r.metrics]
    weight = sum(windows for _, windows in told)
    return float(sum(value * (windows / weight) for value, windows in told))

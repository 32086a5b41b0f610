"""The index of past workloads, kept ready in the service's process: read once, then brought up to date by what changed.

A transaction may have added rows to it that were never committed: callers read the rows again.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta

from lutra_models.gp.transfer.index import Index
from lutra_models.gp.transfer.workload import Workload

from lutra_service.db.repositories.workloads import Remembered
from lutra_service.db.store import UnitOfWork

BATCH = 100
"""The number of workloads that are read at a time: meanwhile they take many times their room in the index."""
OVERLAP = timedelta(minutes=10)
"""Transactions end in another order than they began, and clocks of several hosts differ."""
IMPORTED = "imported"
_KEPT = "memory"


class Ready:
    """One process's index. Use it by `ready`."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.index = Index()
        self._seen: dict[str, datetime] = {}
        self._extent: tuple[int, datetime | None] = (0, None)

    def refresh(self, unit: UnitOfWork) -> None:
        """Read the changes since the last time."""
        extent = unit.workloads.extent()
        if extent == self._extent:
            return
        since = self._extent[1]
        changed = unit.workloads.changes(None if since is None else since - OVERLAP)
        self._take(unit, [id_ for id_, at in changed if self._seen.get(id_) != at])
        self._seen.update(changed)
        if len(self._seen) != extent[0]:
            self._drop_missing(unit)
        self._extent = extent

    def _take(self, unit: UnitOfWork, ids: Sequence[str]) -> None:
        for start in range(0, len(ids), BATCH):
            for row in unit.workloads.read(ids[start : start + BATCH]):
                if row.teaches and row.taught is not None:
                    self.index.put(row.id, row.engine, owner_of(row), Workload.from_dict(row.taught))
                else:
                    self.index.drop(row.id)

    def _drop_missing(self, unit: UnitOfWork) -> None:
        there = dict(unit.workloads.changes(None))
        self._take(unit, [id_ for id_, at in there.items() if self._seen.get(id_) != at])
        for id_ in self._seen.keys() - there.keys():
            self.index.drop(id_)
        self._seen = there


def owner_of(row: Remembered) -> str:
    """The name under which the index has a workload: its database's, or the common one of all imported data."""
    return row.database_id or IMPORTED


@contextmanager
def ready(unit: UnitOfWork) -> Iterator[Index]:
    """The index as of this transaction, for one thread at a time."""
    found: Ready = unit.kept.setdefault(_KEPT, Ready())
    with found.lock:
        found.refresh(unit)
        yield found.index

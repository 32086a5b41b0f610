"""Under what a live database was looked at: its load, its settings, its symptoms; and whether that is still so."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from statistics import median
from typing import Any

from lutra_models.evidence.findings import STRENGTH_CHANGED
from lutra_models.history import same_context

from lutra_service.app.databases.evidence import evidence_of
from lutra_service.app.databases.server_context import ServerContext
from lutra_service.common.documents import Document
from lutra_service.db.repositories.recommendations import digest_of
from lutra_service.db.schema.records import StoredReport
from lutra_service.db.store import UnitOfWork

OFFERED = ("qps", "tps")
"""What clients ask for, where nobody makes the load: the first that was measured."""
LIKE = 1.5
"""Loads of which one is at most so many times the other are alike: a live load is never the same twice."""
WINDOWS = 3
"""So many windows say what a load is: their median is not one window's chance."""


@dataclass(frozen=True)
class Circumstances:
    """`context` is what the agent reports of the load, `offered` the load itself by metric, `strengths` are those of
    the symptoms by name; None where nobody asked.
    """

    settings: str
    context: Document = field(default_factory=dict)
    offered: Mapping[str, float] = field(default_factory=dict)
    strengths: Mapping[str, float] | None = None

    def alike(self, now: Circumstances) -> bool:
        """Whether `now` is nothing else. A symptom that went is no reason to look again."""
        if self.settings != now.settings or not same_context(self.context, now.context):
            return False
        if not like_load(self.offered, now.offered):
            return False
        came = now.strengths or {}
        was = self.strengths
        return was is None or all(s - was.get(name, 0.0) <= STRENGTH_CHANGED for name, s in came.items())

    def to_dict(self) -> Document:
        return asdict(self)


def like_load(one: Mapping[str, float], other: Mapping[str, float]) -> bool:
    """By the first metric of OFFERED that both have; without one they are alike."""
    name = next((n for n in OFFERED if n in one and n in other), None)
    if name is None:
        return True
    small, large = sorted((one[name], other[name]))
    return large <= LIKE * small or large == 0


def offered(reports: Iterable[StoredReport]) -> dict[str, float]:
    """The median load of these windows."""
    read = [r.metrics for r in reports]
    return {n: median(found) for n in OFFERED if (found := [m[n] for m in read if n in m])}


def newest(unit: UnitOfWork, database_id: str) -> list[StoredReport]:
    """The windows that say what the load is now; fewer than WINDOWS where there are no more."""
    return unit.reports.windows(database_id, WINDOWS)


def present(unit: UnitOfWork, at: ServerContext, symptoms: bool) -> Circumstances:
    """Those of now. `symptoms`: with their strengths, for which an hour's windows are read."""
    seen = dict(evidence_of(unit, at, None).basis(at.active).strengths) if symptoms else None
    load = offered(newest(unit, at.database.id))
    return Circumstances(digest_of(at.active), dict(at.database.context or {}), load, seen)


def read(document: Mapping[str, Any]) -> Circumstances:
    """What `to_dict` wrote."""
    return Circumstances(**document)

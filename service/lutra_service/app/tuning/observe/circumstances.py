"""The circumstances of an earlier check of a live database: its load, its settings, its symptoms; and the check whether
they still apply.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from lutra_models.evidence import STRENGTH_CHANGED
from lutra_models.history import same_context

from lutra_service.app.databases.current_server import ServerContext
from lutra_service.app.databases.symptoms import evidence_of
from lutra_service.app.tuning.observe import offered_load
from lutra_service.common.documents import Document
from lutra_service.db.repositories.recommendations import digest_of
from lutra_service.db.store import UnitOfWork


@dataclass(frozen=True)
class Circumstances:
    """`context` is the load as the agent reports it, `offered` the load itself by metric, `strengths` are those of the
    symptoms by name; None if unknown.
    """

    settings: str
    context: Document = field(default_factory=dict)
    offered: Mapping[str, float] = field(default_factory=dict)
    strengths: Mapping[str, float] | None = None

    def alike(self, now: Circumstances) -> bool:
        """Whether `now` adds nothing. A symptom that disappeared is not a reason to look again."""
        if self.settings != now.settings or not same_context(self.context, now.context):
            return False
        if not offered_load.is_like(self.offered, now.offered):
            return False
        came = now.strengths or {}
        was = self.strengths
        return was is None or all(s - was.get(name, 0.0) <= STRENGTH_CHANGED for name, s in came.items())

    def to_dict(self) -> Document:
        return asdict(self)


def present(unit: UnitOfWork, at: ServerContext, minutes: float | None = None) -> Circumstances:
    """The current ones; with the strengths of symptoms from the windows of that many `minutes`, if these are given."""
    seen = None if minutes is None else strengths(unit, at, minutes)
    newest = (r.metrics for r in unit.reports.windows(at.database.id, offered_load.WINDOWS))
    return Circumstances(digest_of(at.active), dict(at.database.context or {}), offered_load.offered(newest), seen)


def strengths(unit: UnitOfWork, at: ServerContext, minutes: float) -> dict[str, float]:
    """By symptom, its strength in the windows of the last minutes."""
    return dict(evidence_of(unit, at, None, minutes=minutes).basis(at.active).strengths)


def read(document: Mapping[str, Any]) -> Circumstances:
    """The value that `to_dict` wrote."""
    return Circumstances(**document)

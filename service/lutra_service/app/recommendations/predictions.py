"""What settings would give, by the newest snapshot: answered with numpy alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lutra_models.advice import Prediction
from lutra_models.knobs import Configuration

from lutra_service.app.databases.server_context import ServerContext
from lutra_service.common.documents import Document
from lutra_service.db.store import UnitOfWork

if TYPE_CHECKING:
    from lutra_models.gp.fitted.snapshot import Snapshot

LEVEL = 0.9


def predict(unit: UnitOfWork, at: ServerContext, configuration: Configuration) -> dict[str, Prediction]:
    """By the newest snapshot; empty where there is none."""
    newest = unit.snapshots.newest_id(at.database.id)
    return {} if newest is None else snapshot(newest, unit).predict([at.active.replace(configuration)], LEVEL)[0]


def record(unit: UnitOfWork, database_id: str) -> dict[str, Document]:
    """By metric: of `n` predicted readings that were then measured, how many the interval held."""
    told: dict[str, Document] = {}
    for recommendation in unit.recommendations.measured(database_id):
        measured = recommendation.measured or {}
        for metric, p in (recommendation.predictions or {}).items():
            if metric in measured:
                line = told.setdefault(metric, {"n": 0, "held": 0, "level": p["level"]})
                line["n"] += 1
                line["held"] += p["low"] <= measured[metric] <= p["high"]
    return told


_read: dict[str, Snapshot] = {}
_KEPT = 32


def snapshot(id_: str, unit: UnitOfWork) -> Snapshot:
    """A snapshot never changes once stored, so the last few that were read are kept ready."""
    from lutra_models.gp.fitted.snapshot import Snapshot

    found = _read.get(id_)
    if found is None:
        found = Snapshot.from_dict(unit.snapshots.get(id_).payload)
        while len(_read) >= _KEPT:
            _read.pop(next(iter(_read)), None)
        _read[id_] = found
    return found

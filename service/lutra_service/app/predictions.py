"""What would these settings give? Answered from the newest snapshot of the load of now, with numpy alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from lutra_models.advice import Prediction
from lutra_models.errors import NotEnoughObservations
from lutra_models.history import same_context
from lutra_models.knobs import Configuration

from lutra_service.app import details, plain
from lutra_service.app.live import Live
from lutra_service.db.records import Document
from lutra_service.db.store import Unit

if TYPE_CHECKING:
    from lutra_models.gp.fitted.snapshot import Snapshot

LEVEL = 0.9
LOOKED_AT = 16
"""Of a database's snapshots the newest few, where the load keeps changing."""


@dataclass(frozen=True)
class WhatIf:
    """A prediction, and what it rests on."""

    configuration: Configuration
    predictions: dict[str, Prediction]
    changes: list[Document]
    memory: Document
    refusal: Document | None
    warnings: list[str]
    observations: int
    session_id: str | None
    fitted_at: datetime
    record: dict[str, Document]


def what_if(unit: Unit, at: Live, settings: Mapping[str, Any], level: float = LEVEL) -> WhatIf:
    """`settings` (texts with units, or numbers) laid over the current ones. A question: nothing is stored or refused.

    Raises NotEnoughObservations before anything was fitted under the load of now, InvalidConfiguration for a value that
    is none.
    """
    newest = _newest_of_this_load(unit, at)
    if newest is None:
        load = ", ".join(f"{name} {value}" for name, value in (at.database.context or {}).items())
        under = f" under this load ({load})" if load else ""
        raise NotEnoughObservations(
            f"{at.database.id}: nothing was fitted yet{under}; a session's third trial brings a model"
        )
    stored = unit.snapshots.get(newest)
    asked = at.parse(settings)
    configuration = at.active.replace(asked)
    target = at.active.restrict(at.space.names).replace(asked)
    changes = at.catalog.changes(at.server, target)
    refusal = details.memory_refusal(at, target)
    return WhatIf(
        configuration=target,
        predictions=_snapshot(stored.id, unit).predict([configuration], level)[0],
        changes=[plain.change_to_dict(c) for c in changes],
        memory=details.memory_sum(at, target),
        refusal=None if refusal is None else {"code": refusal.code, "message": refusal.message},
        warnings=details.warnings(at, target, changes),
        observations=stored.observations,
        session_id=stored.session_id,
        fitted_at=stored.created_at,
        record=record(unit, at.database.id),
    )


def predict(unit: Unit, at: Live, configuration: Configuration) -> dict[str, Prediction]:
    """By the newest snapshot of the load of now; empty where there is none."""
    newest = _newest_of_this_load(unit, at)
    return {} if newest is None else _snapshot(newest, unit).predict([at.active.replace(configuration)], LEVEL)[0]


def record(unit: Unit, database_id: str) -> dict[str, Document]:
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


def _newest_of_this_load(unit: Unit, at: Live) -> str | None:
    """The id of the newest snapshot whose readings were taken under the load that the agent reported last."""
    load = at.database.context or {}
    latest = unit.snapshots.newest_ids(at.database.id, LOOKED_AT)
    return next((id_ for id_ in latest if same_context(load, _snapshot(id_, unit).context)), None)


_read: dict[str, Snapshot] = {}
_KEPT = 32


def _snapshot(id_: str, unit: Unit) -> Snapshot:
    """A snapshot never changes once stored, so the last few that were read are kept ready."""
    from lutra_models.gp.fitted.snapshot import Snapshot

    found = _read.get(id_)
    if found is None:
        found = Snapshot.from_dict(unit.snapshots.get(id_).payload)
        while len(_read) >= _KEPT:
            _read.pop(next(iter(_read)), None)
        _read[id_] = found
    return found

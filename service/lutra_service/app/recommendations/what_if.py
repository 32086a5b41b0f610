"""What-if: the p99 and QPS of given settings. A question: nothing is stored or refused."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from lutra_models.advice import Prediction
from lutra_models.errors import NotEnoughObservations
from lutra_models.knobs import Configuration

from lutra_service.app.databases.server_context import ServerContext
from lutra_service.app.recommendations import change_set
from lutra_service.app.recommendations.predictions import LEVEL, newest_of_this_load, record, snapshot
from lutra_service.common import serialize
from lutra_service.common.documents import Document
from lutra_service.db.store import UnitOfWork


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


def what_if(unit: UnitOfWork, at: ServerContext, settings: Mapping[str, Any], level: float = LEVEL) -> WhatIf:
    """`settings` (texts with units, or numbers) merged with the current ones. A question: nothing is stored or refused.

    Raises NotEnoughObservations before anything was fitted under the load of now, InvalidConfiguration for a value that
    is none.
    """
    newest = newest_of_this_load(unit, at)
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
    changes = at.live.changes(target)
    refusal = at.memory_refusal(target)
    return WhatIf(
        configuration=target,
        predictions=snapshot(stored.id, unit).predict([configuration], level)[0],
        changes=[serialize.change_to_dict(c) for c in at.live.steps(changes)],
        memory=change_set.memory_sum(at, target),
        refusal=None if refusal is None else {"code": refusal.code, "message": refusal.message},
        warnings=change_set.warnings(at, target, changes),
        observations=stored.observations,
        session_id=stored.session_id,
        fitted_at=stored.created_at,
        record=record(unit, at.database.id),
    )

"""The predicted effect of settings, from the newest snapshot at the current load: computed with numpy alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from lutra_models.advice import Prediction
from lutra_models.history import same_context
from lutra_models.knobs import Configuration, Value

from lutra_service.app.databases.server_context import ServerContext
from lutra_service.common.documents import Document
from lutra_service.db.schema.recommendation import Recommendation
from lutra_service.db.store import UnitOfWork

if TYPE_CHECKING:
    from lutra_models.gp.fitted.snapshot import Snapshot

LEVEL = 0.9
LOOKED_AT = 16
"""The number of a database's newest snapshots that are kept if the load keeps changing."""


def predict(unit: UnitOfWork, context: ServerContext, configuration: Configuration) -> dict[str, Prediction]:
    """From the newest snapshot at the current load; empty if there is none, or if it knows none of the changes."""
    newest = newest_of_this_load(unit, context)
    return {} if newest is None else of_changes(snapshot(newest, unit), context.active, configuration, LEVEL)


def of_changes(
    model: Snapshot, active: Configuration, settings: Mapping[str, Value], level: float
) -> dict[str, Prediction]:
    """The predicted effect of `settings` over the active ones; empty if the model has seen none of those that change.

    The prediction for an unchanged configuration must not be returned for an unknown change. Empty as well if the
    server no longer reports a setting that the model needs.
    """
    home = model.encoding.decode(model.home)
    stays = home.restrict(k.name for k in model.encoding.knobs if k.applies == "fixed")
    changed, asked = active.changes_to(settings), stays.replace(active).replace(settings)
    unseen, seen = model.unseen(changed), [k.name for k in model.encoding.knobs]
    if (changed and len(unseen) == len(changed)) or any(name not in asked for name in seen):
        return {}
    return model.predict([asked.restrict([*seen, *unseen])], level)[0]


def record(unit: UnitOfWork, database_id: str) -> dict[str, Document]:
    """By metric: the number of predicted readings that were measured (`n`), and how many the interval contained."""
    accuracy: dict[str, Document] = {}
    for recommendation in unit.recommendations.measured(database_id):
        measured = recommendation.measured or {}
        for metric, p in _predicted(recommendation).items():
            if metric in measured:
                line = accuracy.setdefault(metric, {"n": 0, "held": 0, "level": p["level"]})
                line["n"] += 1
                line["held"] += p["low"] <= measured[metric] <= p["high"]
    return accuracy


def _predicted(recommendation: Recommendation) -> Document:
    return {} if recommendation.proposal is None else recommendation.proposal.predictions


def newest_of_this_load(unit: UnitOfWork, context: ServerContext) -> str | None:
    """The id of the newest snapshot whose readings were taken under the last reported load."""
    load = context.database.context or {}
    latest = unit.snapshots.newest_ids(context.database.id, LOOKED_AT)
    return next((id_ for id_ in latest if same_context(load, snapshot(id_, unit).context)), None)


_read: dict[str, Snapshot] = {}
_KEPT = 32


def snapshot(id_: str, unit: UnitOfWork) -> Snapshot:
    """A snapshot never changes once stored, so the last few that were read are cached."""
    from lutra_models.gp.fitted.snapshot import Snapshot

    found = _read.get(id_)
    if found is None:
        found = Snapshot.from_dict(unit.snapshots.get(id_).payload)
        while len(_read) >= _KEPT:
            _read.pop(next(iter(_read)), None)
        _read[id_] = found
    return found

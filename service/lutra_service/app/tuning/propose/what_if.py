"""What-if: the p99 and QPS of given settings. It only predicts: nothing is stored or refused."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal

from lutra_models.advice import Prediction
from lutra_models.errors import InvalidConfiguration, NotEnoughObservations
from lutra_models.knobs import Applies, Configuration, Risk, Value

from lutra_service.app.databases.current_server import ServerContext
from lutra_service.app.errors import InvalidRequest
from lutra_service.app.tuning.admit import change_set
from lutra_service.app.tuning.admit.admission import admitted
from lutra_service.common import serialize
from lutra_service.common.documents import Document
from lutra_service.db.store import UnitOfWork

if TYPE_CHECKING:
    from lutra_models.gp.fitted.snapshot import Snapshot
from typing import TYPE_CHECKING

from lutra_models.history import same_context

from lutra_service.db.schema.recommendation import Recommendation

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


@dataclass(frozen=True)
class NotKnown:
    """A change whose effect no model knows, with its description from the catalogue.

    `memory_bytes` is the contribution of this change alone to the memory sum.
    """

    setting: str
    before: Value
    after: Value
    meaning: str
    manual: str
    risk: Risk
    applies: Applies | Literal["fixed"]
    memory_bytes: int


@dataclass(frozen=True)
class ForLoad:
    """The offered load of a prediction, and the range in which it was measured."""

    rate_of: str
    rate: float
    low: float
    high: float


@dataclass(frozen=True)
class WhatIf:
    """A prediction, and its basis. `not_known` are the changes that it does not cover."""

    configuration: Configuration
    predictions: dict[str, Prediction]
    not_known: list[NotKnown]
    changes: list[Document]
    memory: Document
    refusal: Document | None
    warnings: list[str]
    observations: int
    session_id: str | None
    fitted_at: datetime
    record: dict[str, Document]
    load: ForLoad | None


def what_if(
    unit: UnitOfWork,
    context: ServerContext,
    settings: Mapping[str, Any],
    level: float = LEVEL,
    rate: float | None = None,
) -> WhatIf:
    """`settings` (texts with units, or numbers) merged with the current ones. It only predicts: nothing is stored or
    refused.

    It is for the current load, or on a live database for a `rate` that clients offer. Raises NotEnoughObservations
    before the first fit at the current load, InvalidConfiguration for an invalid value, and InvalidRequest for a rate
    outside the model.
    """
    newest = newest_of_this_load(unit, context)
    if newest is None:
        load = ", ".join(f"{name} {value}" for name, value in (context.database.context or {}).items())
        under = f" under this load ({load})" if load else ""
        raise NotEnoughObservations(
            f"{context.database.id}: no model yet{under}: it is fitted after a session's third trial"
        )
    stored, model = unit.snapshots.get(newest), snapshot(newest, unit)
    asked = context.parse(settings)
    target = context.active.restrict(context.space.names).replace(asked)
    changes = context.live.changes(target)
    predictions, of_load = _for_load(model, of_changes(model, context.active, target, level), rate)
    return WhatIf(
        configuration=target,
        predictions=predictions,
        not_known=[_not_known(context, name, target[name]) for name in model.unseen(c.name for c in changes)],
        changes=[serialize.change_to_dict(c) for c in context.live.steps(changes)],
        memory=change_set.memory_sum(context, target),
        refusal=_refusal(unit, context, asked),
        warnings=change_set.warnings(context, target, changes),
        observations=stored.observations,
        session_id=stored.session_id,
        fitted_at=stored.created_at,
        record=record(unit, context.database.id),
        load=of_load,
    )


def _for_load(
    model: Snapshot, predictions: dict[str, Prediction], rate: float | None
) -> tuple[dict[str, Prediction], ForLoad | None]:
    """The predictions at that rate, and which load they are for, as far as that is known. Raises InvalidRequest."""
    known = next(iter(model.loads.values()), None)
    if rate is None:
        return predictions, None if known is None else ForLoad(known.rate_of, known.here, known.low, known.high)
    if known is None:
        raise InvalidRequest(
            f"rate: {rate:g} cannot be predicted: the model was fitted at the current load only. In "
            "a lab the rate is a result of "
            "the settings; on a live database, windows at several rates are needed. Omit `rate`"
        )
    try:
        return model.at_rate(predictions, rate), ForLoad(known.rate_of, rate, known.low, known.high)
    except ValueError as error:
        raise InvalidRequest(f"rate: {error}; other loads cannot be predicted") from error


def _refusal(unit: UnitOfWork, context: ServerContext, asked: Mapping[str, Value]) -> Document | None:
    """Why a recommendation of these settings would be refused, by the very rules that it would meet."""
    try:
        admitted(unit, context, asked)
    except InvalidConfiguration as error:
        return {"code": error.code, "message": str(error)}
    return None


def _not_known(context: ServerContext, name: str, after: Value) -> NotKnown:
    row, reported = context.live.row(name), context.server.settings[name]
    more, now = (context.live.memory(context.policy, changed).total_bytes for changed in ({name: after}, {}))
    return NotKnown(name, context.active[name], after, row.meaning, row.manual, row.risk, reported.applies, more - now)

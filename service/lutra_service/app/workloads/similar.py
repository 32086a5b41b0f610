"""Which past workloads resemble one of them, by the rule by which a recommendation chooses those that it uses."""

from __future__ import annotations

from lutra_models.gp.options import Options
from lutra_models.gp.transfer.index import Likeness
from lutra_models.gp.transfer.question import Question
from lutra_models.gp.transfer.workload import Workload
from lutra_models.serial import history_from_dict

from lutra_service.app.workloads.index import ready
from lutra_service.db.schema.records import Workload as Row
from lutra_service.db.store import UnitOfWork


def nearest(unit: UnitOfWork, id_: str, count: int, options: Options) -> list[tuple[Row, Likeness]]:
    """The `count` most similar of all that teach, the most similar first. Raises NotFound.

    Whether a database may learn from another one is not asked: this is what the fleet looks like.
    """
    asked = _asked(unit.workloads.get(id_))
    with ready(unit) as index:
        found = index.ranked(asked, None, count, [id_], options)
    rows = unit.workloads.some([likeness.id for likeness in found])
    return [(rows[likeness.id], likeness) for likeness in found if likeness.id in rows]


def _asked(row: Row) -> Question:
    """By what it measured, or where that are no longer kept by its signature."""
    if row.history is not None:
        return Question.of(history_from_dict(row.history), row.engine)
    taught = Workload.from_dict(row.taught or {"signature": {}, "context": {}, "lessons": {}})
    return Question.of_signature(row.engine, row.metric, taught.signature, taught.context)

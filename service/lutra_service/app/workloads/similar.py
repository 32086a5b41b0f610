"""The past workloads that resemble a given one, by the rule by which a recommendation chooses its workloads."""

from __future__ import annotations

from lutra_models.gp.options import Options
from lutra_models.gp.transfer.index import Likeness
from lutra_models.gp.transfer.question import Question
from lutra_models.serial import history_from_dict

from lutra_service.app.workloads.index import ready
from lutra_service.db.schema.records import Workload
from lutra_service.db.store import UnitOfWork


def nearest(unit: UnitOfWork, id_: str, count: int, options: Options) -> list[tuple[Workload, Likeness]]:
    """The `count` most similar of all with lessons, the most similar first. Raises NotFound.

    The policies for learning from other databases are ignored: this shows the whole fleet.
    """
    row = unit.workloads.get(id_)
    asked = Question.of(history_from_dict(row.history), row.engine)
    with ready(unit) as index:
        found = index.ranked(asked, None, count, [id_], options)
    rows = unit.workloads.some([likeness.id for likeness in found])
    return [(rows[likeness.id], likeness) for likeness in found if likeness.id in rows]

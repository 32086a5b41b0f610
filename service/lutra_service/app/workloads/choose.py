"""The past workloads from which a recommendation learns: the few most similar ones that its database may see."""

from __future__ import annotations

from collections.abc import Sequence

from lutra_models.gp.options import Options
from lutra_models.gp.transfer.choice import CHOSEN, LOOKED_AT, chosen
from lutra_models.gp.transfer.index import Likeness
from lutra_models.gp.transfer.question import Question
from lutra_models.history import History
from lutra_models.serial import history_from_dict

from lutra_service.app.workloads.index import IMPORTED, ready
from lutra_service.db.repositories.workloads import Remembered
from lutra_service.db.schema.records import Database, Workload
from lutra_service.db.store import UnitOfWork

TOGETHER = 2 * CHOSEN
"""The number of most similar workloads that are read at a time: usually the first ones are enough."""
PAST_READINGS = 3
"""The number of confirmed readings from which others learn from a session."""


def likeliest(
    unit: UnitOfWork, database: Database, session_id: str, history: History, options: Options
) -> Sequence[Remembered]:
    """The workloads from which a session with this history learns, the most similar first.

    From the database itself it may use all other sessions; from each other database, if both policies allow it, at most
    one, with enough confirmed readings. So no database can displace others.
    """
    asked = Question.of(history, database.engine)
    own = unit.workloads.id_of_session(session_id)
    found = _chosen(unit, database, asked, own, None, options)
    if found is None:
        allowed = {database.id, *unit.workloads.owners(database), *(() if database.past == "none" else (IMPORTED,))}
        found = _chosen(unit, database, asked, own, allowed, options)
    return found or []


def _chosen(
    unit: UnitOfWork, database: Database, asked: Question, own: str | None, owners: set[str] | None, options: Options
) -> Sequence[Remembered] | None:
    """The likeliest that the database may see; of all owners, where none are named.

    None if so few of the likeliest may be seen that all of them have to be looked at by their owners.
    """
    with ready(unit) as index:
        nearest = index.likeliest(asked, owners, LOOKED_AT, [own] if own else [], options)
    rows: dict[str, Remembered] = {}
    ids: list[str] = []
    for start in range(0, len(nearest), TOGETHER):
        rows |= {r.id: r for r in _seen(unit, database, nearest[start : start + TOGETHER])}
        ids = chosen([(i, rows[i].database_id or i) for i in nearest if i in rows], database.id)
        if len(ids) == CHOSEN:
            break
    if owners is None and len(ids) < CHOSEN and len(nearest) == LOOKED_AT:
        return None
    return [rows[id_] for id_ in ids]


def _seen(unit: UnitOfWork, database: Database, ids: Sequence[str]) -> list[Remembered]:
    """Those that the database may lean on, by the policies of now and by what is committed."""
    rows = [r for r in unit.workloads.look(ids) if r.teaches]
    others = {r.database_id for r in rows if r.database_id is not None} - {database.id}
    allowed = {database.id, *unit.workloads.owners(database, others)}
    may = [r for r in rows if (database.past != "none" if r.database_id is None else r.database_id in allowed)]
    return _sound(unit, database, may)


def _sound(unit: UnitOfWork, database: Database, rows: Sequence[Remembered]) -> list[Remembered]:
    """Without other databases' sessions of few confirmed readings. What was imported is nobody's."""
    others = [r.session_id for r in rows if r.database_id not in (None, database.id) and r.session_id is not None]
    measured = unit.workloads.measured(others, PAST_READINGS)
    return [r for r in rows if r.database_id in (None, database.id) or r.session_id in measured]


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

"""Which past workloads a recommendation leans on: the likeliest few of all that its database may see."""

from __future__ import annotations

from collections.abc import Sequence

from lutra_models.gp.memory.choice import LOOKED_AT, chosen
from lutra_models.gp.memory.question import Question
from lutra_models.history import History

from lutra_service.app.memory.ready import IMPORTED, owner_of, ready
from lutra_service.db.repositories.workloads import Remembered
from lutra_service.db.schema.records import Database
from lutra_service.db.store import UnitOfWork

PAST_READINGS = 3
"""Confirmed readings from which others learn from a session."""


def past_of(unit: UnitOfWork, database: Database, session_id: str, history: History) -> list[str]:
    """The ids of their models, the likeliest first. Part of the stored request: what is chosen stays chosen.

    Of the database itself any of its other sessions; of another database, where the policies of both allow it, one at
    most, and only of a session with enough confirmed readings: no database can push the others out.
    """
    asked = Question.of(history, database.engine)
    allowed = {database.id, *unit.workloads.owners(database), *(() if database.past == "none" else (IMPORTED,))}
    own = unit.workloads.id_of_session(session_id)
    with ready(unit) as index:
        likeliest = index.likeliest(asked, allowed, LOOKED_AT, without=[own] if own else [])
    rows = {r.id: r for r in unit.workloads.look(likeliest) if r.teaches and owner_of(r) in allowed}
    sound = _sound(unit, database, [rows[id_] for id_ in likeliest if id_ in rows])
    ids = chosen([(r.id, r.database_id or r.id) for r in sound], database.id)
    return [str(rows[id_].snapshot_id) for id_ in ids]


def _sound(unit: UnitOfWork, database: Database, rows: Sequence[Remembered]) -> list[Remembered]:
    """Without other databases' sessions of few confirmed readings. What was imported is nobody's."""
    others = [r.session_id for r in rows if r.database_id not in (None, database.id) and r.session_id is not None]
    measured = unit.workloads.measured(others, PAST_READINGS)
    return [r for r in rows if r.database_id in (None, database.id) or r.session_id in measured]

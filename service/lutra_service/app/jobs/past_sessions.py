"""The past sessions on which a model version is scored, and the input of a worker for one of them.

A data set without a database counts as a session, because it has no session of its own.
"""

from __future__ import annotations

from lutra_models import serial
from lutra_models.digest import fingerprint
from lutra_models.errors import NotEnoughObservations
from lutra_models.gp.options import Options
from lutra_models.scores import LEAST_TRIALS

from lutra_service.app.access import audit
from lutra_service.app.databases.current_server import context_of
from lutra_service.app.model_versions.serving import require_whole
from lutra_service.app.tuning.record import histories
from lutra_service.app.workloads import choose
from lutra_service.common.documents import Document
from lutra_service.db.schema.records import Job, ModelJob
from lutra_service.db.store import UnitOfWork

DATA_SET = "wl_"
MOST_SESSIONS = 40
"""The newest ones, and after them data sets."""
MOST_ROWS = 60
"""The rows of a data set, evenly in its order."""


def start(unit: UnitOfWork, model_id: str) -> ModelJob:
    """The job of the version's scorecard: a new one, or the one in progress.

    Raises NotEnoughObservations if no session can be used for scoring, and MissingExtension.
    """
    version = unit.models.get(model_id)
    require_whole(version)
    known = unit.model_jobs.newest(model_id)
    if known is not None and known.state == "waiting":
        return known
    sessions = unit.sessions.measured(LEAST_TRIALS, MOST_SESSIONS)
    sessions += unit.workloads.data_sets(MOST_SESSIONS - len(sessions))
    if not sessions and not version.packages:
        raise NotEnoughObservations(f"no session has {LEAST_TRIALS} measured trials yet: there is nothing to score on")
    made = unit.model_jobs.add(ModelJob(unit.new_id("job"), model_id, "score", "waiting", unit.now, sessions=sessions))
    unit.jobs.add(Job(made.id, "score", unit.now))
    audit.record(unit, "model.score", model_id, None, {"sessions": len(sessions)}, database_id=None)
    return made


def session_payload(unit: UnitOfWork, session_id: str, options: Options) -> Document:
    """The session's history in its current form, and those of the workloads from which it might learn. Raises NotFound
    if a data set is gone.
    """
    if session_id.startswith(DATA_SET):
        return _data_set(unit, session_id)
    session = unit.sessions.get(session_id)
    context = context_of(unit, unit.databases.get(session.database_id), session)
    history = histories.history(unit, context, session)
    leaned_on = choose.likeliest(unit, context.database, session_id, history, options)
    others = [unit.workloads.get(row.id).history for row in leaned_on]
    return _payload(session_id, serial.history_to_dict(history, context.server, context.policy), others)


def _data_set(unit: UnitOfWork, id_: str) -> Document:
    """By itself: no database says what it might learn from."""
    kept = unit.workloads.get(id_).history
    rows = kept["observations"]
    step = max(1, -(-len(rows) // MOST_ROWS))
    return _payload(id_, {**kept, "observations": rows[::step]}, [])


def _payload(id_: str, own: Document, others: list[Document]) -> Document:
    key = fingerprint([id_, own])
    return {"history": own, "others": others, "key": key, "trials": len(own["observations"])}

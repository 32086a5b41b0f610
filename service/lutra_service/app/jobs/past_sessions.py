"""Which past sessions a model version is scored on, and what a worker is given of one of them."""

from __future__ import annotations

from lutra_models import serial
from lutra_models.digest import fingerprint
from lutra_models.errors import NotEnoughObservations
from lutra_models.gp.options import Options
from lutra_models.scores import LEAST_TRIALS

from lutra_service.app.access import audit
from lutra_service.app.databases.current_server import context_of
from lutra_service.app.memory import choose
from lutra_service.app.models.serving import require_whole
from lutra_service.app.recommendations import histories
from lutra_service.common.documents import Document
from lutra_service.db.schema.records import ModelJob
from lutra_service.db.store import UnitOfWork

MOST_SESSIONS = 40
"""The newest ones."""


def start(unit: UnitOfWork, model_id: str) -> ModelJob:
    """The job of the version's scorecard: a new one, or the one that is under way.

    Raises NotEnoughObservations where no session says anything of it, and MissingExtension.
    """
    version = unit.models.get(model_id)
    require_whole(version)
    known = unit.model_jobs.newest(model_id)
    if known is not None and known.state == "waiting":
        return known
    sessions = unit.sessions.measured(LEAST_TRIALS, MOST_SESSIONS)
    if not sessions and not version.packages:
        raise NotEnoughObservations(f"no session has {LEAST_TRIALS} measured trials yet: there is nothing to score on")
    made = unit.model_jobs.add(ModelJob(unit.new_id("job"), model_id, "score", "waiting", unit.now, sessions=sessions))
    audit.record(unit, "model.score", model_id, None, {"sessions": len(sessions)}, database_id=None)
    unit.publish(made.id, model_id)
    return made


def session_payload(unit: UnitOfWork, session_id: str, options: Options) -> Document:
    """The session's history as it would be seen now, and those of the workloads that it might learn from."""
    session = unit.sessions.get(session_id)
    at = context_of(unit, unit.databases.get(session.database_id), session)
    history = histories.history(unit, at, session)
    leaned_on = choose.likeliest(unit, at.database, session_id, history, options)
    others = [kept for row in leaned_on if (kept := unit.workloads.get(row.id).history) is not None]
    own = serial.history_to_dict(history, at.server, at.policy)
    return {
        "history": own,
        "others": others,
        "key": fingerprint([session_id, own]),
        "trials": len(own["observations"]),
    }

"""The computations of model versions that do not serve: predictions in the shadow, and scorecards.

A scorecard takes many jobs, one after another: the conformance suite of what packages bring, then one for each past
session. The first scorecard of a version grows with each session; a later one replaces it once it is complete. A
candidate whose process is lost gets no second attempt. Candidates share one worker, which may have loaded
the code of others: it never computes a recommendation, pauses while this machine computes one, and ends before it
computes for another version.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from lutra_models import serial
from lutra_models.digest import fingerprint
from lutra_models.errors import LutraError, NotEnoughObservations
from lutra_models.gp.options import Options
from lutra_models.scores import LEAST_TRIALS, scorecard

from lutra_service.app.access import audit
from lutra_service.app.databases.current_server import context_of
from lutra_service.app.jobs.kinds import ComputationLost, JobKind, Pool, Task
from lutra_service.app.jobs.recommendation_jobs import task_of
from lutra_service.app.jobs.results import InvalidAnswer, check_predictions, finite
from lutra_service.app.model_versions import versions
from lutra_service.app.model_versions.comparison import faults
from lutra_service.app.model_versions.serving import Serving, asked_of, options_of, require_whole
from lutra_service.app.tuning.record import histories
from lutra_service.app.workloads import choose
from lutra_service.common.documents import Document
from lutra_service.db.schema.records import Job, ModelJob
from lutra_service.db.store import UnitOfWork
from lutra_service.workers.maker import candidate_worker

DATA_SET = "wl_"
MOST_SESSIONS = 40
"""The newest ones, and after them data sets."""
MOST_ROWS = 60
"""The rows of a data set, evenly in its order."""


def prepare(unit: UnitOfWork, id_: str) -> Task | None:
    """Raises MissingExtension, and NotFound if its input was deleted."""
    found = _waiting(unit, id_)
    if found is None:
        return None
    version = unit.models.get(found.model_id)
    require_whole(version)
    options = options_of(version)
    asked: Document = asked_of(Serving(version, options))
    if found.kind == "shadow":
        assert found.recommendation_id is not None
        recommendation = unit.recommendations.get(found.recommendation_id)
        request = task_of(unit, recommendation.id).payload
        return Task("predict", {**request, **asked, "configuration": recommendation.configuration}, version.id)
    if not found.results:
        return Task("conformance", asked, version.id)
    session = session_payload(unit, found.sessions[len(found.results) - 1], options)
    return Task("score", {**asked, **session}, version.id)


def checked(result: Document, _: Mapping[str, Any]) -> Document:
    """`result`, where it answers a request. Raises InvalidAnswer."""
    if not finite(result):
        raise InvalidAnswer("the answer holds numbers that are not finite")
    if "predictions" in result:
        check_predictions(result["predictions"])
    return result


def complete(unit: UnitOfWork, id_: str, result: Document) -> str:
    found = _waiting(unit, id_)
    if found is None:
        return ""
    if found.kind == "shadow":
        _end(unit, found, state="done", predictions=result["predictions"])
    else:
        _add(unit, found, result)
    return "done"


def give_up(unit: UnitOfWork, id_: str, _: Task | None, error: LutraError) -> str:
    """A session that a version cannot be scored on counts as one. Anything else ends the job, and a lost worker the
    version's shadow as well: its other jobs would end in the same way.
    """
    found = _waiting(unit, id_)
    if found is None:
        return ""
    lost = isinstance(error, ComputationLost)
    told = (str(error) if lost else f"{error.code}: {error}")[:1000]
    if found.kind == "score" and found.results and not lost:
        _add(unit, found, {"failed": told})
        return "failed"
    _end(unit, found, state="failed", error=told)
    if lost:
        versions.end_shadow(unit, found.model_id, told)
    return "failed"


def _waiting(unit: UnitOfWork, id_: str) -> ModelJob | None:
    found = unit.model_jobs.find(id_)
    return found if found is not None and found.state == "waiting" else None


def _add(unit: UnitOfWork, found: ModelJob, told: Document) -> None:
    done = len(found.results)
    row = told if done == 0 else {"session": found.sessions[done - 1], **told}
    results = [*found.results, row]
    unit.model_jobs.change(found.id, results=results)
    if done == 0 and (broken := faults(told["conformance"])):
        _refuse(unit, found, told, f"it does not pass the conformance suite: {'; '.join(broken)}")
    elif len(results) > len(found.sessions):
        _end(unit, found, state="done")
        _keep(unit, found, results[0], results[1:])
    else:
        unit.jobs.add(Job(found.id, "score", unit.now))
        if done and _first(unit, found):
            _keep(unit, found, results[0], results[1:])


def _first(unit: UnitOfWork, found: ModelJob) -> bool:
    """Whether the version has no scorecard of an earlier job."""
    scored_at = unit.models.get(found.model_id).scored_at
    return scored_at is None or scored_at > found.created_at


def _keep(unit: UnitOfWork, found: ModelJob, suite: Document, sessions: Sequence[Document]) -> None:
    scored = [s for s in sessions if "failed" not in s]
    data = {
        "fingerprint": fingerprint([s["key"] for s in scored]),
        "sessions": len(scored),
        "trials": sum(s["trials"] for s in scored),
    }
    card = scorecard(sessions, suite["conformance"])
    unit.models.change(found.model_id, scorecard=card, data=data, scored_at=unit.now)


def _refuse(unit: UnitOfWork, found: ModelJob, suite: Document, why: str) -> None:
    """What does not pass the suite is scored on no session, and runs in no shadow."""
    _end(unit, found, state="failed", error=why[:1000])
    _keep(unit, found, suite, ())
    versions.end_shadow(unit, found.model_id, why)


def _end(unit: UnitOfWork, found: ModelJob, **values: Any) -> None:
    unit.model_jobs.change(found.id, **values, ended_at=unit.now)


SHADOW = JobKind("shadow", prepare, checked, complete, give_up)
SCORE = JobKind("score", prepare, checked, complete, give_up)
POOL = Pool((SHADOW, SCORE), candidate_worker, gives_way=True)
"""Predictions go first: they are short, and soon compared."""


def start(unit: UnitOfWork, model_id: str) -> ModelJob:
    """The job of the version's scorecard: a new one, or the one in progress.

    Its sessions are in an order drawn by a digest of their ids, the same for every version: the first of them are a
    random sample, on which two versions can be compared before all are scored.
    Raises NotEnoughObservations if no session says anything of it, and MissingExtension.
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
    sessions.sort(key=fingerprint)
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
    at = context_of(unit, unit.databases.get(session.database_id), session)
    history = histories.history(unit, at, session)
    leaned_on = choose.likeliest(unit, at.database, session_id, history, options)
    others = [unit.workloads.get(row.id).history for row in leaned_on]
    return _payload(session_id, serial.history_to_dict(history, at.server, at.policy), others)


def _data_set(unit: UnitOfWork, id_: str) -> Document:
    """By itself: no database says what it might learn from."""
    kept = unit.workloads.get(id_).history
    rows = kept["observations"]
    step = max(1, -(-len(rows) // MOST_ROWS))
    return _payload(id_, {**kept, "observations": rows[::step]}, [])


def _payload(id_: str, own: Document, others: list[Document]) -> Document:
    key = fingerprint([id_, own])
    return {"history": own, "others": others, "key": key, "trials": len(own["observations"])}

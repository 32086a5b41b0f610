"""The computations of model versions that do not serve: predictions in the shadow, and scorecards.

A scorecard takes many jobs, one after another: the conformance suite for the parts of packages, then one job for each
past session. A candidate whose process is lost gets no second attempt. Candidates share one worker, which may have
loaded the code of others: it never computes a recommendation, pauses while this machine computes one, and ends before
it computes for another version.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from lutra_models.digest import fingerprint
from lutra_models.errors import LutraError
from lutra_models.scores import scorecard

from lutra_service.app.jobs.kinds import ComputationLost, JobKind, Pool, Task
from lutra_service.app.jobs.past_sessions import session_payload
from lutra_service.app.jobs.recommendation_jobs import task_of
from lutra_service.app.jobs.results import InvalidAnswer, check_predictions, finite
from lutra_service.app.model_versions import versions
from lutra_service.app.model_versions.serving import Serving, asked_of, options_of, require_whole
from lutra_service.app.model_versions.suite import faults
from lutra_service.common.documents import Document
from lutra_service.db.schema.records import Job, ModelJob
from lutra_service.db.store import UnitOfWork
from lutra_service.workers.maker import candidate_worker


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
    """`result`, if it is an answer to a request. Raises InvalidAnswer."""
    if not finite(result):
        raise InvalidAnswer("the answer contains numbers that are not finite")
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
    """A session that cannot be scored still counts. Any other failure ends the job, and a lost worker also ends the
    version's shadow: its other jobs would fail in the same way.
    """
    found = _waiting(unit, id_)
    if found is None:
        return ""
    lost = isinstance(error, ComputationLost)
    reason = (str(error) if lost else f"{error.code}: {error}")[:1000]
    if found.kind == "score" and found.results and not lost:
        _add(unit, found, {"failed": reason})
        return "failed"
    _end(unit, found, state="failed", error=reason)
    if lost:
        versions.end_shadow(unit, found.model_id, reason)
    return "failed"


def _waiting(unit: UnitOfWork, id_: str) -> ModelJob | None:
    found = unit.model_jobs.find(id_)
    return found if found is not None and found.state == "waiting" else None


def _add(unit: UnitOfWork, job: ModelJob, score: Document) -> None:
    done = len(job.results)
    row = score if done == 0 else {"session": job.sessions[done - 1], **score}
    results = [*job.results, row]
    unit.model_jobs.change(job.id, results=results)
    if done == 0 and (broken := faults(score["conformance"])):
        _refuse(unit, job, score, f"it does not pass the conformance suite: {'; '.join(broken)}")
    elif len(results) > len(job.sessions):
        _end(unit, job, state="done")
        _keep(unit, job, results[0], results[1:])
    else:
        unit.jobs.add(Job(job.id, "score", unit.now))


def _keep(unit: UnitOfWork, job: ModelJob, suite: Document, sessions: Sequence[Document]) -> None:
    scored = [s for s in sessions if "failed" not in s]
    data = {
        "fingerprint": fingerprint([s["key"] for s in scored]),
        "sessions": len(scored),
        "trials": sum(s["trials"] for s in scored),
    }
    card = scorecard(sessions, suite["conformance"])
    unit.models.change(job.model_id, scorecard=card, data=data, scored_at=unit.now)


def _refuse(unit: UnitOfWork, job: ModelJob, suite: Document, why: str) -> None:
    """What does not pass the suite is scored on no session, and runs in no shadow."""
    _end(unit, job, state="failed", error=why[:1000])
    _keep(unit, job, suite, ())
    versions.end_shadow(unit, job.model_id, why)


def _end(unit: UnitOfWork, job: ModelJob, **values: Any) -> None:
    unit.model_jobs.change(job.id, **values, ended_at=unit.now)


SHADOW = JobKind("shadow", prepare, checked, complete, give_up)
SCORE = JobKind("score", prepare, checked, complete, give_up)
POOL = Pool((SHADOW, SCORE), candidate_worker, gives_way=True)
"""Predictions have priority: they are short, and are soon compared."""

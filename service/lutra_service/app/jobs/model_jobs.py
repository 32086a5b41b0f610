"""The computations of model versions: claimed, given to the candidates' worker, and completed.

A scorecard is one job of many steps: the conformance suite of what packages bring, then a past session a step. So the
next worker after a stop begins where the last one ended. A candidate whose process is lost gets no second attempt.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

from lutra_models.digest import fingerprint
from lutra_models.errors import LutraError
from lutra_models.scores import scorecard

from lutra_service.app.jobs.kinds import Job
from lutra_service.app.jobs.past_sessions import session_payload
from lutra_service.app.jobs.results import InvalidAnswer, check_predictions, finite
from lutra_service.app.model_versions import versions
from lutra_service.app.model_versions.serving import Serving, asked_of, options_of, require_whole
from lutra_service.app.model_versions.suite import faults
from lutra_service.common.documents import Document
from lutra_service.db.schema.records import ModelJob, PendingJob
from lutra_service.db.store import UnitOfWork

PREFIX = "job_"


def waiting(unit: UnitOfWork, limit: int) -> list[ModelJob]:
    return unit.model_jobs.waiting(unit.now, limit)


def claim(unit: UnitOfWork, lease_s: float, limit: int) -> list[PendingJob]:
    """Up to `limit` of them, each now leased to the caller. They belong to model versions, and to no database."""
    until = unit.now + timedelta(seconds=lease_s)
    return [PendingJob(j.id, j.model_id) for j in waiting(unit, limit) if unit.model_jobs.claim(j.id, unit.now, until)]


def job(unit: UnitOfWork, id_: str) -> Job:
    """The worker's input for the next step. Raises MissingExtension, and NotFound if its input was deleted."""
    found = unit.model_jobs.get(id_)
    version = unit.models.get(found.model_id)
    require_whole(version)
    options = options_of(version)
    asked: Document = {**asked_of(Serving(version, options)), "step": len(found.results)}
    if found.kind == "shadow":
        assert found.recommendation_id is not None
        recommendation = unit.recommendations.get(found.recommendation_id)
        request = unit.requests.get(recommendation.id)
        past = [unit.snapshots.get(snapshot).payload for snapshot in request.payload.get("past", ())]
        asked = {**request.payload, **asked, "past": past, "configuration": recommendation.configuration}
        return Job(id_, "predict", asked)
    if not found.results:
        return Job(id_, "conformance", asked)
    return Job(id_, "score", {**asked, **session_payload(unit, found.sessions[len(found.results) - 1], options)})


def checked(result: Document, request: Mapping[str, Any]) -> Document:
    """`result`, where it answers `request`. Raises InvalidAnswer."""
    if not finite(result):
        raise InvalidAnswer("the answer holds numbers that are not finite")
    if "predictions" in result:
        check_predictions(result["predictions"])
    return {**result, "step": request["step"]}


def complete(unit: UnitOfWork, id_: str, result: Mapping[str, Any]) -> None:
    """Store a step. A step that another process stored meanwhile counts once."""
    found = unit.model_jobs.get(id_)
    if found.state != "waiting" or len(found.results) != result["step"]:
        return
    told = {name: value for name, value in result.items() if name != "step"}
    if found.kind == "shadow":
        _end(unit, found, state="done", predictions=told["predictions"])
    else:
        _add(unit, found, told)


def give_up(unit: UnitOfWork, id_: str, error: LutraError) -> None:
    """A session that a version cannot be scored on counts as one; anything else ends the job."""
    found = unit.model_jobs.get(id_)
    if found.state != "waiting":
        return
    told = f"{error.code}: {error}"[:1000]
    if found.kind == "score" and found.results:
        _add(unit, found, {"failed": told})
    else:
        _end(unit, found, state="failed", error=told)


def lose(unit: UnitOfWork, id_: str, why: str) -> None:
    """End the job at the first loss, and the version's shadow with it: its other jobs would end in the same way."""
    found = unit.model_jobs.get(id_)
    if found.state != "waiting":
        return
    error = f"the computation was lost: {why}"[:1000]
    _end(unit, found, state="failed", error=error)
    versions.end_shadow(unit, found.model_id, error)


def release(unit: UnitOfWork, id_: str) -> None:
    unit.model_jobs.change(id_, lease_until=None)


def renew(unit: UnitOfWork, held: Sequence[str], lease_s: float) -> None:
    unit.model_jobs.renew(held, unit.now + timedelta(seconds=lease_s))


def withdrawn(unit: UnitOfWork, held: Sequence[str]) -> set[str]:
    return set(held) - unit.model_jobs.open(held)


def _add(unit: UnitOfWork, found: ModelJob, told: Document) -> None:
    done = len(found.results)
    row = told if done == 0 else {"session": found.sessions[done - 1], **told}
    results = [*found.results, row]
    unit.model_jobs.change(found.id, results=results, lease_until=None)
    if done == 0 and (broken := faults(told["conformance"])):
        _refuse(unit, found, told, f"it does not pass the conformance suite: {'; '.join(broken)}")
    elif len(results) > len(found.sessions):
        _end(unit, found, state="done")
        _keep(unit, found, results[0], results[1:])


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
    unit.model_jobs.change(found.id, **values, ended_at=unit.now, lease_until=None)

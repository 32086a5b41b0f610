"""The life of a computation: claimed with a lease, then completed, lost or given up. The row is the job."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import timedelta
from typing import Any

from lutra_models.errors import ComputeCode, Failure, LutraError, Party
from lutra_models.lifecycle import RecommendationState as State

from lutra_service.app.databases.current_server import context_of
from lutra_service.app.jobs import results
from lutra_service.app.jobs.kinds import Job
from lutra_service.app.model_versions import serving
from lutra_service.app.tuning.admit.admission import admitted, known_to_run
from lutra_service.app.tuning.propose import answers
from lutra_service.app.workloads import lessons
from lutra_service.common.actor import SERVICE
from lutra_service.common.documents import Document
from lutra_service.db.schema.records import PendingJob, Recommendation, Session
from lutra_service.db.store import UnitOfWork

log = logging.getLogger(__name__)


def takes_over(unit: UnitOfWork, row: Recommendation, failure: Failure) -> bool:
    """Whether the recommendation, still `computing`, is now computed by the version before the one that it names."""
    if row.model_version is None:
        return False
    version = unit.models.get(row.model_version)
    if not version.packages:
        return False
    told = version.id, version.name, row.id, failure.text
    log.warning("%s (%s) cannot compute %s: %s; the previous version does", *told)
    before = next(serving.able(unit, version, after=version))
    request = unit.requests.get(row.id)
    unit.requests.put(row.id, {**request.payload, **serving.asked_of(before)})
    unit.recommendations.change(row.id, model_version=before.version.id, attempts=0, lease_until=None)
    return True


Pick = Callable[[Sequence[PendingJob]], Sequence[PendingJob]]


def waiting(unit: UnitOfWork, busy: Collection[str] = ()) -> list[PendingJob]:
    return unit.recommendations.waiting(unit.now, busy)


def claim(unit: UnitOfWork, lease_s: float, busy: Collection[str] = (), pick: Pick = list) -> list[PendingJob]:
    """The waiting computations that `pick` chooses, each now leased to the caller. `busy` databases have to wait."""
    until = unit.now + timedelta(seconds=lease_s)
    chosen = pick(waiting(unit, busy))
    return [w for w in chosen if unit.recommendations.claim(w.id, unit.now, until)]


def job(unit: UnitOfWork, id_: str) -> Job:
    """The input of a worker: the stored request, with the past workloads that it names."""
    request = unit.requests.get(id_)
    past = [unit.snapshots.get(snapshot).payload for snapshot in request.payload.get("past", ())]
    return Job(id_, request.task, {**request.payload, "past": past})


def checked(result: Document, request: Mapping[str, Any]) -> Document:
    """The answer, with what the session has taught so far. Raises InvalidAnswer."""
    answer = results.checked(result, request)
    return {**answer, "lesson": lessons.lesson(request, answer["snapshot"])} if answer["snapshot"] else answer


def lose(unit: UnitOfWork, id_: str, why: str, max_attempts: int) -> None:
    """Its worker was lost while it computed only this: it is computed again, up to a limit."""
    found = _computing(unit, id_)
    if found is None:
        return
    attempts = found[0].attempts + 1
    if attempts >= max_attempts:
        message = f"the computation was lost {attempts} times: {why}"
        _give_up(unit, id_, Failure(ComputeCode.LOST, message, Party.WORKER))
    else:
        unit.recommendations.change(id_, attempts=attempts, lease_until=None)


def withdrawn(unit: UnitOfWork, held: Sequence[str]) -> set[str]:
    """Those of `held` that are no longer needed: their session was stopped, or they ended elsewhere."""
    return set(held) - unit.recommendations.computing(held)


def complete(unit: UnitOfWork, id_: str, result: Mapping[str, Any]) -> None:
    """Accept a result: checked again against the policy and the current server, then proposed."""
    found = _computing(unit, id_)
    if found is None:
        return
    recommendation, session = found
    try:
        at = context_of(unit, unit.databases.get(recommendation.database_id), session)
        # What may move no longer was asked for earlier: it stays where it is.
        space = at.space_for(result["configuration"])
        movable = {n: v for n, v in at.parse(result["configuration"]).items() if n in space}
        configuration = admitted(unit, at, movable, known_to_run(recommendation, session))
    except LutraError as error:
        _give_up(unit, id_, Failure.of(error, Party.SERVICE))
        return
    answers.take(unit, recommendation, session, at, configuration, result)


def give_up(unit: UnitOfWork, id_: str, error: LutraError) -> None:
    """The worker reports that it cannot be computed."""
    _give_up(unit, id_, Failure.of(error, Party.WORKER))


def _give_up(unit: UnitOfWork, id_: str, failure: Failure) -> None:
    """It will not be computed again. What a worker could not compute for want of a package, the model version before
    computes.
    """
    found = _computing(unit, id_)
    if found is None:
        return
    recommendation, _ = found
    if failure.code.is_not_installed and takes_over(unit, recommendation, failure):
        return
    unit.recommendations.step(recommendation, State.FAILED, SERVICE, failure=failure, lease_until=None)


def release(unit: UnitOfWork, id_: str) -> None:
    """Leave it to the next worker."""
    unit.recommendations.release(id_)


def renew(unit: UnitOfWork, held: Sequence[str], lease_s: float) -> None:
    unit.recommendations.renew(held, unit.now + timedelta(seconds=lease_s))


def _computing(unit: UnitOfWork, id_: str) -> tuple[Recommendation, Session | None] | None:
    unit.databases.lock(unit.recommendations.get(id_).database_id)
    recommendation = unit.recommendations.get(id_)
    if recommendation.state != State.COMPUTING:
        return None
    session = unit.sessions.of(recommendation)
    return recommendation, session

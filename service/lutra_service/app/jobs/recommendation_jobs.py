"""The computation of a recommendation."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from lutra_models import __version__
from lutra_models.errors import Failure, IllegalTransition, LutraError, NotFound, Party
from lutra_models.lifecycle import RecommendationState as State

from lutra_service.app.databases.current_server import context_of
from lutra_service.app.jobs import results
from lutra_service.app.jobs.kinds import JobKind, Pool, Task
from lutra_service.app.model_versions import serving
from lutra_service.app.model_versions.serving import require_whole
from lutra_service.app.tuning.admit.admission import admitted, known_to_run
from lutra_service.app.tuning.propose import answers
from lutra_service.app.tuning.propose.request import COMPUTED
from lutra_service.app.workloads import lessons
from lutra_service.common.actor import SERVICE
from lutra_service.common.documents import Document
from lutra_service.db.schema.recommendation import Recommendation
from lutra_service.db.schema.records import Job
from lutra_service.db.store import UnitOfWork
from lutra_service.workers.maker import make_worker

ANSWERED = ("origin", "predictions", "reasons", "curve", "shortened_from", "must_reach", "looked_at", "configuration")

log = logging.getLogger(__name__)


def task_of(unit: UnitOfWork, id_: str) -> Task:
    """The stored request, with the past workloads that it names."""
    request = unit.requests.get(id_)
    past = [unit.snapshots.get(snapshot).payload for snapshot in request.payload.get("past", ())]
    return Task(request.task, {**request.payload, "past": past})


def prepare(unit: UnitOfWork, id_: str) -> Task | None:
    return None if _computing(unit, id_) is None else task_of(unit, id_)


def checked(result: Document, request: Mapping[str, Any]) -> Document:
    """The answer, with the lessons of the session so far. Raises InvalidAnswer."""
    answer = results.checked(result, request)
    return {**answer, "lesson": lessons.lesson(request, answer["snapshot"])} if answer["snapshot"] else answer


def complete(unit: UnitOfWork, id_: str, result: Mapping[str, Any]) -> str:
    """Accept a result: checked again against the policy and the current server, then proposed."""
    recommendation = _computing(unit, id_)
    if recommendation is None:
        return ""
    session = unit.sessions.of(recommendation)
    try:
        context = context_of(unit, unit.databases.get(recommendation.database_id), session)
        # What may move no longer was asked for earlier: it stays where it is.
        space = context.space_for(result["configuration"])
        movable = {n: v for n, v in context.parse(result["configuration"]).items() if n in space}
        configuration = admitted(unit, context, movable, known_to_run(recommendation, session))
    except LutraError as error:
        return _fail(unit, recommendation, Failure.of(error, Party.SERVICE))
    answers.take(unit, recommendation, session, context, configuration, result)
    return "proposed"


def give_up(unit: UnitOfWork, id_: str, _: Task | None, error: LutraError) -> str:
    recommendation = _computing(unit, id_)
    return "" if recommendation is None else _fail(unit, recommendation, Failure.of(error, Party.WORKER))


def _fail(unit: UnitOfWork, row: Recommendation, failure: Failure) -> str:
    """It will not be computed again. What a worker could not compute for want of a package, the model version before
    computes.
    """
    if not (failure.code.is_not_installed and _taken_over(unit, row, failure)):
        unit.recommendations.step(row, State.FAILED, SERVICE, failure=failure)
    return "failed"


def _taken_over(unit: UnitOfWork, row: Recommendation, failure: Failure) -> bool:
    """Whether the recommendation, still `computing`, is now computed by the version before the one that it names."""
    if row.request.model_version is None:
        return False
    version = unit.models.get(row.request.model_version)
    if not version.packages:
        return False
    details = version.id, version.name, row.id, failure.text
    log.warning("%s (%s) cannot compute %s: %s; the previous version does", *details)
    before = next(serving.able(unit, version, after=version))
    request = unit.requests.get(row.id)
    unit.requests.put(row.id, {**request.payload, **serving.asked_of(before)})
    unit.recommendations.change(row.id, request=replace(row.request, model_version=before.version.id))
    unit.jobs.add(Job(row.id, "recommendation", unit.now, row.database_id))
    return True


def _computing(unit: UnitOfWork, id_: str) -> Recommendation | None:
    recommendation = unit.recommendations.find(id_)
    return recommendation if recommendation is not None and recommendation.state == State.COMPUTING else None


RECOMMENDATION = JobKind("recommendation", prepare, checked, complete, give_up, lambda settings: settings.max_attempts)
POOL = Pool((RECOMMENDATION,), make_worker, lambda settings: settings.workers, ready=True)


def stored_answer(unit: UnitOfWork, id_: str) -> tuple[Task, Document]:
    """The request, and the parts of its answer that were stored unchanged.

    Raises IllegalTransition if nothing was computed, or another version of the package computed it, NotFound if the
    request was deleted because of its age, and MissingExtension if its model version needs a package that is gone.
    """
    recommendation = unit.recommendations.get(id_)
    asked, proposal = recommendation.request, recommendation.proposal
    computed = recommendation.kind in COMPUTED and recommendation.parent_id is None
    if not computed or proposal is None or proposal.proposed_at is None:
        raise IllegalTransition(f"{id_} is {recommendation.kind}, {recommendation.state}: nothing was computed for it")
    if asked.package_version != __version__:
        raise IllegalTransition(f"{id_} was computed by {asked.package_version}, this is {__version__}")
    if asked.model_version is not None:
        require_whole(unit.models.get(asked.model_version))
    if unit.requests.find(id_) is None:
        raise NotFound(f"the input of {id_} is no longer stored: it is older than the retention")
    return task_of(unit, id_), {name: getattr(proposal, name) for name in ANSWERED}

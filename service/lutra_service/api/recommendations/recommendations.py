"""Recommendations: requests, views, decisions."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Response
from fastapi.concurrency import run_in_threadpool
from lutra_models.lifecycle import NOT_COMPUTED, Until, has_come

from lutra_service.api.http.access import allow
from lutra_service.api.http.deps import (
    Bearer,
    IdempotencyDep,
    NotifierDep,
    Page,
    PageQuery,
    StoreDep,
    WaitSeconds,
    paging,
)
from lutra_service.api.http.moments import Moment
from lutra_service.api.http.notifier import Notifier
from lutra_service.api.http.route import GuardedRoute
from lutra_service.api.recommendations import schemas, views
from lutra_service.app.access import quota, tokens
from lutra_service.app.access.tokens import Principal
from lutra_service.app.tuning.decide import decisions
from lutra_service.app.tuning.propose import request
from lutra_service.common.documents import Document
from lutra_service.db.schema.recommendation import Recommendation
from lutra_service.db.store import Store, UnitOfWork


async def wait_until(store: Store, notifier: Notifier, id_: str, until: Until, seconds: float) -> Recommendation | None:
    """The recommendation once it has reached the state; None if the time is over before."""

    def look() -> Recommendation | None:
        found = store.read(lambda unit: unit.recommendations.get(id_))
        return found if has_come(found.state, found.measured is not None, until) else None

    return await notifier.wait(id_, look, seconds, "recommendation")


async def wait_for_next(
    store: Store, notifier: Notifier, before: str, ask: Callable[[], Recommendation], seconds: float
) -> Recommendation | None:
    """The one that `ask` gives when `before` has ended, computed where the time allows it.

    None where `before` has not ended in time.
    """
    deadline = asyncio.get_running_loop().time() + seconds
    if await wait_until(store, notifier, before, "ended", seconds) is None:
        return None
    asked = await run_in_threadpool(ask)
    left = deadline - asyncio.get_running_loop().time()
    return await wait_until(store, notifier, asked.id, "computed", max(left, 0.0)) or asked


router = APIRouter(route_class=GuardedRoute, tags=["recommendations"])
Answer = schemas.RecommendationAnswer
NOTHING, WHOLE, PLAINLY = schemas.NewRecommendation(), schemas.Approving(), schemas.TurningDown()
NOT_NEXT = (*NOT_COMPUTED, *decisions.UNDER_WAY)
"""A session's recommendation in one of these states is not the next one to decide on."""
_LOCATION = {"Location": {"description": "The returned recommendation.", "schema": {"type": "string"}}}
ASKED: dict[int | str, dict[str, Any]] = {
    201: {"description": "The next recommendation", "headers": _LOCATION},
    202: {
        "model": Answer,
        "description": "The next recommendation is not available yet: poll `Location`",
        "headers": _LOCATION,
    },
}


@router.post("/v1/databases/{database}/recommendations", status_code=201, response_model=Answer, responses=ASKED)
@allow("propose", of="database")
async def ask_recommendation(
    database: str,
    stored: StoreDep,
    notifier: NotifierDep,
    who: Bearer,
    once: IdempotencyDep,
    seconds: WaitSeconds,
    response: Response,
    body: schemas.NewRecommendation = NOTHING,
) -> Any:
    """Recommend the next settings, or check an operator's own (`settings`). 202 while the next recommendation is not
    available: it is being computed, or the previous one is still in progress and is returned. Then poll `Location`, or
    wait here with `Prefer: wait=N`.
    """
    status, answer = await run_in_threadpool(
        lambda: stored.write(lambda unit: once(unit, 201, lambda: _shown(unit, _asked(unit, database, body, who))))
    )
    if body.settings is None:
        status, answer = await _next(stored, notifier, who, answer, seconds)
    response.status_code = status
    response.headers["Location"] = f"/v1/recommendations/{answer['id']}"
    return answer


@router.get("/v1/databases/{database}/recommendations")
@allow("read", "agent", of="database")
def list_recommendations(
    database: str,
    stored: StoreDep,
    page: Annotated[PageQuery, Depends(paging("rec"))],
    state: Annotated[
        schemas.RecommendationState | None, Query(description="Only recommendations in this state.")
    ] = None,
    since: Annotated[
        Moment | None, Query(description="Only recommendations that were decided, applied or ended after this moment.")
    ] = None,
) -> Page[Answer]:
    """Newest first."""

    def listed(unit: UnitOfWork) -> list[Answer]:
        recommendations = unit.recommendations.listed(database, page.limit + 1, page.after, state, since)
        return [views.shown(unit, r) for r in recommendations]

    return Page[Answer].model_validate(page.of(stored.read(listed)))


@router.get("/v1/recommendations/{recommendation}")
@allow("read", "agent", of="recommendation")
async def get_recommendation(
    recommendation: str,
    stored: StoreDep,
    notifier: NotifierDep,
    seconds: WaitSeconds,
    until: Annotated[Until, Query(description="The state for which `Prefer: wait=N` waits.")] = "computed",
) -> Answer:
    """The settings, the exact change and its undo, reasons, predictions and the memory sum. `Prefer: wait=N` waits
    until the recommendation is computed, or has reached `until`: decided (approved, rejected or expired), applied (or
    refused), measured, ended. A recommendation that ended earlier is returned at once.
    """

    def read() -> Recommendation:
        return stored.read(lambda unit: unit.recommendations.get(recommendation))

    found = await run_in_threadpool(read)
    if seconds and not has_come(found.state, found.measured is not None, until):
        later = await wait_until(stored, notifier, recommendation, until, seconds)
        found = later if later is not None else await run_in_threadpool(read)
    return await run_in_threadpool(lambda: stored.read(lambda unit: views.shown(unit, found)))


@router.post("/v1/recommendations/{recommendation}/approve")
@allow("operate", of="recommendation")
def approve_recommendation(
    recommendation: str, stored: StoreDep, who: Bearer, body: schemas.Approving = WHOLE
) -> Answer:
    """Approve the recommendation; the agent then applies it. With `settings`, approve a new recommendation with only
    these changes, which is checked again.
    """

    def approve(unit: UnitOfWork) -> Answer:
        done = decisions.approve(unit, recommendation, who.token_id, body.settings, body.reason)
        return views.shown(unit, done)

    return stored.write(approve)


@router.post("/v1/recommendations/{recommendation}/reject")
@allow("operate", of="recommendation")
def reject_recommendation(
    recommendation: str, stored: StoreDep, who: Bearer, body: schemas.TurningDown = PLAINLY
) -> Answer:
    """Reject the recommendation: it is not applied, and not proposed again until the circumstances change."""
    return stored.write(
        lambda unit: views.shown(unit, decisions.reject(unit, recommendation, who.token_id, body.reason))
    )


@router.post("/v1/recommendations/{recommendation}/rollback", status_code=201, response_model=Answer)
@allow("operate", of="recommendation")
def roll_back_recommendation(
    recommendation: str,
    stored: StoreDep,
    who: Bearer,
    once: IdempotencyDep,
    response: Response,
    body: schemas.TurningDown = PLAINLY,
) -> Any:
    """Restore the settings from before the recommendation: the answer is the recommendation that does so. Never refused
    for memory.
    """

    def roll_back(unit: UnitOfWork) -> Document:
        return _shown(unit, decisions.rollback(unit, recommendation, who.token_id, body.reason))

    response.status_code, answer = stored.write(lambda unit: once(unit, 201, lambda: roll_back(unit)))
    return answer


def _asked(unit: UnitOfWork, id_: str, wanted: schemas.NewRecommendation, who: Principal) -> Recommendation:
    """Raises Forbidden for an approval by somebody who may only propose."""
    if wanted.approve:
        who.require("operate", database_id=id_)
    if not who.decides:
        quota.verify_room(unit, id_)
    database = unit.databases.lock(id_)
    session = unit.sessions.open_one(id_)
    if wanted.settings is None:
        return request.ask(unit, database, session, who.token_id)
    made = request.manual(unit, database, wanted.settings, session, who.token_id)
    return decisions.approve(unit, made.id, who.token_id) if wanted.approve else made


async def _next(
    stored: StoreDep, notifier: NotifierDep, who: Bearer, asked: Document, seconds: float
) -> tuple[int, Document]:
    """The session's next recommendation with 201; with 202 what there is where the next one is not there yet."""

    def ask(unit: UnitOfWork) -> Recommendation:
        tokens.still_valid(unit, who)
        return _asked(unit, asked["database"], NOTHING, who)

    found: Recommendation | None = None
    if seconds and asked["state"] in NOT_COMPUTED:
        found = await wait_until(stored, notifier, asked["id"], "computed", seconds)
    elif seconds and asked["state"] in decisions.UNDER_WAY:
        found = await wait_for_next(stored, notifier, asked["id"], lambda: stored.write(ask), seconds)
    if found is None:
        return 202 if asked["state"] in NOT_NEXT else 201, asked
    status = 202 if found.state in NOT_COMPUTED else 201
    return status, await run_in_threadpool(lambda: stored.read(lambda unit: _shown(unit, found)))


def _shown(unit: UnitOfWork, recommendation: Recommendation) -> Document:
    return views.shown(unit, recommendation).model_dump(mode="json")

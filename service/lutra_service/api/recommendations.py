"""Recommendations: asked for, looked at, decided."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query, Response
from fastapi.concurrency import run_in_threadpool

from lutra_service.api import schemas, views
from lutra_service.api.deps import Bearer, News, OnlyOnce, Page, Paging, Stored, WaitSeconds
from lutra_service.api.http.access import allow
from lutra_service.api.http.route import GuardedRoute
from lutra_service.app import asking, deciding
from lutra_service.db.records import Document, Recommendation
from lutra_service.db.store import Unit

router = APIRouter(route_class=GuardedRoute, tags=["recommendations"])
Answer = schemas.RecommendationAnswer


@router.post("/v1/databases/{database}/recommendations", status_code=201, response_model=Answer)
@allow("operate", of="database")
async def ask(
    database: str,
    stored: Stored,
    news: News,
    who: Bearer,
    once: OnlyOnce,
    seconds: WaitSeconds,
    response: Response,
    body: schemas.NewRecommendation | None = None,
) -> Any:
    """Suggest the next settings now, or check an operator's own (`settings`).

    202 while it is being computed: look at `Location`, or wait here with `Prefer: wait=N`.
    """
    wanted = body or schemas.NewRecommendation()
    status, answer = await run_in_threadpool(
        lambda: stored.write(lambda unit: _create(unit, once, database, wanted, who.token_id))
    )
    if answer["state"] == "computing" and seconds:
        answer = await _settled(stored, news, answer["id"], seconds) or answer
    computing = answer["state"] == "computing"
    response.status_code = 202 if computing else (201 if status == 202 else status)
    response.headers["Location"] = f"/v1/recommendations/{answer['id']}"
    return answer


@router.get("/v1/databases/{database}/recommendations")
@allow("read", "agent", of="database")
def list_recommendations(
    database: str,
    stored: Stored,
    page: Paging,
    state: Annotated[str | None, Query(max_length=20)] = None,
) -> Page[Answer]:
    """Newest first."""
    found = stored.read(lambda unit: unit.recommendations.listed(database, page.limit + 1, page.after, state))
    return Page[Answer].model_validate(page.of([views.recommendation(r) for r in found]))


@router.get("/v1/recommendations/{recommendation}")
@allow("read", "agent", of="recommendation")
async def get_recommendation(recommendation: str, stored: Stored, news: News, seconds: WaitSeconds) -> Answer:
    """The settings, the exact change and its undo, reasons, predictions and the memory sum. `Prefer: wait=N` waits
    while it is being computed."""
    found = await run_in_threadpool(lambda: stored.read(lambda unit: unit.recommendations.get(recommendation)))
    if found.state == "computing" and seconds:
        settled = await _settled(stored, news, recommendation, seconds)
        if settled is not None:
            return Answer.model_validate(settled)
    return views.recommendation(found)


@router.post("/v1/recommendations/{recommendation}/approve")
@allow("operate", of="recommendation")
def approve(recommendation: str, stored: Stored, who: Bearer, body: schemas.Approving | None = None) -> Answer:
    """Let the agent carry it out. With `settings`, a new recommendation of these changes alone, checked anew."""
    names = body.settings if body else None
    return views.recommendation(stored.write(lambda unit: deciding.approve(unit, recommendation, who.token_id, names)))


@router.post("/v1/recommendations/{recommendation}/reject")
@allow("operate", of="recommendation")
def reject(recommendation: str, stored: Stored, who: Bearer) -> Answer:
    return views.recommendation(stored.write(lambda unit: deciding.reject(unit, recommendation, who.token_id)))


@router.post("/v1/recommendations/{recommendation}/rollback", status_code=201, response_model=Answer)
@allow("operate", of="recommendation")
def rollback(recommendation: str, stored: Stored, who: Bearer, once: OnlyOnce, response: Response) -> Any:
    """Go back to the settings before it: the answer is the recommendation that does so. Never refused for memory."""
    response.status_code, answer = stored.write(
        lambda unit: once(unit, 201, lambda: _shown(deciding.rollback(unit, recommendation, who.token_id)))
    )
    return answer


def _create(
    unit: Unit, once: OnlyOnce, database: str, wanted: schemas.NewRecommendation, by: str
) -> tuple[int, Document]:
    def create() -> Document:
        return _shown(_asked(unit, database, wanted, by))

    return once(unit, 201, create)


def _asked(unit: Unit, id_: str, wanted: schemas.NewRecommendation, by: str) -> Recommendation:
    database = unit.databases.lock(id_)
    session = unit.sessions.open_one(id_)
    if wanted.settings is None:
        return asking.ask(unit, database, session)[0]
    made = asking.manual(unit, database, wanted.settings, session)
    return deciding.approve(unit, made.id, by) if wanted.approve else made


def _shown(recommendation: Recommendation) -> Document:
    return views.recommendation(recommendation).model_dump(mode="json")


async def _settled(stored: Stored, news: News, id_: str, seconds: float) -> Document | None:
    def look() -> Document | None:
        found = stored.read(lambda unit: unit.recommendations.get(id_))
        return None if found.state == "computing" else _shown(found)

    return await news.wait(id_, look, seconds, "recommendation")

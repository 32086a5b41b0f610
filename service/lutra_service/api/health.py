"""Is it alive, is it ready, how is it doing? No token is needed, and nothing here tells of any database."""

from __future__ import annotations

from typing import Literal

from fastapi import APIRouter, Response
from fastapi.responses import JSONResponse, PlainTextResponse
from lutra_models import __version__

from lutra_service.api.http.body import Answer
from lutra_service.api.http.deps import StoreDep
from lutra_service.common.telemetry import exposition
from lutra_service.db.store import StoreAway

router = APIRouter(tags=["health"])


class Alive(Answer):
    """The service answers."""

    status: Literal["alive"] = "alive"
    """It does."""
    version: str = __version__
    """The service's version."""


class Readiness(Answer):
    """Whether the service can do its work."""

    status: str
    """`ready`, or what is missing."""


@router.get("/healthz")
async def check_alive() -> Alive:
    """Is the service there?"""
    return Alive()


@router.get(
    "/readyz",
    response_model=Readiness,
    responses={503: {"model": Readiness, "description": "The database does not answer"}},
)
def check_ready(stored: StoreDep) -> JSONResponse:
    """503 while the database does not answer."""
    try:
        stored.check()
    except StoreAway:  # the store itself writes one line
        return JSONResponse({"status": "the database does not answer"}, 503)
    return JSONResponse({"status": "ready"})


@router.get("/metrics", response_class=PlainTextResponse)
def get_metrics() -> Response:
    """For Prometheus."""
    body, content_type = exposition()
    return Response(body, media_type=content_type)

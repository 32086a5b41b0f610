"""Is it alive, is it ready, how is it doing? No token is needed, and nothing here tells of any database."""

from __future__ import annotations

import logging

from fastapi import APIRouter, Response
from fastapi.responses import JSONResponse
from lutra_models import __version__

from lutra_service.api.deps import Stored
from lutra_service.telemetry import exposition

router = APIRouter(tags=["health"])
log = logging.getLogger(__name__)


@router.get("/healthz")
async def alive() -> dict[str, str]:
    return {"status": "alive", "version": __version__}


@router.get("/readyz")
def ready(stored: Stored) -> JSONResponse:
    """503 while the database does not answer."""
    try:
        stored.check()
    except Exception:
        log.warning("not ready: the database does not answer", exc_info=True)
        return JSONResponse({"status": "the database does not answer"}, 503)
    return JSONResponse({"status": "ready"})


@router.get("/metrics", response_class=Response)
def metrics() -> Response:
    body, content_type = exposition()
    return Response(body, media_type=content_type)

"""Every route of the service, and what their description says of errors and tokens."""

from __future__ import annotations

from typing import Any

from fastapi import Depends, FastAPI

from lutra_service.api import databases, guarding, health, knobs, predictions, recommendations, reports, seen, sessions
from lutra_service.api.deps import bearer
from lutra_service.api.problems import STATUS

ROUTERS = (
    databases.router,
    seen.router,
    guarding.router,
    reports.router,
    recommendations.router,
    predictions.router,
    sessions.router,
    knobs.router,
    health.router,
)


def include(app: FastAPI) -> None:
    problem = {"description": "A problem (RFC 9457)", "content": {"application/problem+json": {"schema": PROBLEM}}}
    for router in ROUTERS:
        if router is health.router:
            app.include_router(router)
        else:
            app.include_router(router, responses={"default": problem}, dependencies=[Depends(bearer)])


PROBLEM: dict[str, Any] = {
    "type": "object",
    "required": ["type", "title", "status", "code", "detail"],
    "properties": {
        "type": {"type": "string"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "code": {"type": "string", "enum": sorted(STATUS)},
        "detail": {"type": "string"},
        "request_id": {"type": "string"},
        "errors": {"type": "array", "items": {"type": "object"}},
    },
}

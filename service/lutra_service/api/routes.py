"""Every route of the service, with its description, and the answer to methods that a path does not have."""

from __future__ import annotations

from fastapi import Depends, FastAPI, Request, Response
from fastapi.routing import APIRoute
from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from lutra_service.api import assistants, health
from lutra_service.api.access import audit, enrolments, tokens
from lutra_service.api.databases import databases, guardrails, knobs, server_state, symptoms
from lutra_service.api.http.deps import bearer, known_parameters
from lutra_service.api.http.problems import problem
from lutra_service.api.model_versions import versions
from lutra_service.api.notices import receivers
from lutra_service.api.observations import observations
from lutra_service.api.openapi import description, docs
from lutra_service.api.recommendations import predictions, recommendations
from lutra_service.api.reports import reports
from lutra_service.api.sessions import sessions
from lutra_service.api.summary import summary
from lutra_service.api.workloads import workloads

ROUTERS = (
    databases.router,
    tokens.router,
    enrolments.router,
    audit.router,
    server_state.router,
    symptoms.router,
    guardrails.router,
    reports.router,
    recommendations.router,
    predictions.router,
    sessions.router,
    observations.router,
    summary.router,
    knobs.router,
    versions.router,
    workloads.router,
    receivers.router,
    assistants.router,
    health.router,
)


def include(app: FastAPI) -> None:
    for router in ROUTERS:
        app.include_router(
            router,
            dependencies=[] if router is health.router else [Depends(bearer), Depends(known_parameters)],
            responses={} if router is health.router else {422: {}},
            generate_unique_id_function=_operation_id,
        )
    description.install(app)
    docs.install(app)
    app.add_exception_handler(405, _not_allowed)
    app.add_middleware(SafeHeaders)


def allowed_methods(path: str) -> list[str]:
    """The methods that the path has, in alphabetical order; empty for a path without a route."""
    routes = [r for router in ROUTERS for r in router.routes if isinstance(r, APIRoute)]
    return sorted({m for r in routes if r.path_regex.match(path) for m in r.methods or ()})


def _operation_id(route: APIRoute) -> str:
    """The function's own name: what a client's method is called."""
    return route.name


def _not_allowed(request: Request, _: Exception) -> Response:
    allowed = ", ".join(allowed_methods(request.url.path)) or "GET"
    answer = problem("method_not_allowed", f"{request.method} is not allowed on this path; allowed: {allowed}")
    answer.headers["Allow"] = allowed
    return answer


class SafeHeaders:
    """ASGI middleware: browsers do not guess an answer's type, and caches store nothing below /v1 and /mcp."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers.setdefault("X-Content-Type-Options", "nosniff")
                if scope["path"].startswith(("/v1", "/mcp")):
                    headers.setdefault("Cache-Control", "no-store")
            await send(message)

        await self._app(scope, receive, with_headers if scope["type"] == "http" else send)

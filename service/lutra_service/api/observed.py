"""Every request counted, timed and told in one log line; never its headers, its query or its body."""

from __future__ import annotations

import logging
import time

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from lutra_service.telemetry import REQUEST_SECONDS, REQUESTS

log = logging.getLogger("lutra_service.requests")
QUIET = ("/healthz", "/readyz", "/metrics")


class Observed:
    """ASGI middleware. Metrics name the route's template, so that ids do not become labels."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        since, status = time.perf_counter(), 500

        async def watched(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, watched)
        finally:
            _tell(scope, status, time.perf_counter() - since)


def _tell(scope: Scope, status: int, seconds: float) -> None:
    method, route = scope["method"], getattr(scope.get("route"), "path", "unmatched")
    REQUESTS.labels(method, route, status).inc()
    REQUEST_SECONDS.labels(method, route).observe(seconds)
    if route not in QUIET:
        fields = {"method": method, "path": scope["path"], "status": status, "ms": round(seconds * 1000, 1)}
        log.info("request", extra={"fields": fields})

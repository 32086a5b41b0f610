"""The outermost layer: every request gets an id, is counted and timed, and is one log line; never its headers, its
query or its body. An unexpected failure is answered as a problem, on a connection that stays open.
"""

from __future__ import annotations

import logging
import re
import secrets
import time
from dataclasses import dataclass
from urllib.parse import unquote_to_bytes

from lutra_models.errors import LutraError, NotFound
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from lutra_service.api.http.entry import Entry
from lutra_service.api.http.problems import problem, refused
from lutra_service.app.errors import InvalidRequest
from lutra_service.common.actor import Actor, current_actor
from lutra_service.common.telemetry import REQUEST_SECONDS, REQUESTS
from lutra_service.edge.addresses import client_address

MAX_PATH = 1_000
MAX_QUERY = 4_000
MAX_SEGMENT = 200

log = logging.getLogger("lutra_service.requests")
QUIET = ("/healthz", "/readyz", "/metrics")
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
LOGGED = 200
"""The number of logged characters of a path. No path of this service is longer."""
_REQUEST_ID = re.compile(rb"[A-Za-z0-9_.\-]{8,64}")


@dataclass
class _Answered:
    status: int = 500
    started: bool = False


class AccessLog:
    """ASGI middleware. Metrics name the route's template and one of a few methods: a client cannot add a label."""

    def __init__(self, app: ASGIApp, entry: Entry, behind_proxy: bool) -> None:
        self._app = app
        self._entry = entry
        self._behind_proxy = behind_proxy

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        since, answered = time.perf_counter(), _Answered()
        actor = Actor(address=client_address(scope, self._behind_proxy), request_id=self._request_id(scope))
        reset = current_actor.set(actor)
        try:
            await self._answer(scope, receive, _watched(send, answered, actor.request_id), answered)
        finally:
            _record(scope, answered.status, time.perf_counter() - since)
            current_actor.reset(reset)

    async def _answer(self, scope: Scope, receive: Receive, send: Send, answered: _Answered) -> None:
        try:
            refusal = refusal_of_address(scope)
            if refusal is not None:
                raise refusal
            self._entry.meet(scope)
            await self._app(scope, receive, send)
        except LutraError as error:
            await refused(error)(scope, receive, send)
        except Exception as error:
            log.error("%s %s failed", method_of(scope), scope["path"][:LOGGED], exc_info=error)
            if answered.started:
                raise  # half an answer is on its way: only the connection's end can say that the rest is missing
            await problem("internal_error", "the service failed; its log says why")(scope, receive, send)

    def _request_id(self, scope: Scope) -> str:
        """A proxy's, so that its log and this one name a request alike; nobody else's."""
        if self._behind_proxy:
            for name, value in scope["headers"]:
                if name == b"x-request-id" and _REQUEST_ID.fullmatch(value):
                    return bytes(value).decode()
        return f"req_{secrets.token_hex(10)}"


def method_of(scope: Scope) -> str:
    return scope["method"] if scope["method"] in METHODS else "other"


def _watched(send: Send, answered: _Answered, request_id: str) -> Send:
    async def watched(message: Message) -> None:
        if message["type"] == "http.response.start":
            answered.status, answered.started = message["status"], True
            message = {**message, "headers": [*message.get("headers", ()), (b"x-request-id", request_id.encode())]}
        await send(message)

    return watched


def _record(scope: Scope, status: int, seconds: float) -> None:
    method, route = method_of(scope), getattr(scope.get("route"), "path", "unmatched")
    REQUESTS.labels(method, route, status).inc()
    REQUEST_SECONDS.labels(method, route).observe(seconds)
    if route not in QUIET:
        actor = current_actor.get()
        fields = {"method": method, "path": scope["path"][:LOGGED], "status": status, "ms": round(seconds * 1000, 1)}
        # Whoever is refused for asking too often writes no log as often.
        level = logging.DEBUG if status == 429 and actor.token_id is None else logging.INFO
        log.log(level, "request", extra={"fields": {**fields, "token": actor.token_id, "address": actor.address}})


def refusal_of_address(scope: Scope) -> LutraError | None:
    """Refuses NUL, control characters, bytes that are not UTF-8, and texts longer than any id or cursor."""
    path, query = str(scope["path"]), bytes(scope.get("query_string", b""))
    if len(path) > MAX_PATH or any(len(part) > MAX_SEGMENT for part in path.split("/")):
        return NotFound(f"no path has more than {MAX_PATH} characters or a part of more than {MAX_SEGMENT}")
    if not _clean(path) or "\ufffd" in path:
        return NotFound("a path must be UTF-8 without control characters")
    if len(query) > MAX_QUERY:
        return InvalidRequest(f"a query has at most {MAX_QUERY} bytes, got {len(query)}")
    try:
        clean = _clean(unquote_to_bytes(query).decode())
    except UnicodeDecodeError:
        clean = False
    return None if clean else InvalidRequest("a query must be UTF-8 without control characters")


def _clean(text: str) -> bool:
    return not any(character < " " or "\x7f" <= character < "\xa0" for character in text)

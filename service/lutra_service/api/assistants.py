"""`/mcp`: the tools for AI assistants. The client's distribution brings them; they call this service's own routes."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import cache
from importlib.metadata import entry_points

from fastapi import APIRouter, Request, Response
from lutra_models.errors import MissingExtension
from starlette.concurrency import run_in_threadpool
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from lutra_service.api.http.access import allow
from lutra_service.api.http.route import GuardedRoute
from lutra_service.app.errors import Forbidden

GROUP, NAME = "lutra.assistants", "mcp"
"""The entry point that answers a request to `/mcp`; nothing of it is loaded before the first one."""
Talk = Callable[[ASGIApp, Scope, Receive, Send], Awaitable[None]]

router = APIRouter(route_class=GuardedRoute, include_in_schema=False)


class _Spoken(Response):
    """The answer of `talk` to a body that was read within the limits of every other body."""

    def __init__(self, talk: Talk, app: ASGIApp, body: bytes) -> None:
        super().__init__()
        self._talk = talk
        self._app = app
        self._unread: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def given() -> Message:
            return self._unread.pop() if self._unread else await receive()

        await self._talk(self._app, scope, given, send)


@router.post("/mcp")
@allow("read", of="any")
async def talk(request: Request) -> Response:
    """One message of the Model Context Protocol, without a session. Raises MissingExtension.

    Raises Forbidden for a page in a browser: no assistant is one, and a page may have given its own name this address.
    """
    if "origin" in request.headers:
        raise Forbidden("/mcp answers no page in a browser: the header Origin is refused")
    return _Spoken(await run_in_threadpool(_talk), request.app, await request.body())


@cache
def _talk() -> Talk:
    """Raises MissingExtension."""
    try:
        (found,) = entry_points(group=GROUP, name=NAME)
        loaded: Talk = found.load()
    except (ImportError, ValueError) as error:
        raise MissingExtension("/mcp needs an extra of this service: pip install 'lutra-service[mcp]'") from error
    return loaded

"""`/mcp` of a service: one message, answered by calls of the service's own routes with the token of the message."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import httpx
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

from lutra_client.assistants.server import server
from lutra_client.drivers import Awaiting
from lutra_client.exchange import NEVER

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

PASSED = (b"authorization", b"x-forwarded-for", b"x-request-id")
"""The headers that say who asks, and the name that a proxy gave to the request."""

logging.getLogger("mcp").setLevel(logging.WARNING)  # two lines for each message otherwise


async def answer(app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
    """`app` is the service, which has admitted the bearer of this request. Nothing is kept for the next one."""
    headers = [(name, value) for name, value in scope["headers"] if name in PASSED]
    inside = httpx.ASGITransport(app=app, client=scope.get("client") or ("", 0))
    async with httpx.AsyncClient(transport=inside, base_url="http://lutra", headers=headers, timeout=None) as http:  # noqa: S113
        manager = StreamableHTTPSessionManager(server(Awaiting(http, NEVER)), json_response=True, stateless=True)
        async with manager.run():
            await manager.handle_request(scope, receive, send)

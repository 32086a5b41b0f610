"""The official client of the Model Context Protocol, at `/mcp` of a test's service."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeVar

import httpx2
from lutra_service.app.access.tokens import create_token
from mcp.client.client import Client, ConnectMode
from mcp.client.streamable_http import streamable_http_client
from mcp.types import CallToolResult

from tests.support.service.direct import Direct
from tests.support.service.hosted import Service

T = TypeVar("T")


def token(service: Service, scope: str, database: str | None = None) -> str:
    _, secret = service.store.write(lambda unit: create_token(unit, f"an assistant: {scope}", [scope], database))
    return secret


def talk(service: Service, token: str, about: Callable[[Client], Awaitable[T]], mode: ConnectMode = "auto") -> T:
    """What comes of a conversation, which runs on the service's own loop. Raises MCPError as it is."""
    assert isinstance(service.client, Direct)
    app = service.client.app

    async def converse() -> T:
        headers = {"Authorization": f"Bearer {token}"}
        async with (
            httpx2.AsyncClient(transport=httpx2.ASGITransport(app=app), headers=headers) as http,
            Client(streamable_http_client("http://lutra/mcp", http_client=http), mode=mode) as client,
        ):
            return await about(client)

    try:
        return service.client.portal.call(converse)
    except BaseExceptionGroup as group:
        error: BaseException = group
        while isinstance(error, BaseExceptionGroup):
            error = error.exceptions[0]
        raise error from None


def call(service: Service, token: str, tool: str, **arguments: Any) -> CallToolResult:
    return talk(service, token, lambda client: client.call_tool(tool, arguments))


def told(result: CallToolResult) -> Mapping[str, Any]:
    """The data of a successful answer."""
    assert not result.is_error, result.content
    data: Mapping[str, Any] = result.structured_content["data"]
    return data

"""Requests to an application that a `TestClient` has started, each handed over in one call: half of its own cost.

The client is httpx's, as everybody's is, whichever library the `TestClient` itself is made of.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import unquote

import anyio
import httpx
from fastapi.testclient import TestClient
from starlette.types import Message


class Direct(httpx.Client):
    """A client of the application, on whose event loop `portal` calls."""

    def __init__(self, started: TestClient) -> None:
        super().__init__(transport=_Transport(started), base_url="http://testserver")
        assert started.portal is not None
        self.app, self.portal = started.app, started.portal


class _Transport(httpx.BaseTransport):
    """Holds an answer until all of it is there. An application that fails before it answers is status 500."""

    def __init__(self, client: TestClient) -> None:
        self._client = client

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        assert self._client.portal is not None
        return self._client.portal.call(self._answered, request)

    async def _answered(self, request: httpx.Request) -> httpx.Response:
        url, ended = request.url, anyio.Event()
        given, body = [request.read()], bytearray()
        start: Message = {"status": 500, "headers": []}

        async def receive() -> Message:
            if given:
                return {"type": "http.request", "body": given.pop(), "more_body": False}
            await ended.wait()
            return {"type": "http.disconnect"}

        async def send(message: Message) -> None:
            nonlocal start
            if message["type"] == "http.response.start":
                start = message
            else:
                body.extend(message.get("body", b""))
                if not message.get("more_body", False):
                    ended.set()

        scope: dict[str, Any] = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": request.method,
            "scheme": url.scheme,
            "path": unquote(url.path),
            "raw_path": url.raw_path.partition(b"?")[0],
            "query_string": url.query,
            "root_path": "",
            "headers": [(name.lower(), value) for name, value in request.headers.raw],
            "client": ("testclient", 50000),
            "server": (url.host, url.port or 80),
            "state": dict(self._client.app_state),
        }
        try:
            await self._client.app(scope, receive, send)
        except Exception:
            ended.set()
        content = httpx.ByteStream(b"" if request.method == "HEAD" else bytes(body))
        return httpx.Response(start["status"], headers=start["headers"], stream=content, request=request)

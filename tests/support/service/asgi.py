"""One request straight to the application, on its own event loop, with every read of its body counted."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import anyio
from starlette.types import Message

from tests.support.service.direct import Direct
from tests.support.service.hosted import Service


@dataclass
class Asked:
    """What came back, and how many pieces of the body were read."""

    status: int = 0
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""
    reads: int = 0

    @property
    def code(self) -> str:
        found: str = json.loads(self.body)["code"]
        return found


def ask(service: Service, method: str, path: str, headers: Mapping[str, str], body: bytes = b"", **scope: Any) -> Asked:
    client = service.client
    assert isinstance(client, Direct)
    asked = Asked()

    async def receive() -> Message:
        if asked.reads:
            await anyio.sleep_forever()
        asked.reads += 1
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: Message) -> None:
        if message["type"] == "http.response.start":
            asked.status = message["status"]
            asked.headers = {k.decode().lower(): v.decode() for k, v in message["headers"]}
        else:
            asked.body += message.get("body", b"")

    path, _, query = path.partition("?")
    given = {"content-type": "application/json", "content-length": str(len(body)), **headers}
    request = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "query_string": query.encode(),
        "root_path": "",
        "headers": [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in given.items()],
        "client": ("192.0.2.7", 5000),
        "server": ("lutra", 80),
        "state": {},
        **scope,
    }
    client.portal.call(client.app, request, receive, send)
    return asked

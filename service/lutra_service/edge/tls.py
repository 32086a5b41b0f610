"""TLS begun only after a connection is counted: asyncio itself reports none before its handshake is done."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable
from functools import partial
from typing import Any

from lutra_service.edge.protocol import BoundedProtocol


class Handshake(asyncio.Protocol):
    """The protocol of a connection until it is encrypted."""

    def __init__(self, make: Callable[[], BoundedProtocol], context: ssl.SSLContext) -> None:
        self._http = make()
        self._context = context
        self._task: asyncio.Task[None] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._http.accepted(transport)
        self._task = asyncio.get_running_loop().create_task(self._encrypt(transport))

    async def _encrypt(self, transport: asyncio.Transport) -> None:
        try:
            encrypted = await asyncio.get_running_loop().start_tls(
                transport,
                self._http,
                self._context,
                server_side=True,
                ssl_handshake_timeout=self._http.deadlines.head,
            )
        except (OSError, ssl.SSLError):
            encrypted = None
        if encrypted is None:  # or the client left as the handshake ended
            transport.abort()
            self._http.left()
        else:
            self._http.connection_made(encrypted)


class Loop(asyncio.SelectorEventLoop):
    """An event loop whose TLS servers count their connections before the handshake."""

    async def create_server(  # type: ignore[override]
        self, make: Callable[[], Any], *where: Any, ssl: ssl.SSLContext | None = None, **more: Any
    ) -> asyncio.Server:
        factory = make if ssl is None else partial(Handshake, make, ssl)
        server: asyncio.Server = await super().create_server(factory, *where, **more)
        return server

"""uvicorn's HTTP/1.1 protocol with deadlines: for a request's head, for an idle connection, and for a client that reads
an answer.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import dataclass
from typing import Any, Protocol, cast

from starlette.types import Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.protocols.utils import get_remote_addr

from lutra_service.edge.addresses import counted

CONNECTION = "lutra.connection"
"""The key of a request's scope for its connection."""


@dataclass(frozen=True)
class Deadlines:
    """Limits in seconds. `head`: from the connection's beginning to a request's complete head; after an answer an idle
    time of `idle` comes before it, and the rest of an unread body has to arrive within both. `write`: without progress.
    """

    head: float
    idle: float
    write: float


class BoundedProtocol(H11Protocol):
    """Not a second is waited for a body here: `bodies` does that, and only for bearers of valid tokens."""

    def __init__(self, *args: Any, connections: Connections, deadlines: Deadlines, **more: Any) -> None:
        super().__init__(*args, **more)
        self._all = connections
        self.deadlines = deadlines
        self._counted: asyncio.Transport | None = None
        self._early = b""
        self._head: asyncio.TimerHandle | None = None
        self._write: asyncio.TimerHandle | None = None
        inner = cast(Any, self.app)

        async def with_connection(scope: Scope, receive: Receive, send: Send) -> None:
            scope[CONNECTION] = self
            await inner(scope, receive, send)

        self.app = cast(Any, with_connection)

    def welcome(self) -> None:
        """A valid token was shown on this connection."""
        self._all.welcome(self)

    def abort(self) -> None:
        assert self._counted is not None
        self._counted.abort()

    def accepted(self, transport: asyncio.Transport) -> None:
        """Count the connection. An encrypted one arrives here first, and in `connection_made` afterwards."""
        self._counted = transport
        peer = get_remote_addr(transport)
        self._all.opened(self, counted(peer[0] if peer else ""))

    def left(self) -> None:
        self._all.closed(self)
        _cancel(self._head)
        _cancel(self._write)

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        if self._counted is None:
            self.accepted(transport)
        super().connection_made(transport)
        self._await_head(self.deadlines.head)
        if self._early:
            self.data_received(self._early)

    def connection_lost(self, exc: Exception | None) -> None:
        self.left()
        if self.transport is not None:
            super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self.transport is None:  # TLS hands on what came with the handshake's end before the handshake's answer
            self._early += data
            return
        super().data_received(data)
        if self._answering():
            _cancel(self._head)

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if not self._answering():  # a pipelined request may be under way already
            self._await_head(self.deadlines.idle + self.deadlines.head)

    def pause_writing(self) -> None:
        super().pause_writing()
        _cancel(self._write)
        self._write = self.loop.call_later(self.deadlines.write, self.abort)

    def resume_writing(self) -> None:
        super().resume_writing()
        _cancel(self._write)

    def _answering(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def _await_head(self, seconds: float) -> None:
        """Also ends a connection that is closing and whose client does not read the rest of its answer."""
        _cancel(self._head)
        self._head = self.loop.call_later(seconds, self.abort)


def _cancel(timer: asyncio.TimerHandle | None) -> None:
    if timer is not None:
        timer.cancel()


class Connection(Protocol):
    def abort(self) -> None: ...


class Connections:
    """Strangers are connections on which no valid token was shown yet: the oldest of them makes room for a new one.

    If every connection has shown a valid token, the new one itself is closed.
    """

    def __init__(self, most: int, per_address: int) -> None:
        self._most = most
        self._per_address = per_address
        self._address: dict[Connection, str] = {}
        self._strangers: dict[Connection, None] = {}  # oldest first, as in each set below
        self._strangers_of: dict[str, dict[Connection, None]] = {}
        self._open: Counter[str] = Counter()

    def opened(self, connection: Connection, address: str) -> None:
        self._address[connection] = address
        self._strangers[connection] = None
        self._strangers_of.setdefault(address, {})[connection] = None
        self._open[address] += 1
        if self._open[address] > self._per_address:
            self._close(next(iter(self._strangers_of[address])))
        elif len(self._address) > self._most:
            self._close(next(iter(self._strangers)))

    def welcome(self, connection: Connection) -> None:
        """The connection showed a valid token."""
        if connection in self._strangers:
            self._no_stranger(connection)

    def closed(self, connection: Connection) -> None:
        """Idempotent."""
        if connection not in self._address:
            return
        self.welcome(connection)
        address = self._address.pop(connection)
        self._open[address] -= 1
        if not self._open[address]:
            del self._open[address]

    def __len__(self) -> int:
        return len(self._address)

    @property
    def strangers(self) -> int:
        return len(self._strangers)

    def _close(self, connection: Connection) -> None:
        self.closed(connection)
        connection.abort()

    def _no_stranger(self, connection: Connection) -> None:
        address = self._address[connection]
        del self._strangers[connection]
        del self._strangers_of[address][connection]
        if not self._strangers_of[address]:
            del self._strangers_of[address]

"""The service on a real socket, in a thread of the test, so that a test sees its connections; and raw clients."""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
from lutra_service.api.http.notifier import Notifier
from lutra_service.app.access.tokens import create_token
from lutra_service.common.settings import Settings
from lutra_service.edge.protocol import Connections
from lutra_service.server import Server, configured

from tests.support.service.application import application, migrated
from tests.support.service.hosted import Service, fake_executor
from tests.support.waiting import PATIENCE_S, until

DEADLINES: dict[str, Any] = {
    "head_s": PATIENCE_S,
    "idle_s": int(PATIENCE_S),
    "write_s": PATIENCE_S,
    "body_s": PATIENCE_S,
}
"""No connection ends because its client is slow, but where the test says so."""


@dataclass
class Listening:
    service: Service
    port: int
    connections: Connections
    notifier: Notifier

    def raw(self, data: bytes = b"") -> socket.socket:
        """A connection of its own, on which `data` was sent, if it was not closed before."""
        made = socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE_S)
        with suppress(ConnectionError):
            made.sendall(data)
        return made


@contextmanager
def listening(directory: Path, ca: Path | None = None, **settings: Any) -> Iterator[Listening]:
    """With the authority of its certificate (`ca`), over TLS."""
    made = Settings(database_url=migrated(directory), sweep_s=0.2, port=0, **(DEADLINES | settings))
    app = application(made, fake_executor())
    _, secret = app.state.store.write(lambda unit: create_token(unit, "test", ["admin"]))
    config = configured(app, made)
    server = Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    until(lambda: server.started)
    port = server.servers[0].sockets[0].getsockname()[1]
    connections: Connections = config.http.keywords["connections"]  # type: ignore[union-attr]
    try:
        trust: Any = True if ca is None else ssl.create_default_context(cafile=str(ca))
        scheme = "http" if ca is None else "https"
        with httpx.Client(base_url=f"{scheme}://127.0.0.1:{port}", timeout=PATIENCE_S, verify=trust) as client:
            yield Listening(Service(client, app.state.store, secret), port, connections, app.state.notifier)
    finally:
        app.state.notifier.close()
        server.should_exit = True
        thread.join(PATIENCE_S)


def ended(connection: socket.socket) -> bytes:
    """What is still received until the other side ends the connection."""
    received = bytearray()
    try:
        while piece := connection.recv(65536):
            received += piece
    except ConnectionError:
        pass
    return bytes(received)


def head(method: str, path: str, *more: str) -> bytes:
    return "\r\n".join((f"{method} {path} HTTP/1.1", "Host: lutra", *more, "", "")).encode()

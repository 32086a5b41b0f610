"""A loopback server that says to each connection whatever bytes a test wants, as slowly as it wants."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

Say = Callable[[socket.socket, "RawServer"], None]


@dataclass
class RawServer:
    """`requests` holds what each connection asked first; `reached` is set with the first; `ended` at the test's end."""

    url: str = ""
    requests: list[bytes] = field(default_factory=list)
    reached: threading.Event = field(default_factory=threading.Event)
    ended: threading.Event = field(default_factory=threading.Event)
    hung_up: threading.Event = field(default_factory=threading.Event)


@contextmanager
def raw_server(say: Say) -> Iterator[RawServer]:
    """`say` gets the connection once its request came; it is closed afterwards."""
    listener = socket.create_server(("127.0.0.1", 0))
    server = RawServer(f"http://127.0.0.1:{listener.getsockname()[1]}")

    def serve(connection: socket.socket) -> None:
        with connection, suppress(OSError):
            server.requests.append(connection.recv(1 << 16))
            server.reached.set()
            say(connection, server)

    def accept() -> None:
        with suppress(OSError):
            while not server.ended.is_set():
                threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()

    thread = threading.Thread(target=accept, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.ended.set()
        with suppress(OSError):
            listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join()


def dripping(start: bytes, drop: bytes) -> Say:
    """`start` at once, then `drop` again and again until the client hangs up or the test ends."""

    def say(connection: socket.socket, server: RawServer) -> None:
        try:
            connection.sendall(start)
            while not server.ended.wait(0.01):
                connection.sendall(drop)
        except OSError:
            server.hung_up.set()

    return say


def answering(body: bytes, *headers: str, status: str = "200 OK") -> Say:
    head = "\r\n".join([f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", "Connection: close", *headers])

    def say(connection: socket.socket, server: RawServer) -> None:
        connection.sendall(head.encode() + b"\r\n\r\n" + body)

    return say

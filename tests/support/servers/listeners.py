"""Who took a database's port and asks for its password; every byte that came in is kept."""

from __future__ import annotations

import socket
import ssl
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from tests.support.waiting import PATIENCE_S

SSL_REQUEST, GSS_REQUEST = 80877103, 80877104
PROTOCOL41, SECURE, PLUGIN, TLS, LENENC, WITH_DB = 1 << 9, 1 << 15, 1 << 19, 1 << 11, 1 << 21, 1 << 3
SALT = b"saltsaltsaltsaltsalt"
RSA_KEY = b"-----BEGIN PUBLIC KEY-----\nlisteners own\n-----END PUBLIC KEY-----\n"


@dataclass
class Heard:
    port: int = 0
    said: bytes = b""
    encrypted: bool = False
    secure: ssl.SSLContext | None = None
    connections: list[socket.socket] = field(default_factory=list)

    def receive(self, connection: socket.socket) -> bytes:
        got = connection.recv(65536)
        self.said += got
        return got

    def encrypt(self, connection: socket.socket) -> socket.socket:
        assert self.secure is not None
        self.encrypted = True
        wrapped = self.secure.wrap_socket(connection, server_side=True)
        self.connections.append(wrapped)
        return wrapped


Conversation = Callable[[Heard, socket.socket], None]


@contextmanager
def listening(talk: Conversation, certificate: tuple[Path, Path] | None = None) -> Iterator[Heard]:
    """On a free port of loopback; each connection is talked to by `talk` until it ends."""
    heard = Heard()
    if certificate is not None:
        heard.secure = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        heard.secure.load_cert_chain(*certificate)
    with socket.create_server(("127.0.0.1", 0)) as server:
        heard.port = server.getsockname()[1]
        thread = threading.Thread(target=_accept, args=(server, heard, talk), daemon=True)
        thread.start()
        yield heard
        for opened in (server, *heard.connections):
            with suppress(OSError):  # it is closed
                opened.shutdown(socket.SHUT_RDWR)
        thread.join(PATIENCE_S)


def _accept(server: socket.socket, heard: Heard, talk: Conversation) -> None:
    while True:
        try:
            connection, _ = server.accept()
        except OSError:
            return
        heard.connections.append(connection)
        with connection, suppress(OSError, struct.error, IndexError):
            connection.settimeout(PATIENCE_S)
            talk(heard, connection)


def postgresql_in_clear(heard: Heard, connection: socket.socket) -> None:
    """Any start is answered by the question for a password in clear; TLS is taken where there is a certificate."""
    while True:
        asked = struct.unpack("!II", connection.recv(8, socket.MSG_PEEK))[1]
        if asked not in (SSL_REQUEST, GSS_REQUEST):
            break
        connection.recv(8)
        encrypts = asked == SSL_REQUEST and heard.secure is not None
        connection.sendall(b"S" if encrypts else b"N")
        if encrypts:
            connection = heard.encrypt(connection)
            break
    heard.receive(connection)
    connection.sendall(b"R" + struct.pack("!II", 8, 3))
    while heard.receive(connection):
        pass


def mysql(greets: str, switches: str = "", more: tuple[bytes, ...] = ()) -> Conversation:
    """Greets with one method, asks for another, then sends `more`, a packet after each answer."""

    def talk(heard: Heard, connection: socket.socket) -> None:
        connection.sendall(_packet(0, _greeting(greets, heard.secure is not None)))
        answer = connection.recv(4, socket.MSG_PEEK)
        if heard.secure is not None and answer[0] == 32:
            connection.recv(36)
            connection = heard.encrypt(connection)
        number = heard.receive(connection)[3]
        questions = [b"\xfe" + switches.encode() + b"\0" + SALT + b"\0"] if switches else []
        for question in [*questions, *more]:
            connection.sendall(_packet(number + 1, question))
            got = heard.receive(connection)
            if not got:
                return
            number = got[3]

    return talk


def _greeting(method: str, tls: bool) -> bytes:
    can = PROTOCOL41 | SECURE | PLUGIN | LENENC | WITH_DB | (TLS if tls else 0)
    low, high = can & 0xFFFF, can >> 16
    head = b"\x0a8.4.0\0" + struct.pack("<I", 7) + SALT[:8] + b"\0" + struct.pack("<HBHHB", low, 45, 2, high, 21)
    return head + bytes(10) + SALT[8:] + b"\0" + method.encode() + b"\0"


def _packet(number: int, content: bytes) -> bytes:
    return struct.pack("<I", len(content))[:3] + bytes([number % 256]) + content

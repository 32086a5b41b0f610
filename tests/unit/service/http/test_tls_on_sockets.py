"""Connections are counted and bounded in time before their handshake, and served after it."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support import certificates
from tests.support.listening import Listening, ended, head, listening
from tests.support.waiting import until

pytestmark = pytest.mark.slow


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Listening]:
    ca = certificates.authority(tmp_path)
    cert, key = certificates.server(tmp_path, ca)
    with listening(tmp_path, ca, tls_cert=cert, tls_key=key, head_s=1, client_connections=20) as served:
        yield served


def test_requests_are_served_over_tls(served: Listening) -> None:
    database = served.service.database("shop" * 10)
    agent = served.service.agent(database)
    assert [agent.send()["duplicate"] for _ in range(20)] == [False] * 20
    assert len(served.connections) == 1


@pytest.mark.slow
def test_what_arrives_with_the_handshakes_end_is_answered(served: Listening) -> None:
    """Everything in one segment: the client's last word of the handshake and its request."""
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    tls = context.wrap_bio(incoming, outgoing)
    with served.raw() as connection:
        while True:
            try:
                tls.do_handshake()
                break
            except ssl.SSLWantReadError:
                connection.sendall(outgoing.read())
                incoming.write(connection.recv(65536))
        tls.write(head("GET", "/healthz", "Connection: close"))
        connection.sendall(outgoing.read())
        incoming.write(ended(connection))
        assert b'"alive"' in tls.read(65536) + tls.read(65536)


def test_a_handshake_that_does_not_end_is_closed(served: Listening) -> None:
    with served.raw() as silent, served.raw(b"\x16\x03\x01") as begun, served.raw(b"no TLS at all\r\n\r\n") as clear:
        for connection in (silent, begun, clear):
            assert b"HTTP" not in ended(connection)
    until(lambda: len(served.connections) == 0)


def test_handshakes_count_as_connections(served: Listening) -> None:
    begun = [socket.create_connection(("127.0.0.1", served.port), timeout=20) for _ in range(50)]
    until(lambda: len(served.connections) == 20)
    assert served.service.client.get("/healthz").status_code == 200
    for connection in begun:
        connection.close()
    until(lambda: len(served.connections) <= 1)

"""Connections are counted and bounded in time before their handshake, and served after it."""

from __future__ import annotations

import ssl
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

from tests.support.servers import certificates
from tests.support.service.listening import Listening, ended, head, listening
from tests.support.waiting import until

pytestmark = pytest.mark.slow


Proofs = tuple[Path, Path, Path]


@pytest.fixture(scope="module")
def proofs(tmp_path_factory: pytest.TempPathFactory) -> Proofs:
    """The authority's certificate, the server's, and the server's key."""
    folder = tmp_path_factory.mktemp("certificates")
    ca = certificates.authority(folder)
    return ca, *certificates.server(folder, ca)


def over_tls(folder: Path, proofs: Proofs, **settings: Any) -> AbstractContextManager[Listening]:
    ca, cert, key = proofs
    return listening(folder, ca, tls_cert=cert, tls_key=key, client_connections=20, **settings)


def test_requests_are_served_over_tls(tmp_path: Path, proofs: Proofs) -> None:
    with over_tls(tmp_path, proofs) as served:
        database = served.service.database("shop" * 10)
        agent = served.service.agent(database)
        assert [agent.send()["duplicate"] for _ in range(20)] == [False] * 20
        assert len(served.connections) == 1


@pytest.mark.slow
def test_what_arrives_with_the_handshakes_end_is_answered(tmp_path: Path, proofs: Proofs) -> None:
    """Everything in one segment: the client's last word of the handshake and its request."""
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    tls = context.wrap_bio(incoming, outgoing)
    with over_tls(tmp_path, proofs) as served, served.raw() as connection:
        while True:
            try:
                tls.do_handshake()
                break
            except ssl.SSLWantReadError:
                connection.sendall(outgoing.read())
                incoming.write(connection.recv(65536))
        tls.write(head("GET", "/healthz", "Connection: close"))
        connection.sendall(outgoing.read())
        answer = b""
        while b'"alive"' not in answer:
            try:
                answer += tls.read(65536)
            except ssl.SSLWantReadError:
                more = connection.recv(65536)
                assert more, answer
                incoming.write(more)


def test_a_handshake_that_does_not_end_is_closed(tmp_path: Path, proofs: Proofs) -> None:
    with over_tls(tmp_path, proofs, head_s=0.3) as served:
        for begins in (b"", b"\x16\x03\x01", b"no TLS at all\r\n\r\n"):
            with served.raw(begins) as connection:
                assert b"HTTP" not in ended(connection)
        until(lambda: len(served.connections) == 0)


def test_handshakes_count_as_connections(tmp_path: Path, proofs: Proofs) -> None:
    with over_tls(tmp_path, proofs) as served:
        begun = [served.raw() for _ in range(50)]
        until(lambda: len(served.connections) == 20)
        assert served.service.client.get("/healthz").status_code == 200
        for connection in begun:
            connection.close()
        until(lambda: len(served.connections) <= 1)

"""Clients that send little and slowly, on real sockets."""

from __future__ import annotations

import socket
from contextlib import suppress
from pathlib import Path

import pytest

from tests.support.service.listening import Listening, ended, head, listening
from tests.support.waiting import until

pytestmark = pytest.mark.slow

MADE_UP = "Authorization: Bearer lutra_" + "x" * 43


def healthy(served: Listening) -> bool:
    with served.raw(head("GET", "/healthz", "Connection: close")) as asked:
        return b'"alive"' in ended(asked)


def test_a_request_whose_head_never_ends_is_closed(tmp_path: Path) -> None:
    with listening(tmp_path, head_s=0.3) as served, served.raw(b"GET /healthz HTTP/1.1\r\nHost: a\r\nX-Slow: ") as slow:
        assert ended(slow) == b""


def test_a_connection_on_which_nothing_comes_is_closed(tmp_path: Path) -> None:
    with listening(tmp_path, head_s=0.3) as served, served.raw() as silent:
        assert ended(silent) == b""


def test_a_second_request_whose_head_never_ends_is_closed(tmp_path: Path) -> None:
    with listening(tmp_path, head_s=0.3, idle_s=1) as served, until(lambda: answered_once(served)) as slow:
        with suppress(ConnectionError):  # it may be closed already
            slow.sendall(b"GET /healthz HTTP/1.1\r\n")
        assert ended(slow) == b""


def answered_once(served: Listening) -> socket.socket | None:
    """A connection after its first answer; None where even the first request came too late, on a busy machine."""
    one, received = served.raw(head("GET", "/healthz")), b""
    with suppress(ConnectionError):
        while b"alive" not in received and (piece := one.recv(4096)):
            received += piece
    if b"alive" in received:
        return one
    one.close()
    return None


def test_half_a_body_under_a_made_up_token_is_answered_at_once_and_its_connection_closed(tmp_path: Path) -> None:
    with listening(tmp_path, head_s=0.3, idle_s=1) as served:
        until(lambda: b" 401 " in half_a_body(served))  # of a busy machine even the head may come too late
        until(lambda: served.connections.strangers == 0)


def half_a_body(served: Listening) -> bytes:
    """All that comes back before the connection is closed."""
    with served.raw(head("POST", "/v1/databases/db_x/reports", MADE_UP, "Content-Length: 10") + b"{") as half:
        return ended(half)


def test_half_a_body_of_a_valid_token_is_given_up(tmp_path: Path) -> None:
    with listening(tmp_path, min_body_bytes_per_s=1e9, body_s=0.3) as served:
        token = f"Authorization: {served.service.headers['Authorization']}"
        with served.raw(head("POST", "/v1/databases", token, "Content-Length: 10") + b"{") as half:
            assert half.recv(65536).startswith(b"HTTP/1.1 408 ")


def test_more_connections_than_may_be_close_the_oldest_that_showed_no_token(tmp_path: Path) -> None:
    with listening(tmp_path, client_connections=20) as served:
        database = served.service.database()  # its connection has shown a token, and stays
        half = [served.raw(head("POST", "/v1/databases", MADE_UP, "Content-Length: 9") + b"{") for _ in range(60)]
        until(lambda: len(served.connections) == 20)
        assert healthy(served)
        assert served.service.take("GET", f"/v1/databases/{database}")["id"] == database
        for one in half:
            one.close()


def test_one_address_has_its_share_of_the_connections(tmp_path: Path) -> None:
    with listening(tmp_path, client_connections_per_address=5) as served:
        silent = [served.raw() for _ in range(8)]
        until(lambda: len(served.connections) == 5)
        assert [ended(one) for one in silent[:3]] == [b"", b"", b""]
        assert healthy(served)
        for one in silent:
            one.close()


def test_a_client_that_does_not_read_its_answers_is_closed(tmp_path: Path) -> None:
    with listening(tmp_path, write_s=0.3, anonymous_per_s=1000) as served:
        deaf = socket.socket()
        deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        deaf.connect(("127.0.0.1", served.port))
        with deaf, pytest.raises(ConnectionError):
            _ask_for_ever(deaf)


def _ask_for_ever(connection: socket.socket) -> None:
    while True:
        connection.sendall(head("GET", "/openapi.json"))


def test_a_failing_request_leaves_its_connection_usable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("a fault of ours")

    with listening(tmp_path) as served:
        monkeypatch.setattr("lutra_service.app.databases.registration.register", broken)
        token = f"Authorization: {served.service.headers['Authorization']}"
        body = b'{"name": "shop", "engine": "postgresql"}'
        asked = head("POST", "/v1/databases", token, "Content-Type: application/json", f"Content-Length: {len(body)}")
        with served.raw(asked + body) as one:
            answer = one.recv(65536)
            assert answer.startswith(b"HTTP/1.1 500 ")
            assert b"application/problem+json" in answer
            assert b"a fault of ours" not in answer
            one.sendall(head("GET", "/healthz", "Connection: close"))
            assert b'"alive"' in ended(one)


def test_made_up_upgrades_and_garbage_are_refused(tmp_path: Path) -> None:
    with listening(tmp_path) as served:
        with served.raw(b"\x16\x03\x01 this is no HTTP\r\n\r\n") as garbage:
            assert b" 400 " in ended(garbage)
        with served.raw(head("GET", "/healthz", "Connection: upgrade, close", "Upgrade: websocket")) as upgrade:
            assert b'"alive"' in ended(upgrade)

"""What a receiver gets: signed requests; and what the service makes of every way in which one may answer."""

from __future__ import annotations

import json
import logging
import socket
import threading
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from hashlib import sha256
from hmac import digest
from typing import Any

import pytest
from lutra_models.errors import MissingExtension
from lutra_service.app.errors import InvalidRequest
from lutra_service.app.notices import by_apprise, channels
from lutra_service.app.notices.channels import addresses, send, signed
from lutra_service.db.schema.notices import Delivery, Receiver
from standardwebhooks import Webhook

pytestmark = pytest.mark.slow

NOW = datetime(2026, 3, 2, 12, tzinfo=UTC)
SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
MESSAGE = Delivery("msg_1", "rcv_1", "reverted", None, NOW, 0, "shop: a change was undone", {"target": "rec_1"})


def receiver(target: str, kind: Any = "webhook") -> Receiver:
    return Receiver("rcv_1", "on call", kind, target, NOW, SECRET)


@contextmanager
def listening(answer: bytes, hang: bool = False) -> Iterator[tuple[str, list[bytes]]]:
    """A receiver that takes one request and answers so; its URL, and what it got."""
    got: list[bytes] = []
    done = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            with server.accept()[0] as connection:
                request = b""
                while b"\r\n\r\n" not in request or not request.endswith(b"}"):
                    request += connection.recv(65536)
                got.append(request)
                connection.sendall(answer)
                if hang:
                    done.wait()

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.getsockname()[1]}/hook?team=a", got
        done.set()
        thread.join()


def parsed(request: bytes) -> tuple[str, dict[str, str], bytes]:
    head, _, body = request.partition(b"\r\n\r\n")
    line, *headers = head.decode().split("\r\n")
    return line, {n.lower(): v for n, _, v in (h.partition(": ") for h in headers)}, body


def test_a_receiver_checks_the_signature_with_the_library_of_the_scheme() -> None:
    with listening(b"HTTP/1.1 204 No Content\r\n\r\n") as (url, got):
        answer = send(receiver(url), MESSAGE, now := datetime.now(UTC))
    line, headers, body = parsed(got[0])
    assert (answer.status, answer.is_delivered, line) == (204, True, "POST /hook?team=a HTTP/1.1")
    assert Webhook(SECRET).verify(body, headers) == {
        "type": "reverted",
        "timestamp": NOW.isoformat(),
        "data": {"text": "shop: a change was undone", "target": "rec_1"},
    }
    assert (headers["webhook-id"], headers["webhook-timestamp"]) == ("msg_1", str(int(now.timestamp())))


def test_the_signature_is_the_one_of_the_schemes_own_definition() -> None:
    headers = signed(SECRET, MESSAGE, "{}", NOW)
    key = b64decode(SECRET.removeprefix("whsec_"))
    expected = digest(key, f"msg_1.{int(NOW.timestamp())}.{{}}".encode(), sha256)
    assert headers["webhook-signature"] == f"v1,{b64encode(expected).decode()}"


def test_a_changed_body_or_another_secret_is_noticed() -> None:
    headers = signed(SECRET, MESSAGE, '{"a":1}', datetime.now(UTC))
    Webhook(SECRET).verify('{"a":1}', headers)
    for body, secret in (('{"a":2}', SECRET), ('{"a":1}', f"whsec_{b64encode(b'x' * 32).decode()}")):
        with pytest.raises(Exception, match="No matching signature"):
            Webhook(secret).verify(body, headers)


@pytest.mark.parametrize(
    ("answer", "status", "error"),
    [
        (b"HTTP/1.1 500 Oops\r\n\r\nsecret stack trace", 500, "the receiver answered 500"),
        (b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\n\r\n", 302, "the receiver answered 302"),
        (b"HTTP/1.1 410 Gone\r\n\r\n", 410, "the receiver answered 410"),
        (b"HTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 200 OK\r\n\r\n", 200, None),
        (b"", None, "it closed the connection without an answer"),
        (b"not HTTP at all\r\n\r\n", None, "its answer is not HTTP"),
        (b"HTTP/1.1 200 OK\r\nx: " + b"y" * 70_000, None, "its answer is not HTTP"),
    ],
)
def test_of_an_answer_only_the_status_counts(answer: bytes, status: int | None, error: str | None) -> None:
    with listening(answer) as (url, _):
        found = send(receiver(url), MESSAGE, NOW)
    assert (found.status, found.error) == (status, error)


def test_an_attempt_ends_after_its_time_whatever_trickles_in(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(channels, "ATTEMPT_S", 0.3)
    with listening(b"HTTP/1.1 200 OK\r\nx: y", hang=True) as (url, _):
        found = send(receiver(url), MESSAGE, NOW)
    assert (found.status, found.error) == (None, "no answer within 0 s")


def test_a_receiver_that_does_not_listen_is_an_answer_too() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    found = send(receiver(f"http://127.0.0.1:{port}/"), MESSAGE, NOW)
    assert (found.status, found.error) == (None, "no connection: Connection refused")


@pytest.mark.parametrize("host", ["169.254.169.254", "fe80::1", "::ffff:169.254.169.254", "224.0.0.1"])
def test_nothing_is_sent_to_a_link_local_or_multicast_address(host: str) -> None:
    with pytest.raises(channels.NotSent, match="link-local or multicast"):
        addresses(host, 80)


def test_an_apprise_url_is_sent_as_plain_text_in_which_nobody_is_called(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    with listening(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n") as (url, got):
        target = url.replace("http://", "json://")
        message = Delivery("msg_1", "rcv_1", "guard", None, NOW, 0, "<!channel> @here: shop", {})
        found = send(receiver(target, "apprise"), message, NOW)
    _, _, body = parsed(got[0])
    told = json.loads(body)
    assert found.is_delivered
    assert told["title"] == "Lutra: guard"
    assert not {"<!channel>", "@here"} & set(told["message"].split())
    assert "team=a" not in caplog.text


def test_an_apprise_receiver_that_refuses_is_an_answer_without_its_words() -> None:
    with listening(b"HTTP/1.1 500 Oops\r\ncontent-length: 3\r\n\r\nxyz") as (url, _):
        found = send(receiver(url.replace("http://", "json://"), "apprise"), MESSAGE, NOW)
    assert (found.is_delivered, found.error) == (False, "Apprise could not deliver it")


@pytest.mark.parametrize(
    "url",
    [
        "syslog://",
        "dbus://",
        "nonsense",
        "file:///etc/passwd",
        "json://host/?template=/etc/passwd",
        "json://169.254.169.254/",
    ],
)
def test_an_apprise_url_that_would_stay_on_this_machine_or_read_its_files_is_refused(url: str) -> None:
    with pytest.raises(InvalidRequest):
        by_apprise.verify(url)


def test_without_apprise_the_way_out_is_named(without: Callable[[str], None]) -> None:
    without("apprise")
    with pytest.raises(MissingExtension, match=r"pip install 'lutra-service\[apprise\]'"):
        by_apprise.verify("slack://a/b/c")


@pytest.fixture
def without(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    return lambda name: monkeypatch.setitem(__import__("sys").modules, name, None)

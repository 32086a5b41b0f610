"""The channels of a message: a signed webhook, or Apprise. Of a receiver's answer only the status is stored."""

from __future__ import annotations

import ipaddress
import json
import socket
import ssl
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from urllib.parse import urlsplit

import h11
from lutra_models import __version__
from lutra_models.errors import LutraError
from standardwebhooks import Webhook

from lutra_service.app.notices import by_apprise
from lutra_service.app.notices.messages import document
from lutra_service.common.documents import Document
from lutra_service.db.schema.notices import Delivery, Receiver

ATTEMPT_S = 10.0
"""The time limit of an attempt, from the name's resolution to the status line."""
LARGEST_HEAD = 16 << 10
LONGEST_ERROR = 200
GONE = 410


class NotSent(Exception):
    """Nothing was sent: the reason, in words of ours."""


@dataclass(frozen=True)
class Answer:
    """The receiver's status, or the reason why there is none."""

    status: int | None = None
    error: str | None = None

    @property
    def is_delivered(self) -> bool:
        return self.error is None

    @property
    def is_gone(self) -> bool:
        """Whether the receiver asks for no further messages."""
        return self.status == GONE


def send(receiver: Receiver, message: Delivery, now: datetime) -> Answer:
    """Send it once. A failure is an answer; nothing is raised for it."""
    try:
        if receiver.kind == "apprise":
            delivered = by_apprise.send(receiver.target, message.kind, message.text)
            return Answer(error=None if delivered else "Apprise could not deliver it")
        status = _post(receiver, message, now)
    except (NotSent, LutraError) as error:
        return Answer(error=str(error)[:LONGEST_ERROR])
    except TimeoutError:
        return Answer(error=f"no answer within {ATTEMPT_S:.0f} s")
    except ssl.SSLError as error:
        return Answer(error=f"TLS: {error.reason or 'the handshake failed'}"[:LONGEST_ERROR])
    except (socket.gaierror, UnicodeError):
        return Answer(error="the name of its host cannot be resolved")
    except OSError as error:
        return Answer(error=f"no connection: {error.strerror or 'it was closed'}"[:LONGEST_ERROR])
    except h11.ProtocolError:
        return Answer(error="its answer is not HTTP")
    return Answer(status, None if 200 <= status < 300 else f"the receiver answered {status}")


def signed(secret: str, message: Delivery, body: str, now: datetime) -> dict[str, str]:
    """The headers of the Standard Webhooks scheme. The id is the same at each attempt."""
    return {
        "webhook-id": message.id,
        "webhook-timestamp": str(int(now.timestamp())),
        "webhook-signature": Webhook(secret).sign(message.id, now, body),
    }


def _post(receiver: Receiver, message: Delivery, now: datetime) -> int:
    body = _dumps(document(message))
    content, url = body.encode(), urlsplit(receiver.target)
    headers = {
        "host": url.netloc,
        "user-agent": f"lutra/{__version__}",
        "content-type": "application/json",
        "content-length": str(len(content)),
        "connection": "close",
        **signed(str(receiver.secret), message, body, now),
    }
    path = (url.path or "/") + (f"?{url.query}" if url.query else "")
    deadline = time.monotonic() + ATTEMPT_S
    with _connected(str(url.hostname), url.port, url.scheme == "https", deadline) as connection:
        http = h11.Connection(h11.CLIENT, max_incomplete_event_size=LARGEST_HEAD)
        begun = http.send(h11.Request(method="POST", target=path, headers=list(headers.items())))
        connection.sendall(b"".join(filter(None, (begun, http.send(h11.Data(content)), http.send(h11.EndOfMessage())))))
        return _status(http, connection, deadline)


def _dumps(body: Document) -> str:
    return json.dumps(body, ensure_ascii=True, separators=(",", ":"))


def _status(http: h11.Connection, connection: socket.socket, deadline: float) -> int:
    """The status of the answer, of which nothing more is read."""
    while True:
        event = http.next_event()
        if event is h11.NEED_DATA:
            connection.settimeout(_left(deadline))
            if not (received := connection.recv(4096)):
                raise NotSent("it closed the connection without an answer")
            http.receive_data(received)
        elif isinstance(event, h11.Response):
            return event.status_code


@contextmanager
def _connected(host: str, port: int | None, tls: bool, deadline: float) -> Iterator[socket.socket]:
    """A connection to an address that was checked: the name is not resolved again."""
    plain = _connection(host, port or (443 if tls else 80), deadline)
    try:
        plain.settimeout(_left(deadline))
        secure = ssl.create_default_context().wrap_socket(plain, server_hostname=host) if tls else plain
    except BaseException:
        plain.close()
        raise
    with secure:
        secure.settimeout(_left(deadline))
        yield secure


def _connection(host: str, port: int, deadline: float) -> socket.socket:
    failure: OSError | None = None
    for address in addresses(host, port):
        try:
            return socket.create_connection((address, port), timeout=_left(deadline))
        except OSError as error:
            failure = error
    raise failure or OSError("it has no address")


def addresses(host: str, port: int) -> list[str]:
    """The addresses of a host. Raises NotSent for one that only this machine's own network reaches, where clouds keep
    their machines' secrets.
    """
    found = [str(entry[4][0]) for entry in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)]
    for text in found:
        address = ipaddress.ip_address(text.partition("%")[0])
        mapped = getattr(address, "ipv4_mapped", None) or address
        if mapped.is_link_local or mapped.is_multicast:
            raise NotSent("its host has a link-local or multicast address, to which nothing is sent")
    return found


def _left(deadline: float) -> float:
    """The seconds until the deadline. Raises TimeoutError if it has passed."""
    left = deadline - time.monotonic()
    if left <= 0:
        raise TimeoutError
    return left

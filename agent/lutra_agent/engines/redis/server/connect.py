"""One connection, opened when it is needed and again after it broke. Only this module of the family connects.

The protocol's second version: a server without HELLO answers it as well.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from importlib.util import find_spec
from types import ModuleType
from typing import Any

from lutra_agent.engines.common.deadline import LONGEST_ANSWER, cut, within
from lutra_agent.engines.common.peer import Peer, peer_of
from lutra_agent.engines.redis.server.section import RedisDatabase
from lutra_agent.errors import (
    CollectionFailed,
    DatabaseUnavailable,
    LoginRefused,
    NoAnswer,
    NoConnectionLeft,
    ServerStarting,
)


@contextmanager
def without_its_package(name: str) -> Iterator[None]:
    """A context for the import of a package's modules without all that the package itself imports: 7 MB instead of 24.

    A later import of the package gets all of it.

    Raises ModuleNotFoundError if it is not installed.
    """
    spec = None if name in sys.modules else find_spec(name)
    if spec is None:
        if name not in sys.modules:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        yield
        return
    package = ModuleType(name)
    package.__path__ = list(spec.submodule_search_locations or ())
    sys.modules[name] = package
    try:
        yield
    finally:
        del sys.modules[name]


with without_its_package("redis"):
    from redis._parsers.resp2 import _RESP2Parser
    from redis._parsers.socket import SocketBuffer
    from redis.backoff import NoBackoff
    from redis.connection import Connection as Dialled
    from redis.connection import SSLConnection, UnixDomainSocketConnection
    from redis.exceptions import (
        AuthenticationError,
        BusyLoadingError,
        NoPermissionError,
        RedisError,
        ResponseError,
    )
    from redis.exceptions import ConnectionError as Broken
    from redis.retry import Retry

TIMEOUT_S = 10.0
"""For each wait, and for a whole answer."""
UNANSWERED = 0.9
"""Share of the time limit: a client that is disconnected later than that has not answered."""
PROTOCOL = 2
UNREADABLE = (RedisError, OSError, ValueError, RecursionError)
"""The errors of a broken connection, and of an answer outside the protocol."""
CHANGE = ("CONFIG", "SET")
DEFAULT_USER = "default"
VARIABLE = "REDISCLI_AUTH"
FULL = "max number of clients"
FULL_TRIES, FULL_PAUSE_S = 20, 0.1
IN_CLEAR = (
    "the password would be sent in clear text to any program that listens on the port: name the "
    "server's socket as database.host, or its "
    "authority as database.tls_ca, or allow it by database.password_in_clear"
)


class NotPermitted(CollectionFailed):
    """The account may not do this."""


class Connection:
    """Raises DatabaseUnavailable if the server is gone, CollectionFailed if it refuses a command.

    `generation` grows with each connect, so a restarted server is never taken for the one before. `asked` is the number
    of commands over it, which is subtracted from the server's own count. Without `answer_s` only `cut` ends the wait
    for an answer that comes byte by byte: for a thread on which nothing waits.
    """

    def __init__(self, database: RedisDatabase, answer_s: float | None = TIMEOUT_S, *, anonymous: bool = False) -> None:
        """`anonymous` logs in as nobody, whatever the agent's file says."""
        self._database = database
        self._answer_s = answer_s
        self._anonymous = anonymous
        self._open: Any = None
        self.generation = 0
        self.asked = 0

    def ask(self, *words: str) -> Any:
        """The answer: text, a number, or a list of such.

        Sent again over another connection if this one was closed while it was idle, unless the command changes
        something.
        """
        again = self._open is not None and words[:2] != CHANGE
        try:
            return self._ask(*words)
        except DatabaseUnavailable as error:
            if not again or type(error.__cause__) is not Broken:
                raise
            return self._ask(*words)

    def _ask(self, *words: str) -> Any:
        began_s = time.monotonic()
        try:
            connection = self._connected()
            began_s = time.monotonic()
            self.asked += 1
            with self._limit(connection):
                connection.send_command(*words)
                return connection.read_response()
        except NoPermissionError as error:
            raise NotPermitted(_line(error)) from error
        except ResponseError as error:
            raise CollectionFailed(_line(error)) from error
        except UNREADABLE as error:
            self.close()
            if self._answer_s is not None and time.monotonic() - began_s >= UNANSWERED * self._answer_s:
                raise NoAnswer(f"no answer in {self._answer_s:.0f} s: {_line(error)}") from error
            raise _gone(error) from error

    def text(self, *words: str) -> str:
        return str(self.ask(*words))

    def pairs(self, *words: str) -> dict[str, str]:
        """An answer that lists names and values in turn."""
        found = [str(item) for item in self.ask(*words) or ()]
        return dict(zip(found[::2], found[1::2], strict=False))

    @staticmethod
    def password_of(database: RedisDatabase) -> str | None:
        found = database.password()
        return os.environ.get(VARIABLE) if found is None else found

    def peer(self) -> Peer:
        """The process at the other end of this connection."""
        try:
            return peer_of(self._connected()._sock)
        except OSError:  # it is gone again
            return Peer()

    def cut(self) -> None:
        """From another thread: a thread that waits for an answer gets an error."""
        opened = self._open
        with suppress(OSError, AttributeError):  # it is being closed
            cut(opened._sock.fileno())

    def close(self) -> None:
        connection, self._open = self._open, None
        if connection is not None:
            connection.disconnect()

    def _connected(self) -> Any:
        if self._open is None:
            self._open = self._dial()
            self.generation += 1
        return self._open

    def _dial(self) -> Any:
        """Tried again for a moment where the server has no free connection: one gets in where clients come and go."""
        for _ in range(FULL_TRIES):
            with suppress(NoConnectionLeft):
                return self._dialled()
            time.sleep(FULL_PAUSE_S)
        return self._dialled()

    def _dialled(self) -> Any:
        connection = self._made()
        try:
            connection.connect()
        except UNREADABLE as error:
            connection.disconnect()
            raise _gone(error) from error
        return connection

    def _limit(self, connection: Any) -> AbstractContextManager[None]:
        return nullcontext() if self._answer_s is None else within(self._answer_s, connection._sock.fileno())

    def _greet(self, connection: Any) -> None:
        """What follows the dial itself, which has a limit of its own."""
        with within(self._answer_s or TIMEOUT_S, connection._sock.fileno()):
            connection.on_connect()

    def _made(self) -> Any:
        d = self._database
        password = None if self._anonymous else self.password_of(d)
        if password and not (d.proved or d.password_in_clear):
            raise LoginRefused(IN_CLEAR)
        how: dict[str, Any] = {
            "username": None if self._anonymous or d.user in ("", DEFAULT_USER) else d.user,
            "password": password or None,
            "socket_timeout": TIMEOUT_S,
            "socket_connect_timeout": TIMEOUT_S,
            "protocol": PROTOCOL,
            "decode_responses": True,
            "encoding_errors": "replace",
            "driver_info": None,
            "parser_class": Bounded,
            "redis_connect_func": self._greet,
            "retry": Retry(NoBackoff(), 0),
        }
        kind: Any = Dialled
        if d.by_socket:
            kind, how["path"] = UnixDomainSocketConnection, d.host
        else:
            how |= {"host": d.host, "port": d.port}
        if not d.by_socket and d.tls_ca is not None:
            kind, by_name = SSLConnection, d.tls_verify == "identity"
            how |= {"ssl_ca_certs": str(d.tls_ca), "ssl_cert_reqs": "required", "ssl_check_hostname": by_name}
        return kind(**how)


def _gone(error: Exception) -> DatabaseUnavailable:
    """What a failure says of the server: that it starts, that it does not let us in, or that it is not there."""
    if isinstance(error, BusyLoadingError):
        return ServerStarting(_line(error))
    if FULL in str(error):
        return NoConnectionLeft(_line(error))
    refused = isinstance(error, AuthenticationError | ResponseError)
    return (LoginRefused if refused else DatabaseUnavailable)(_line(error))


def _line(error: Exception) -> str:
    return " ".join(str(error).split()) or type(error).__name__


class _Buffer(SocketBuffer):
    """Holds one answer at a time, from its begin."""

    def _read_from_socket(self, length: int | None = None, *rest: Any, **more: Any) -> bool:
        with self._buffer.getbuffer() as held:
            size = held.nbytes + (length or 0)
        if size > LONGEST_ANSWER:
            raise Broken(f"an answer of more than {LONGEST_ANSWER} bytes")
        return bool(super()._read_from_socket(length, *rest, **more))


class Bounded(_RESP2Parser):
    """Reads the protocol's second version as the package does, with a limit on the size of an answer."""

    def on_connect(self, connection: Any) -> None:
        super().on_connect(connection)  # type: ignore[no-untyped-call]
        self._buffer = _Buffer(connection._sock, self.socket_read_size, connection.socket_timeout)

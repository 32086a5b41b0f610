"""A connection to an unproven server: a password is sent only as the answer to a challenge.

A program that listens on a port may ask for the password itself, in clear text or for a key of its own.
"""

from __future__ import annotations

import socket
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import pymysql
from pymysql import _auth
from pymysql.constants import CR

from lutra_agent.engines.common.deadline import LONGEST_ANSWER, within

IN_CLEAR = ("mysql_clear_password", "dialog", "sha256_password", "mysql_old_password")
"""Methods that send the password itself, by a key that the server names, or in a form that gives it away."""
NATIVE = "mysql_native_password"
FAST, FULL = 3, 4
REFUSED = CR.CR_AUTH_PLUGIN_CANNOT_LOAD
WAY_OUT = "name the server's socket as database.host, or its authority as database.tls_ca"


class Bounded(pymysql.connections.Connection):
    """A whole connect has the time limit of one wait for an answer. The caller of a statement limits its time."""

    _sock: socket.socket
    _read_timeout: float
    _taken = 0

    def limit(self) -> Any:
        """For a whole exchange. Raises TimeoutError in place of the error that results."""
        return within(self._read_timeout, self._sock.fileno())

    def connect(self, sock: Any = None) -> None:
        with ExitStack() as self._dialling:
            super().connect(sock)

    def _get_server_information(self) -> None:
        """What follows the dial itself, which has a limit of its own."""
        self._dialling.enter_context(self.limit())
        super()._get_server_information()  # type: ignore[misc]

    def _execute_command(self, command: Any, sql: Any) -> None:
        self._taken = 0
        super()._execute_command(command, sql)  # type: ignore[misc]

    def _read_bytes(self, num_bytes: int) -> bytes:
        self._taken += num_bytes
        if self._taken > LONGEST_ANSWER:
            self._force_close()  # type: ignore[attr-defined]
            raise pymysql.OperationalError(CR.CR_SERVER_LOST, f"an answer of more than {LONGEST_ANSWER} bytes")
        return bytes(super()._read_bytes(num_bytes))  # type: ignore[misc]


def refusal(method: str) -> pymysql.OperationalError:
    return pymysql.OperationalError(
        REFUSED,
        f"the server asks for the password itself ({method}), which the agent does not "
        f"send over an unencrypted port: {WAY_OUT}",
    )


class Refusing:
    """A login method that the agent does not answer."""

    method = ""

    def __init__(self, connection: Any) -> None:
        self._connection = connection

    def authenticate(self, packet: Any) -> Any:
        raise refusal(self.method)


class ChallengeOnly:
    """caching_sha2_password as far as the server remembers the account: a hash, and never the password."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection

    def authenticate(self, packet: Any) -> Any:
        connection = self._connection
        if packet.is_auth_switch_request():
            connection.salt = packet.read_all().removesuffix(b"\0")
            connection.write_packet(_auth.scramble_caching_sha2(connection.password, connection.salt))
            packet = connection._read_packet()
        if packet.is_ok_packet():
            return packet
        packet.advance(1)
        if packet.read_uint8() != FAST:
            raise refusal("caching_sha2_password, which has not cached this account since the server's start")
        return connection._read_packet()


def _refusing(name: str) -> type[Refusing]:
    return type("Refusing", (Refusing,), {"method": name})


HANDLERS: dict[str, Callable[[Any], Any]] = {name: _refusing(name) for name in IN_CLEAR}
HANDLERS["caching_sha2_password"] = ChallengeOnly


class Guarded(Bounded):
    """A connection over a bare port. It answers only challenges, encrypted or not, because an unproven server may be
    any program.
    """

    _auth_plugin_name: str

    def __init__(self, **arguments: Any) -> None:
        super().__init__(auth_plugin_map=HANDLERS, **arguments)

    def _get_server_information(self) -> None:
        super()._get_server_information()
        # The method that the greeting names is answered before any handler is asked.
        if self._auth_plugin_name in IN_CLEAR:
            self._auth_plugin_name = NATIVE

"""One connection, opened when it is needed and again after it broke. Only this module of the family connects."""

from __future__ import annotations

import os
import socket
import struct
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from typing import Any

import pymysql
from pymysql import _auth
from pymysql.constants import CR

from lutra_agent.engines.common.database import DialledDatabase
from lutra_agent.engines.common.deadline import LONGEST_ANSWER, within
from lutra_agent.engines.common.peer import Peer, peer_of
from lutra_agent.engines.mysql.server.sockets import socket_of
from lutra_agent.errors import (
    CollectionFailed,
    ConfigError,
    DatabaseUnavailable,
    LoginRefused,
    NoAnswer,
    NoConnectionLeft,
)

IN_CLEAR = ("mysql_clear_password", "dialog", "sha256_password", "mysql_old_password")
"""Methods that send the password itself, by a key that the server names, or in a form that gives it away."""
NATIVE = "mysql_native_password"
FAST, PASSWORDS_FULL = 3, 4
REFUSED = CR.CR_AUTH_PLUGIN_CANNOT_LOAD
WAY_OUT = "name the server's socket as database.host, or its authority as database.tls_ca"

APPLICATION = "lutra-agent"
CONNECT_TIMEOUT_S = 5
ANSWER_TIMEOUT_S = 30
CHANGE_TIMEOUT_S = 900
"""Long enough for a buffer pool that is shrunk while the statement waits: its changed pages are written first."""

FIRST_STATEMENT = """SET SESSION wait_timeout = 28800, SESSION sql_mode = '', SESSION lock_wait_timeout = 2, SESSION
sql_select_limit = 18446744073709551615, SESSION sql_big_selects = 1, SESSION completion_type = 'NO_CHAIN'
/*!80000 , SESSION max_execution_time = 0 */ /*M!100600 , SESSION max_statement_time = 0 */"""
"""A lock on a table of accounts costs only the reading from there, and does not block the agent. A limit for all
sessions does not cut its answers.
"""

SHUTTING_DOWN = 1053
FULL = 1040
FULL_TRIES, FULL_PAUSE_S = 20, 0.1
CLIENTS_OWN = 2000
"""From this number on, errors are the client's own; a smaller one is a running server's answer."""
GONE = frozenset({FULL, SHUTTING_DOWN, 1927, 2002, 2003, 2006, 2013, 2014, 2055})
"""Too many connections, shutdown, connection killed, and the client's own errors for a lost server. 1317 and 3024 are
left out: a query that was cancelled or took too long does not show the state of the server."""

ALTERED = "ALTER USER … IDENTIFIED VIA mysql_native_password (MariaDB), or WITH caching_sha2_password (MySQL)"
NOT_BY_PASSWORD = 1698
"""Accounts that log in by something other than a password and are refused."""
REMEDIES: Mapping[str, str] = {
    "'pynacl' package": f"pip install 'PyMySQL[ed25519]' beside the agent, or give the account a password: {ALTERED}",
    "'cryptography' package": "name the server's socket as database.host, or its authority as database.tls_ca",
    "not configured": f"the agent does not support this login method; give the account a password: {ALTERED}",
    "using password: NO": "set database.password_file or MYSQL_PWD",
    "require_secure_transport": "set database.tls_ca, or name the server's socket as database.host",
    f"[{NOT_BY_PASSWORD}]": "the operating system authenticates this account: name the server's "
    "socket as database.host, "
    "and run the agent under the account of the same name",
}
"""The remedy for a refused login, by a part of its message."""

NONSENSE = (OSError, ValueError, LookupError, AssertionError, RuntimeError, struct.error)
"""Further errors of a broken connection, and of an answer outside the protocol."""


class Connection:
    """Raises DatabaseUnavailable when the server is gone, CollectionFailed when it refuses a statement.

    `generation` grows with each connect, so a restarted server is never taken for the one before. `durations_s` are
    those of the statements since they were last read: the server's own figures are reduced by them, and by
    `further_questions`, the statements of the agent over other connections.
    """

    def __init__(self, database: DialledDatabase, answer_timeout_s: int = ANSWER_TIMEOUT_S) -> None:
        self._database = database
        self._answer_timeout_s = answer_timeout_s
        self._open: Bounded | None = None
        self.generation = 0
        self.durations_s: list[float] = []
        self.further_questions = 0

    @property
    def server_version(self) -> str:
        """The version from the server's greeting."""
        return str(self._connected().server_version)  # type: ignore[attr-defined]

    def peer(self) -> Peer:
        """The process at the other end of this connection."""
        try:
            return peer_of(self._connected()._sock)
        except (OSError, AttributeError):  # it is gone again
            return Peer()

    def admitted(self) -> bool:
        """Connect. False if the server answers and refuses the login."""
        try:
            self._connected()
        except LoginRefused:
            return False
        return True

    def rows(self, query: str, parameters: Sequence[Any] | None = None) -> list[tuple[Any, ...]]:
        return self.named_rows(query, parameters)[1]

    def row(self, query: str, parameters: Sequence[Any] | None = None) -> tuple[Any, ...]:
        """The first row. Raises CollectionFailed if there is none."""
        found = self.rows(query, parameters)
        if not found:
            raise CollectionFailed("the statement gave no row")
        return found[0]

    def named_rows(
        self, query: str, parameters: Sequence[Any] | None = None
    ) -> tuple[list[str], list[tuple[Any, ...]]]:
        """The columns' names, and the rows."""
        connection = self._connected()
        began = time.perf_counter()
        try:
            with connection.limit(), connection.cursor() as cursor:
                cursor.execute(query, parameters)
                return [c[0] for c in cursor.description or ()], list(cursor.fetchall() or ())
        except pymysql.Error as error:
            if not connection.open or _number(error) in GONE:
                self.close()
                raise DatabaseUnavailable(message(error)) from error
            raise CollectionFailed(f"{message(error)} [{_number(error)}]") from error
        except NONSENSE as error:
            self.close()
            raise DatabaseUnavailable(message(error)) from error
        finally:
            self.durations_s.append(time.perf_counter() - began)

    def close(self) -> None:
        connection, self._open = self._open, None
        if connection is not None and connection.open:
            try:
                connection.close()
            except (pymysql.Error, OSError):
                return  # the server was gone first

    def _connected(self) -> Bounded:
        if self._open is None or not self._open.open:
            self._open = self._dial()
            self.generation += 1
            self.durations_s = []
        return self._open

    def _dial(self) -> Bounded:
        """Tried again for a moment where the server has no free connection: one gets in where clients come and go."""
        for _ in range(FULL_TRIES):
            with suppress(NoConnectionLeft):
                return self._dialled()
            time.sleep(FULL_PAUSE_S)
        return self._dialled()

    def _dialled(self) -> Bounded:
        database = self._database
        password = database.password()
        where: dict[str, Any] = {"host": database.host, "port": database.port}
        if database.by_socket:
            where = {"unix_socket": str(socket_of(database.host))}
        elif database.tls_ca is not None:
            by_name = database.tls_verify == "identity"
            where |= {"ssl_ca": str(database.tls_ca), "ssl_verify_cert": True, "ssl_verify_identity": by_name}
        kind = Bounded if database.proved else Guarded
        try:
            return kind(
                user=database.user,
                password=os.environ.get("MYSQL_PWD", "") if password is None else password,
                database=database.dbname or None,
                connect_timeout=CONNECT_TIMEOUT_S,
                read_timeout=self._answer_timeout_s,
                write_timeout=self._answer_timeout_s,
                autocommit=True,
                charset="utf8mb4",
                program_name=APPLICATION,
                init_command=FIRST_STATEMENT,
                **where,
            )
        except pymysql.Error as error:
            number = _number(error)
            if number == FULL:
                raise NoConnectionLeft(message(error)) from error
            answered = number == REFUSED or (0 < number < CLIENTS_OWN and number != SHUTTING_DOWN)
            reason = f"{message(error)} [{number}]" if number == NOT_BY_PASSWORD else message(error)
            raise (LoginRefused if answered else DatabaseUnavailable)(_with_remedy(reason)) from error
        except RuntimeError as error:  # some ways to log in need a package that the agent does not
            raise ConfigError(_with_remedy(str(error))) from error
        except TimeoutError as error:
            raise NoAnswer(f"no greeting in {self._answer_timeout_s} s: {message(error)}") from error
        except NONSENSE as error:
            raise DatabaseUnavailable(message(error)) from error


def message(error: Exception) -> str:
    """The server's message, on one line."""
    text = error.args[1] if len(error.args) > 1 else str(error)
    return " ".join(str(text).split()) or type(error).__name__


def _with_remedy(text: str) -> str:
    return next((f"{text}: {remedy}" for part, remedy in REMEDIES.items() if part in text), text)


def _number(error: pymysql.Error) -> int:
    return error.args[0] if error.args and isinstance(error.args[0], int) else 0


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

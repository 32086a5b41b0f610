"""One connection, opened when it is needed and again after it broke. Only this module of the family connects."""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

import psycopg
from psycopg import pq, sql
from psycopg.abc import Buffer
from psycopg.conninfo import make_conninfo
from psycopg.pq.abc import PGresult
from psycopg.types.string import TextLoader

from lutra_agent.engines.common.deadline import cut, within
from lutra_agent.engines.common.peer import Peer, peer_of
from lutra_agent.engines.postgresql.server.section import PostgresqlDatabase
from lutra_agent.engines.postgresql.server.tls import tls
from lutra_agent.errors import CollectionFailed, DatabaseUnavailable, LoginRefused, ServerStarting

APPLICATION = "lutra-agent"
ENCODING = "UTF8"
"""Requested so that the server converts text: a database in SQL_ASCII returns bytes without an encoding."""
TAG = "/* lutra-agent */"
"""Every statement of the agent contains it where pg_stat_statements keeps it, so that it can be excluded."""

CONNECT_TIMEOUT_S = 5
STATEMENT_TIMEOUT_MS = 5000
ANSWER_S = 30.0
"""Far above the server's own limit for a statement: a server that does not answer by then is stopped or frozen."""
LONGEST_ANSWER = 64 << 20
"""In bytes, enough for many statements with a histogram each."""
CHANGE_S = 120.0
"""For a change's own statements, which must not be sent twice: their file is flushed to disk."""

BRIEFLY = (
    f"SET {TAG} LOCAL statement_timeout = {STATEMENT_TIMEOUT_MS}",
    f"SET {TAG} LOCAL client_encoding = {ENCODING}",
    f"SET {TAG} LOCAL transaction_read_only = on",
)
"""Sent before each statement behind a pooler. The pooler sets the names in a client's connection request in sessions
that others use later, so the agent sends none there.
"""
FOR_GOOD = (
    f"SET {TAG} statement_timeout = {STATEMENT_TIMEOUT_MS}",
    f"SET {TAG} client_encoding = {ENCODING}",
    f"SET {TAG} application_name = '{APPLICATION}'",
    f"SET {TAG} default_transaction_read_only = on",
)
"""Set in a session of the agent's own. Changes execute only ALTER SYSTEM, which writes no data."""
TEXTS = ("text", "varchar", "name", "bpchar", "date", "timestamp", "timestamptz", "interval")
"""Types that are read as the server prints them, because it may print times in any of its styles."""
POOLER = (
    "a pooler answers instead of the server: the agent observes through it, and changes nothing; "
    "set database.host and database.port to the server's own"
)
REMEDIES: Mapping[str, str] = {
    "authentication method requirement": "it is not sent over an unencrypted port: name the "
    "socket's folder as database.host, "
    "or set database.tls_ca",
    "Peer authentication failed": "run the agent under the account named in database.user, or map the two "
    "in pg_ident.conf",
    "no password supplied": "set database.password_file, PGPASSFILE or PGPASSWORD",
    "requires a valid client certificate": "the agent has none: set scram-sha-256 for this account in pg_hba.conf",
    "ertificate authentication failed": "the agent has none: set scram-sha-256 for this account in pg_hba.conf",
    "GSS": "the agent has no Kerberos ticket: set scram-sha-256 for this account in pg_hba.conf",
    "no encryption": "set database.tls_ca, or add a line for this account without it to pg_hba.conf",
    "too many clients already": "all connections of max_connections are in use: end idle sessions, or "
    "share connections with a pooler",
    "remaining connection slots are reserved": "all connections of this account are in use: end idle "
    "sessions, share connections with a pooler, or (16+) GRANT pg_use_reserved_connections and set "
    "reserved_connections",
    "too many connections for": "the limit of this account or database is reached: ALTER ROLE or ALTER DATABASE … "
    "CONNECTION LIMIT",
    "no pg_hba.conf entry": "add a line for this account to pg_hba.conf, and reload the server",
}
"""The remedy for a refused login, by a part of its message."""

# 57014 is left out: statement_timeout and pg_cancel_backend raise it on a healthy server.
GONE = ("08", "57P")

ANSWERS: Mapping[int, type[DatabaseUnavailable]] = {pq.Ping.OK: LoginRefused, pq.Ping.REJECT: ServerStarting}


class AnyText(TextLoader):
    """Text of others is decoded as far as possible, so that no byte of it fails a measurement."""

    def load(self, data: Buffer) -> str:
        return bytes(data).decode(errors="replace")


class Closed(DatabaseUnavailable):
    """The connection was closed: by the server's end, or by a limit to how long a connection may be idle."""


class Connection:
    """Raises DatabaseUnavailable when the server is gone or silent, CollectionFailed when it refuses a statement.

    `generation` grows with each connect: another server may answer then. Behind a pooler each statement may reach
    another session of the server, which other clients use as well. There a statement is a separate transaction, leaves
    no setting behind and prepares nothing.
    """

    def __init__(self, database: PostgresqlDatabase, answer_s: float = ANSWER_S) -> None:
        self.generation = 0
        self._database = database
        self._answer_s = answer_s
        self._open: psycopg.Connection[tuple[Any, ...]] | None = None
        self._prepared: psycopg.Connection[tuple[Any, ...]] | None = None
        self._pooled = False
        self.asked = 0
        """How many statements it was given, each a transaction that the server counts."""

    @property
    def pooled(self) -> bool:
        """Whether a pooler answers in place of the server. Raises DatabaseUnavailable if neither answers."""
        self._connected()
        return self._pooled

    def rows(self, query: str, parameters: Sequence[Any] | None = None) -> list[tuple[Any, ...]]:
        return self._read(query, parameters)[1]

    def change(self, statement: str) -> None:
        """Carry out a change's own statement. Raises CollectionFailed behind a pooler."""
        if self.pooled:
            raise CollectionFailed(POOLER)
        self._execute(statement, None, CHANGE_S)

    def verifier(self, user: str, password: str) -> str:
        """The form in which the server stores a password: made here, so that no statement and no log has it."""
        try:
            return self._connected().pgconn.encrypt_password(password.encode(), user.encode()).decode()
        except psycopg.Error as error:
            raise CollectionFailed(message(error)) from error

    def row(self, query: str, parameters: Sequence[Any] | None = None) -> tuple[Any, ...]:
        """The first row. Raises CollectionFailed if there is none."""
        return self.named_row(query, parameters)[1]

    def named_row(self, query: str, parameters: Sequence[Any] | None = None) -> tuple[list[str], tuple[Any, ...]]:
        """The first row's column names and values."""
        names, found = self._read(query, parameters)
        if not found:
            raise CollectionFailed("the statement gave no row")
        return names, found[0]

    def prepared_row(self, query: str, parameters: Sequence[str]) -> list[bytes | None]:
        """The texts of the first row, at a third of the cost: the only statement of its connection, prepared once.

        Only the server's own `statement_timeout` and `cut` limit the wait: it is for a thread on which nothing waits.
        """
        connection = self._connected()
        if self._pooled:
            raise CollectionFailed(POOLER)
        try:
            return self._row_of_prepared(connection, query, parameters)
        except psycopg.Error as error:
            self.close()
            raise DatabaseUnavailable(message(error)) from error

    def peer(self) -> Peer:
        """The process at the other end of this connection."""
        try:
            with socket.socket(fileno=os.dup(self._connected().fileno())) as own:
                return peer_of(own)
        except (OSError, psycopg.Error):  # it is gone again
            return Peer()

    def cut(self) -> None:
        """From another thread: a thread that waits for an answer gets an error."""
        opened = self._open
        if opened is not None and not opened.closed:
            with suppress(psycopg.Error):
                cut(opened.fileno())

    def close(self) -> None:
        if self._open is not None:
            self._open.close()
            self._open = None

    def _row_of_prepared(
        self, connection: psycopg.Connection[tuple[Any, ...]], query: str, parameters: Sequence[str]
    ) -> list[bytes | None]:
        if self._prepared is not connection:
            _checked(connection.pgconn.prepare(b"", _tagged(query)), connection)
            self._prepared = connection
        result = connection.pgconn.exec_prepared(b"", [p.encode() for p in parameters])
        _checked(result, connection)
        return [result.get_value(0, column) for column in range(result.nfields)]

    def _read(self, query: str, parameters: Sequence[Any] | None) -> tuple[list[str], list[tuple[Any, ...]]]:
        """Asked again over another connection where this one was closed while it was idle."""
        idle = self._open is not None
        try:
            return self._execute(query, parameters, self._answer_s)
        except Closed:
            if not idle:
                raise
            return self._execute(query, parameters, self._answer_s)

    def _execute(
        self, query: str, parameters: Sequence[Any] | None, answer_s: float
    ) -> tuple[list[str], list[tuple[Any, ...]]]:
        connection = self._connected()
        try:
            with within(answer_s, connection.fileno(), LONGEST_ANSWER):
                cursor = self._asked(connection, query, parameters)
                columns = cursor.description
                return ([c.name for c in columns], cursor.fetchall()) if columns else ([], [])
        except TimeoutError as error:
            self.close()
            raise DatabaseUnavailable(str(error)) from error
        except psycopg.Error as error:
            if connection.closed or (error.sqlstate or "").startswith(GONE):
                self.close()
                raise Closed(message(error)) from error
            raise CollectionFailed(f"{message(error)} [{error.sqlstate}]") from error

    def _asked(
        self, connection: psycopg.Connection[tuple[Any, ...]], query: str, parameters: Sequence[Any] | None
    ) -> psycopg.Cursor[tuple[Any, ...]]:
        self.asked += 1
        if not self._pooled:
            return connection.execute(_tagged(query), parameters)
        # One message of several statements is one transaction, also for a pooler that allows no BEGIN.
        cursor = psycopg.ClientCursor(connection)
        cursor.execute("; ".join((*BRIEFLY, "")).encode() + _tagged(query), parameters)
        for _ in BRIEFLY:
            cursor.nextset()
        return cursor

    def _connected(self) -> psycopg.Connection[tuple[Any, ...]]:
        if self._open is None or self._open.closed:
            self._open = self._dial()
            self.generation += 1
        return self._open

    def _dial(self) -> psycopg.Connection[tuple[Any, ...]]:
        d = self._database
        place = {"host": d.host, "port": str(d.port), "user": d.user, "dbname": d.dbname}
        where = make_conninfo(connect_timeout=CONNECT_TIMEOUT_S, **place, **tls(d))
        try:
            # Nothing is prepared by itself: that belongs to a session, and a pooler gives the session to others.
            connection = psycopg.connect(where, password=d.password(), autocommit=True, prepare_threshold=None)
            for kind in TEXTS:
                connection.adapters.register_loader(kind, AnyText)
            with within(self._answer_s, connection.fileno(), LONGEST_ANSWER):
                self._pooled = _serving(connection) != connection.info.backend_pid
                self.asked += 1 if self._pooled else 2
                if not self._pooled:
                    connection.execute("; ".join(FOR_GOOD).encode())
            return connection
        except TimeoutError as error:
            raise DatabaseUnavailable(str(error)) from error
        except psycopg.Error as error:
            # libpq's ping needs no login: it tells a server that lets nobody in from one that is not there.
            raise ANSWERS.get(pq.PGconn.ping(where.encode()), DatabaseUnavailable)(message(error)) from error


def _serving(connection: psycopg.Connection[tuple[Any, ...]]) -> int:
    """The process that carried out this statement; a pooler names one of its own when it is connected to."""
    row = psycopg.ClientCursor(connection).execute(_tagged("SELECT pg_backend_pid()")).fetchone()
    return int(row[0]) if row else 0


def message(error: psycopg.Error) -> str:
    """The server's message, on one line."""
    text = error.diag.message_primary or str(error)
    remedy = next((f" ({way_out})" for part, way_out in REMEDIES.items() if part in text), "")
    return (" ".join(text.split()) or type(error).__name__) + remedy


def _checked(result: PGresult, connection: psycopg.Connection[tuple[Any, ...]]) -> None:
    """Raises what a failed statement stands for."""
    if result.status in (pq.ExecStatus.TUPLES_OK, pq.ExecStatus.COMMAND_OK):
        return
    text = " ".join(result.error_message.decode(errors="replace").split())
    if connection.pgconn.status != pq.ConnStatus.OK:
        connection.close()
        raise DatabaseUnavailable(text or "the connection broke")
    raise CollectionFailed(text)


def quoted(name: str) -> str:
    """An identifier in SQL's quotation."""
    return sql.Identifier(name).as_string(None)


def _tagged(query: str) -> bytes:
    first, _, rest = query.strip().partition(" ")
    return f"{first} {TAG} {rest}".encode()


def grant_monitor(account: str) -> str:
    """The role that lets the account see other accounts' activity, all settings and their sources."""
    return f"GRANT pg_monitor TO {quoted(account)};"

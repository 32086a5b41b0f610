"""Whoever answers on the database's port does not hold the agent, nor fill its memory."""

from __future__ import annotations

import itertools
import os
import socket
import struct
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from lutra_agent.engines.common.sampling import STUCK_S
from lutra_agent.engines.mysql.server.connect import Connection as MysqlConnection
from lutra_agent.engines.mysql.server.section import MysqlDatabase
from lutra_agent.engines.mysql.server.session import name_in, process
from lutra_agent.engines.mysql.sources.mysql import _written_s
from lutra_agent.engines.postgresql.server.connect import Connection as PostgresConnection
from lutra_agent.engines.postgresql.server.place import begun_and_port, control_in
from lutra_agent.engines.postgresql.server.section import PostgresqlDatabase
from lutra_agent.engines.postgresql.settings import persisted
from lutra_agent.engines.postgresql.telemetry.log.reader import Follower, LogReader
from lutra_agent.engines.redis.server.connect import Connection as RedisConnection
from lutra_agent.engines.redis.server.section import RedisDatabase
from lutra_agent.engines.redis.server.session import defragments
from lutra_agent.engines.redis.telemetry.probe import Probe
from lutra_agent.errors import CollectionFailed, DatabaseUnavailable

from tests.support.servers.listeners import GSS_REQUEST, SSL_REQUEST, Conversation, Heard, listening, mysql
from tests.support.waiting import PATIENCE_S, until

pytestmark = pytest.mark.usefixtures("unhurried")

SHORT_S = 0.4
OK = b"\x00\x00\x00\x02\x00\x00\x00"
EOF = b"\xfe\x00\x00\x02\x00"
COLUMN = b"\x03def\0\0\0\x01a\x01a\x0c" + struct.pack("<HIBHBH", 45, 1024, 253, 0, 0, 0)
PIECE = b"a" * (1 << 16)
ENOUGH = 64
"""So many pieces are more than is taken of an answer, and never all of it: who waits for the rest waits for ever."""
logs_in = mysql("mysql_native_password", more=(OK,) * 3)
"""And answers what a client sets first; then it has received a statement."""


def within_reach(call: Callable[[], Any]) -> Any:
    """What it returns or raises. Without a limit of its own it would never end."""
    found: list[Any] = []

    def run() -> None:
        try:
            found.append(call())
        except Exception as error:
            found.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(PATIENCE_S)
    assert found, "it still waits"
    return found[0]


def drip(connection: socket.socket, first: bytes) -> None:
    """Each byte before the time for one is over."""
    connection.sendall(first)
    while True:
        time.sleep(SHORT_S / 8)
        connection.sendall(b"a")


def redis_drips(heard: Heard, connection: socket.socket) -> None:
    heard.receive(connection)
    drip(connection, b"$1000000\r\n")


def mysql_greets_slowly(heard: Heard, connection: socket.socket) -> None:
    drip(connection, b"\x4a\0\0\0\x0a")


def mysql_answers_slowly(heard: Heard, connection: socket.socket) -> None:
    logs_in(heard, connection)
    drip(connection, b"\x4a\0\0\x01")


def redis_of(port: int, answer_s: float | None = SHORT_S, **more: Any) -> RedisConnection:
    return RedisConnection(RedisDatabase("redis", "127.0.0.1", port, **more), answer_s)


def mysql_of(port: int, answer_s: int = int(PATIENCE_S)) -> MysqlConnection:
    return MysqlConnection(MysqlDatabase("mysql", "127.0.0.1", port, user="lutra"), answer_timeout_s=answer_s)


@pytest.mark.parametrize("password", ["", "secret"], ids=["an answer", "the login"])
def test_a_redis_that_answers_byte_by_byte_is_gone(password: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REDISCLI_AUTH", password)
    with listening(redis_drips) as heard:
        connection = redis_of(heard.port, password_in_clear=True)
        found = within_reach(lambda: connection.ask("PING"))
    assert isinstance(found, DatabaseUnavailable)
    assert "no answer within 0.4 s" in str(found)


@pytest.mark.parametrize("talk", [mysql_greets_slowly, mysql_answers_slowly])
def test_a_mysql_that_answers_byte_by_byte_is_gone(talk: Conversation) -> None:
    with listening(talk) as heard:
        found = within_reach(lambda: mysql_of(heard.port, answer_s=1).row("SELECT 1"))
    assert isinstance(found, DatabaseUnavailable)
    assert "no answer within 1 s" in str(found)


def test_the_probes_wait_is_cut_by_whoever_reads_it() -> None:
    clock = itertools.count(step=STUCK_S * 0.6)
    with listening(redis_drips) as heard:
        probe = Probe(redis_of(heard.port, answer_s=None), 1, lambda: next(clock))
        found: list[Exception] = []

        def once() -> None:
            try:
                probe.once()
            except DatabaseUnavailable as error:
                found.append(error)

        thread = threading.Thread(target=once, daemon=True)
        thread.start()
        until(lambda: heard.said)
        assert (probe.timed(), thread.is_alive()) == ({}, True)
        probe.timed()
        thread.join(PATIENCE_S)
    assert found


@pytest.mark.parametrize("first", [b"$9000000000\r\n", b"+", b"*9000000000\r\n$60000\r\n"])
def test_a_redis_whose_answer_does_not_end_is_gone(first: bytes) -> None:
    def talk(heard: Heard, connection: socket.socket) -> None:
        heard.receive(connection)
        connection.sendall(first)
        while True:
            connection.sendall(PIECE[:60000] + b"\r\n$60000\r\n" if first[:1] == b"*" else PIECE)

    with listening(talk) as heard:
        found = within_reach(lambda: redis_of(heard.port, answer_s=None).ask("INFO"))
    assert isinstance(found, DatabaseUnavailable)
    assert "an answer of more than 8388608 bytes" in str(found)


@pytest.mark.parametrize("answer", [b"*1\r\n" * 100_000, b"!\r\n", b"*x\r\n"])
def test_a_redis_that_answers_nonsense_is_gone(answer: bytes) -> None:
    def talk(heard: Heard, connection: socket.socket) -> None:
        heard.receive(connection)
        connection.sendall(answer)

    with listening(talk) as heard:
        assert isinstance(within_reach(lambda: redis_of(heard.port).ask("INFO")), DatabaseUnavailable)


@pytest.mark.parametrize("kind", ["a packet", "rows"])
def test_a_mysql_whose_answer_does_not_end_is_gone(kind: str) -> None:
    def talk(heard: Heard, connection: socket.socket) -> None:
        logs_in(heard, connection)
        number = itertools.count(1)
        for content in (b"\x01", COLUMN, EOF) if kind == "rows" else ():
            connection.sendall(framed(next(number), content))
        while True:
            row = b"\xfd" + struct.pack("<I", len(PIECE))[:3] + PIECE
            connection.sendall(framed(next(number), row) if kind == "rows" else b"\xff\xff\xff\x01" + PIECE)

    with listening(talk) as heard:
        found = within_reach(lambda: mysql_of(heard.port).row("SELECT 1"))
    assert isinstance(found, DatabaseUnavailable)
    assert "an answer of more than 8388608 bytes" in str(found)


@pytest.mark.parametrize("kind", ["a row", "rows"])
def test_a_postgresql_whose_answer_does_not_end_is_gone(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The library keeps what comes: by the kernel's count the connection is cut."""
    monkeypatch.setattr("lutra_agent.engines.postgresql.server.connect.LONGEST_ANSWER", 1 << 20)

    def talk(heard: Heard, connection: socket.socket) -> None:
        while struct.unpack("!II", heard.receive(connection)[:8])[1] in (SSL_REQUEST, GSS_REQUEST):
            connection.sendall(b"N")
        connection.sendall(told(b"R", bytes(4)) + told(b"K", struct.pack("!II", 7, 0)) + told(b"Z", b"I"))
        heard.receive(connection)
        process = told(b"D", struct.pack("!HI", 1, 1) + b"7")
        connection.sendall(ONE_TEXT + process + told(b"C", b"SELECT 1\0") + told(b"Z", b"I"))
        heard.receive(connection)
        connection.sendall(told(b"C", b"SET\0") + told(b"Z", b"I"))
        heard.receive(connection)
        connection.sendall(ONE_TEXT)
        row = told(b"D", struct.pack("!HI", 1, len(PIECE)) + PIECE)
        connection.sendall(b"D" + struct.pack("!IHI", 900 << 20, 1, 899 << 20) if kind == "a row" else row)
        for _ in range(ENOUGH):
            connection.sendall(PIECE if kind == "a row" else row)
        while heard.receive(connection):
            pass

    with listening(talk) as heard:
        where = PostgresqlDatabase("postgresql", "127.0.0.1", heard.port, "lutra", dbname="postgres")
        found = within_reach(lambda: PostgresConnection(where, PATIENCE_S).row("SELECT 1"))
    assert isinstance(found, DatabaseUnavailable)
    assert "an answer of more than 1048576 bytes" in str(found)


def told(kind: bytes, content: bytes) -> bytes:
    return kind + struct.pack("!I", len(content) + 4) + content


ONE_TEXT = told(b"T", struct.pack("!H", 1) + b"a\0" + struct.pack("!IHIHIH", 0, 0, 25, 65535, 0, 0))
"""The description of rows with one column."""


def framed(number: int, content: bytes) -> bytes:
    return struct.pack("<I", len(content))[:3] + bytes([number % 256]) + content


@pytest.mark.parametrize("content", [b"", b"\x01", b"\x05a", b"\xfb/etc/passwd", b"\x00"])
def test_a_mysql_that_answers_nonsense_is_gone_or_says_nothing(content: bytes) -> None:
    def talk(heard: Heard, connection: socket.socket) -> None:
        logs_in(heard, connection)
        connection.sendall(framed(1, content))

    with listening(talk) as heard:
        found = within_reach(lambda: mysql_of(heard.port).row("SELECT 1"))
    assert isinstance(found, DatabaseUnavailable | CollectionFailed)


@pytest.fixture(params=["a pipe", "a device"])
def odd(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A folder in which every file that a server may name holds a reader, or never ends."""
    (tmp_path / "global").mkdir()
    for name in (
        "global/pg_control",
        "auto.cnf",
        "postmaster.pid",
        "mysqld.pid",
        "mysqld-auto.cnf",
        "postgresql.auto.conf",
        "log",
        "redis-server",
    ):
        if request.param == "a pipe":
            os.mkfifo(tmp_path / name)
        else:
            (tmp_path / name).symlink_to("/dev/zero")
    return tmp_path


def test_a_file_that_a_server_names_is_read_only_where_it_is_a_small_one(odd: Path) -> None:
    assert within_reach(lambda: control_in(odd)) is None
    assert within_reach(lambda: begun_and_port(odd / "postmaster.pid")) is None
    assert within_reach(lambda: name_in(odd)) == ""
    assert within_reach(lambda: process(odd / "mysqld.pid"))[0] is None
    assert within_reach(lambda: _written_s(odd / "mysqld-auto.cnf")) == {}
    assert within_reach(lambda: defragments("jemalloc", os.getpid(), str(odd / "redis-server"))) in (True, False)


class Tells:
    def rows(self, query: str, parameters: Any = None) -> list[tuple[str, str]]:
        return [("log_min_duration_statement", "0")] if "ANY" in query else [("jit", "off")]


def test_what_postgresql_names_is_asked_of_the_server_or_said_where_it_is_no_file(odd: Path) -> None:
    connection: Any = Tells()
    assert within_reach(lambda: persisted(connection, odd / "postgresql.auto.conf")) == {"jit": "off"}
    assert "not a regular file" in within_reach(lambda: LogReader(odd / "log").objection(connection, None))
    assert isinstance(within_reach(lambda: LogReader(odd / "log").read(connection, None)), CollectionFailed)


def test_a_log_that_becomes_a_pipe_is_no_log(tmp_path: Path) -> None:
    file, follower = tmp_path / "log", Follower()
    file.touch()
    follower.appended(file)
    file.unlink()
    os.mkfifo(file)
    assert isinstance(within_reach(lambda: follower.appended(file)), OSError)

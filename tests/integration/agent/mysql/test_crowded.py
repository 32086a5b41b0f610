"""A server that has no connection left, and one whose clients' statements fail."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from typing import Any

import pymysql
import pytest
from lutra_agent.errors import CollectionFailed
from lutra_lab.servers.mysqld import ScratchMysqld

from tests.support.reported.samples import sample
from tests.support.servers.subjects import engine_of
from tests.support.waiting import PATIENCE_S

pytestmark = [pytest.mark.engine, pytest.mark.slow]

ACCOUNTS = ("guest@'localhost'", "guest@'127.0.0.1'")
MAY_CHANGE = {"mysql": "SYSTEM_VARIABLES_ADMIN", "mariadb": "SUPER"}
ROOM = 12


@pytest.fixture
def guest(mysqld: ScratchMysqld) -> Iterator[dict[str, Any]]:
    """An account that the server keeps no connection free for."""
    for account in ACCOUNTS:
        mysqld.sql(f"CREATE USER {account}")
    yield {"host": mysqld.host, "port": mysqld.port, "user": "guest"}
    for account in ACCOUNTS:
        mysqld.sql(f"DROP USER {account}")


@contextmanager
def crowded(server: ScratchMysqld, guest: dict[str, Any]) -> Iterator[None]:
    """As many guests as the server takes; three more were turned away."""
    usual = server.sql("SELECT @@GLOBAL.max_connections")
    with pymysql.connect(host=server.host, port=server.port, user=server.user) as keeper, keeper.cursor() as cursor:
        cursor.execute(f"SET GLOBAL max_connections = {ROOM}")
        try:
            with ExitStack() as inside:
                turned_away = 0
                while turned_away < 3:
                    try:
                        inside.enter_context(pymysql.connect(**guest, connect_timeout=int(PATIENCE_S)))
                    except pymysql.OperationalError:
                        turned_away += 1
                yield
        finally:
            cursor.execute(f"SET GLOBAL max_connections = {usual}")


def test_connections_that_are_refused_are_errors(mysqld: ScratchMysqld, guest: dict[str, Any]) -> None:
    engine = engine_of(mysqld)
    sample(engine)
    before = sample(engine)
    with crowded(mysqld, guest):
        after = sample(engine)
    assert engine.telemetry.targets(before, after).metrics["error_share"] > 0
    engine.health.close()


def test_a_change_goes_on_over_the_agents_own_connection_where_no_other_is_free(
    mysqld: ScratchMysqld, guest: dict[str, Any]
) -> None:
    for account in ACCOUNTS:
        mysqld.sql(f"GRANT {MAY_CHANGE[mysqld.engine]} ON *.* TO {account}")
    engine = engine_of(mysqld, user="guest", dbname="")
    engine.health.ping()
    before = mysqld.sql("SELECT @@GLOBAL.sort_buffer_size")
    asked = 524288
    try:
        with crowded(mysqld, guest):
            engine.own.execute(engine.own.undo("sort_buffer_size", str(asked), str(asked), restart=False))
            connection = engine.health._session.connection  # type: ignore[attr-defined]
            assert connection.row("SELECT @@GLOBAL.sort_buffer_size") == (asked,)
            assert connection.generation == 1
    finally:
        engine.own.execute(engine.own.undo("sort_buffer_size", None, before, restart=False))
        engine.health.close()


REFUSED, WRONG = "PREPARE one FROM 'SELECT 1'", "SELECT * FROM sbtest.nothing"
"""What the server has no room for, and what no server could execute."""


def test_statements_that_the_server_cannot_execute_are_errors(mysql: ScratchMysqld) -> None:
    """And only the clients' are, and none that are wrong themselves."""
    engine = engine_of(mysql)
    connection = engine.health._session.connection  # type: ignore[attr-defined]
    sample(engine)
    usual = mysql.sql("SELECT @@GLOBAL.max_prepared_stmt_count")
    mysql.sql("SET GLOBAL max_prepared_stmt_count = 0")
    shares = []
    try:
        with pymysql.connect(host=mysql.host, port=mysql.port, user=mysql.user) as client, client.cursor() as cursor:
            for failing, number in (("SELECT 1", ""), (WRONG, "1146"), (REFUSED, "1461")):
                before = sample(engine)
                for n in range(60):
                    with pytest.raises(pymysql.Error, match=number) if n < 30 and number else nullcontext():
                        cursor.execute(failing if n < 30 else "SELECT 1")
                for _ in range(50):
                    with pytest.raises(CollectionFailed, match="1461"):
                        connection.rows(REFUSED)
                shares.append(engine.telemetry.targets(before, sample(engine)).metrics["error_share"])
    finally:
        mysql.sql(f"SET GLOBAL max_prepared_stmt_count = {usual}")
    engine.health.close()
    assert shares == [0.0, 0.0, 0.5]

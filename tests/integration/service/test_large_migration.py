"""Reports get numbers of 64 bits on PostgreSQL while agents go on reporting."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from lutra_lab.servers.postgresql import ScratchPostgres
from lutra_service.db import migrate
from lutra_service.db.schema import in_use
from lutra_service.db.schema.engine import make_engine
from lutra_service.db.schema.in_use import Widening
from sqlalchemy import Connection, Engine, text
from sqlalchemy.exc import DBAPIError

from tests.support.engines import a_database
from tests.support.waiting import PATIENCE_S

pytestmark = [pytest.mark.engine, pytest.mark.thorough]

BEYOND = 2**31
COLUMNS = "database_id, agent, epoch, sequence, sent_at, received_at, settings_hash, metrics, context, outcomes"
INSERT = f"INSERT INTO reports ({COLUMNS}) SELECT 'db_1', 'a', 'e', n, now(), now(), 'h', '{{}}', '{{}}', '[]'"


@pytest.fixture(scope="module")
def before(store_postgres: ScratchPostgres) -> Iterator[str]:
    """The name of a database of the schema before, with some reports."""
    with a_database(store_postgres) as url:
        _make_before(url)
        yield url.rpartition("/")[2]


def _make_before(url: str) -> None:
    engine = make_engine(url)
    migrate.upgrade(engine, "0004")
    with engine.begin() as connection:
        connection.execute(
            text(
                "INSERT INTO databases (id, name, engine, policy, created_at, peak_connections) "
                "VALUES ('db_1', 'shop', 'postgresql', '{}', now(), 0)"
            )
        )
        report(connection, 1, 1000)
    engine.dispose()


@pytest.fixture
def engine(store_postgres: ScratchPostgres, before: str) -> Iterator[Engine]:
    """A copy of it."""
    name = f"{before}_copy"
    store_postgres.sql(f"CREATE DATABASE {name} TEMPLATE {before} STRATEGY FILE_COPY")
    try:
        engine = make_engine(store_postgres.url(name))
        yield engine
        engine.dispose()
    finally:
        store_postgres.sql(f"DROP DATABASE {name} WITH (FORCE)")


def report(connection: Connection, first: int, last: int) -> None:
    connection.execute(text(f"{INSERT} FROM generate_series({first}, {last}) n"))


def rows(engine: Engine) -> list[tuple[int, int]]:
    with engine.connect() as connection:
        found = connection.execute(text("SELECT id, sequence FROM reports ORDER BY id"))
        return [(row[0], row[1]) for row in found]


def use_up(engine: Engine) -> None:
    with engine.begin() as connection:
        connection.execute(text(f"SELECT setval('reports_id_seq', {BEYOND - 2})"))
        report(connection, 2001, 2001)


def widen(engine: Engine, **hooks: Any) -> None:
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        Widening(connection, "reports", **hooks).run()


def test_numbers_that_were_used_up_go_on_afterwards_and_every_report_keeps_its_own(engine: Engine) -> None:
    use_up(engine)
    with pytest.raises(DBAPIError), engine.begin() as connection:
        report(connection, 2002, 2002)
    before = rows(engine)
    migrate.upgrade(engine)
    assert not migrate.pending(engine)
    assert rows(engine) == before
    with engine.begin() as connection:
        report(connection, 2003, 2003)
    assert rows(engine)[-1] == (BEYOND, 2003)


def test_reports_come_in_while_older_ones_are_copied(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(in_use, "BATCH", 300)
    sequence = iter(range(5001, 6000))
    arrived: list[int] = []

    def report_meanwhile(_: int) -> None:
        with engine.begin() as connection:
            # A statement that would have to wait fails instead.
            connection.execute(text("SET LOCAL lock_timeout = '1ms'"))
            arrived.append(next(sequence))
            report(connection, arrived[-1], arrived[-1])
        assert waiting(engine) == 0

    widen(engine, after_batch=report_meanwhile)
    assert len(arrived) >= 4
    found = rows(engine)
    assert [s for _, s in found] == [*range(1, 1001), *arrived]
    assert len({i for i, _ in found}) == len(found)


def waiting(engine: Engine) -> int:
    with engine.connect() as connection:
        here = "database = (SELECT oid FROM pg_database WHERE datname = current_database())"
        return connection.execute(text(f"SELECT count(*) FROM pg_locks WHERE NOT granted AND {here}")).scalar() or 0


class Killed(Exception):
    pass


@pytest.mark.parametrize("statement", range(1, 12))
def test_a_run_that_was_killed_is_gone_on_with(engine: Engine, monkeypatch: pytest.MonkeyPatch, statement: int) -> None:
    """Killed before its first statement, its second, and so on."""
    monkeypatch.setattr(in_use, "BATCH", 300)
    done = iter(range(1, 1000))
    original = Widening._do

    def dying(self: Widening, text_: str) -> None:
        if next(done) == statement:
            raise Killed
        original(self, text_)

    with monkeypatch.context() as patch:
        patch.setattr(Widening, "_do", dying)
        with suppress(Killed):
            widen(engine)
    with engine.begin() as connection:
        report(connection, 7000, 7000)
    migrate.upgrade(engine)
    assert [s for _, s in rows(engine)] == [*range(1, 1001), 7000]
    assert not migrate.pending(engine)


def test_an_index_whose_making_was_interrupted_is_made_once_more(engine: Engine) -> None:
    with engine.begin() as connection:
        connection.execute(text("ALTER TABLE reports ADD COLUMN id_wide bigint"))
        connection.execute(text("UPDATE reports SET id_wide = 1"))
    with pytest.raises(DBAPIError), engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        in_use.index_concurrently(connection, "pk_reports_wide", "reports (id_wide)", "UNIQUE INDEX")
    with engine.begin() as connection:
        connection.execute(text("UPDATE reports SET id_wide = NULL"))
    migrate.upgrade(engine)
    assert len(rows(engine)) == 1000


def test_a_long_transaction_delays_the_exchange_and_no_report(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who waits for the table to itself gives up, so that those behind it are let through."""
    monkeypatch.setattr(in_use, "LOCK_TIMEOUT_MS", 50)
    reader = engine.connect()
    reader.execute(text("SELECT count(*) FROM reports"))
    held = iter([True, True, True])
    arrived = []

    def refused(seconds: float) -> None:
        with engine.begin() as connection:
            connection.execute(text("SET LOCAL lock_timeout = '1ms'"))
            arrived.append(8000 + len(arrived))
            report(connection, arrived[-1], arrived[-1])
        if not next(held, False):
            reader.rollback()

    widen(engine, pause=refused)
    reader.close()
    assert len(arrived) >= 4
    assert [s for _, s in rows(engine)] == [*range(1, 1001), *arrived]


def together(url: str) -> list[int]:
    program = [sys.executable, "-c", "from lutra_service.cli import main; main(['migrate'])"]
    running = [subprocess.Popen(program, env={"LUTRA_DATABASE_URL": url}) for _ in range(2)]
    return [process.wait(PATIENCE_S) for process in running]


def test_two_migrations_at_once_of_an_empty_postgresql_are_one(empty_postgres_url: str) -> None:
    assert together(empty_postgres_url) == [0, 0]
    engine = make_engine(empty_postgres_url)
    assert not migrate.pending(engine)
    engine.dispose()


def test_two_migrations_at_once_of_an_empty_sqlite_are_one(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/lutra.db"
    assert together(url) == [0, 0]
    engine = make_engine(url)
    assert not migrate.pending(engine)
    engine.dispose()

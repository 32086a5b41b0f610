"""A commit whose answer was lost is not done again; a race that was lost is."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from typing import Any

import pytest
from lutra_service.app.access.tokens import create_token
from lutra_service.db import migrate, store
from lutra_service.db.schema.engine import make_engine
from lutra_service.db.store import CommitUnknown, Store, StoreFull, UnitOfWork
from sqlalchemy import Insert
from sqlalchemy.exc import OperationalError
from sqlalchemy.orm import Session

from tests.support.service.hosted import Service

Fault = Callable[[], Exception]


class PostgresError(Exception):
    """As psycopg tells an error: with the server's own code for it, or none where the connection was lost."""

    def __init__(self, sqlstate: str | None) -> None:
        super().__init__(f"sqlstate {sqlstate}")
        self.sqlstate = sqlstate


def busy() -> Exception:
    error = sqlite3.OperationalError("database is locked")
    error.sqlite_errorcode = sqlite3.SQLITE_BUSY
    return error


def full() -> Exception:
    error = sqlite3.OperationalError("database or disk is full")
    error.sqlite_errorcode = sqlite3.SQLITE_FULL
    return error


class Faulty:
    """Sessions of which the first that adds to `table` ends its commit in `fault`, whether it stored anything or not.

    Others go on as they do: the service's own threads write too.
    """

    def __init__(self, fault: Fault, stored: bool, table: str = "tokens") -> None:
        self.fault: Fault | None = fault
        self.stored = stored
        self.table = table

    def __call__(self, *arguments: Any) -> Session:
        faulty = self

        class Broken(Session):
            adds = False

            def execute(self, statement: Any, *more: Any, **options: Any) -> Any:
                self.adds |= isinstance(statement, Insert) and statement.table.description == faulty.table
                return super().execute(statement, *more, **options)

            def commit(self) -> None:
                fault = None
                if self.adds:
                    fault, faulty.fault = faulty.fault, None
                if fault is None or faulty.stored:
                    super().commit()
                if fault is not None:
                    raise OperationalError("COMMIT", None, fault())

        return Broken(*arguments)


@pytest.fixture
def own(url: str) -> Any:
    engine = make_engine(url)
    migrate.upgrade(engine)
    own = Store(engine)
    yield own
    own.close()


def token(unit: UnitOfWork) -> str:
    return create_token(unit, "ci", ["read"])[0].id


def count(own: Store) -> int:
    return len(own.read(lambda unit: unit.tokens.listed(None, 100, None)))


@pytest.mark.parametrize("sqlstate", [None, "57P01", "08006", "40003"])
@pytest.mark.parametrize("stored", [True, False])
def test_what_may_be_stored_is_not_done_again(
    own: Store, monkeypatch: pytest.MonkeyPatch, sqlstate: str | None, stored: bool
) -> None:
    monkeypatch.setattr(store, "Session", Faulty(lambda: PostgresError(sqlstate), stored))
    with pytest.raises(CommitUnknown, match="try again"):
        own.write(token)
    monkeypatch.undo()
    assert count(own) == stored


@pytest.mark.parametrize("fault", [lambda: PostgresError("40001"), lambda: PostgresError("40P01"), busy])
def test_what_the_database_says_it_did_not_store_is_done_again(
    own: Store, monkeypatch: pytest.MonkeyPatch, fault: Fault
) -> None:
    monkeypatch.setattr(store, "Session", Faulty(fault, stored=False))
    own.write(token)
    monkeypatch.undo()
    assert count(own) == 1


@pytest.mark.parametrize("fault", [lambda: PostgresError("53100"), full])
def test_a_store_without_room_says_so_and_stores_nothing(
    own: Store, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, fault: Fault
) -> None:
    monkeypatch.setattr(store, "Session", Faulty(fault, stored=False))
    with pytest.raises(StoreFull, match=r"no room left, and stored nothing: (sqlstate 53100|database or disk is full)"):
        own.write(token)
    assert "nothing can be stored" in caplog.text
    monkeypatch.undo()
    assert count(own) == 0


def test_a_connection_that_is_lost_before_the_commit_costs_nothing(own: Store) -> None:
    tried = []

    def work(unit: UnitOfWork) -> str:
        tried.append(1)
        made = token(unit)
        if len(tried) == 1:
            raise OperationalError("INSERT", None, PostgresError(None))
        return made

    own.write(work)
    assert (len(tried), count(own)) == (2, 1)


def test_the_client_is_told_that_nobody_knows(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "Session", Faulty(lambda: PostgresError(None), stored=True, table="databases"))
    body, key = {"name": "shop", "engine": "postgresql"}, {"Idempotency-Key": "k"}
    assert service.code("POST", "/v1/databases", body, **key) == (503, "outcome_unknown")
    monkeypatch.undo()
    again = service.take("POST", "/v1/databases", body, **key)
    assert [d["id"] for d in service.take("GET", "/v1/databases")["items"]] == [again["id"]]

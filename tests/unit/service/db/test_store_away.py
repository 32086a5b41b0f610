"""A store that is gone, locked or out of connections is 503 for everybody, and no report's fault."""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from lutra_service.db import store
from lutra_service.db.schema import engine
from sqlalchemy import exc

from tests.support.service.hosted import Agent, Service, running
from tests.unit.service.db.test_lost_commits import PostgresError

pytestmark = pytest.mark.slow

Fault = Callable[[], Exception]


def sqlite(code: int, words: str = "unable to open database file") -> Fault:
    def made() -> Exception:
        error = sqlite3.OperationalError(words)
        error.sqlite_errorcode = code
        return exc.OperationalError("select 1", None, error)

    return made


def postgres(state: str | None) -> Fault:
    return lambda: exc.OperationalError("select 1", None, PostgresError(state))


AWAY: dict[str, Fault] = {
    "a file that is gone": sqlite(sqlite3.SQLITE_CANTOPEN),
    "a disk that fails": sqlite(sqlite3.SQLITE_IOERR),
    "a file that others hold": sqlite(sqlite3.SQLITE_BUSY, "database is locked"),
    "a file that may not be written": sqlite(sqlite3.SQLITE_READONLY),
    "an empty file": sqlite(sqlite3.SQLITE_ERROR, "no such table: tokens"),
    "no server": postgres(None),
    "a connection that is closed": lambda: exc.InterfaceError("select 1", None, PostgresError(None)),
    "a server that stops": postgres("57P01"),
    "a server without a free connection": postgres("53300"),
    "a standby": postgres("25006"),
    "no free connection of our own": lambda: exc.TimeoutError("QueuePool limit of size 10 overflow 30 reached"),
}


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    with running(tmp_path) as made:
        yield made


@contextmanager
def away(monkeypatch: pytest.MonkeyPatch, fault: Fault) -> Iterator[None]:
    class Broken:
        def __init__(self, *_: Any) -> None:
            raise fault()

    with monkeypatch.context() as patched:
        patched.setattr(store, "Session", Broken)
        yield


@pytest.mark.parametrize("what", AWAY)
def test_everybody_gets_503_and_a_time_to_come_again_and_the_log_one_line(
    service: Service, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, what: str
) -> None:
    agent: Agent = service.agent(service.database())
    agent.send()
    report, path = agent.report(), f"/v1/databases/{agent.database}"
    caplog.clear()
    with away(monkeypatch, AWAY[what]), caplog.at_level(logging.WARNING, "lutra_service"):
        for api, method, asked, body in (
            (service, "GET", "/v1/databases", None),
            (service, "POST", "/v1/databases", {"name": "till", "engine": "postgresql"}),
            (agent, "POST", f"{path}/reports", report),
            (agent, "GET", f"{path}/directive", None),
        ):
            answer = api.ask(method, asked, body)
            assert (answer.status_code, answer.json()["code"]) == (503, "store_unavailable"), answer.text
            assert int(answer.headers["Retry-After"]) > 0
            assert answer.json()["detail"].startswith("the service's store cannot be used")
    lines = [r for r in caplog.records if "the store" in r.getMessage()]
    assert [r.levelname for r in lines] == ["ERROR"]
    assert not [r for r in caplog.records if r.exc_info]
    assert agent.send(report)["duplicate"] is False


def test_work_that_began_before_an_outage_and_ends_well_does_not_end_it(
    service: Service, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def others_fail(_: object) -> None:
        with away(monkeypatch, postgres(None)):
            assert service.ask("GET", "/v1/databases").status_code == 503

    with caplog.at_level(logging.WARNING, "lutra_service"):
        service.store.read(others_fail)
        assert [r.levelname for r in caplog.records if "the store" in r.getMessage()] == ["ERROR"]
        assert service.ask("GET", "/v1/databases").is_success
    assert [r.levelname for r in caplog.records if "the store" in r.getMessage()] == ["ERROR", "WARNING"]


def test_an_error_of_the_work_itself_is_no_outage(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    broken: Fault = lambda: exc.OperationalError("select 1", None, PostgresError("22003"))  # noqa: E731
    with away(monkeypatch, broken):
        assert service.ask("GET", "/v1/databases").status_code == 500


def test_who_writes_waits_for_its_turn_and_not_for_ever(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "TURN_S", 0.01)
    turn = service.store._turn
    assert turn is not None
    with turn:
        answer = service.ask("POST", "/v1/databases", {"name": "till", "engine": "postgresql"})
    assert (answer.status_code, answer.json()["code"]) == (503, "store_unavailable")
    assert service.database("till")


def test_a_server_that_does_not_answer_is_not_waited_for_for_minutes() -> None:
    made = engine.make_engine("postgresql://lutra@127.0.0.1/lutra")
    assert made.url.query["connect_timeout"] == engine.CONNECT_S
    named = engine.make_engine("postgresql://lutra@127.0.0.1/lutra?connect_timeout=3")
    assert named.url.query["connect_timeout"] == "3"

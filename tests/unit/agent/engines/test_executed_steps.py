"""What a change's details show is, to the letter, what reaches the server and its file; its undo too."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from lutra_agent.engines.common.place import Place
from lutra_agent.engines.common.source import SettingSource
from lutra_agent.engines.mysql.engine import MARIADB, MYSQL
from lutra_agent.engines.mysql.server.section import MysqlDatabase
from lutra_agent.engines.mysql.server.session import Product
from lutra_agent.engines.mysql.sources import changing
from lutra_agent.engines.mysql.sources.changing import Changing
from lutra_agent.engines.mysql.sources.mariadb import IncludeFile
from lutra_agent.engines.mysql.sources.mysql import Persisted
from lutra_agent.engines.mysql.sources.source import MysqlSource, Store
from lutra_agent.engines.postgresql.source import PostgresSource
from lutra_models.catalog import ChangeSteps, meet
from lutra_models.server import Server

from tests.support.fakes.mysql import FakeConnection
from tests.support.reported.mysql import a_mysqld
from tests.support.reported.postgresql import a_server

AT_ONCE = {"sort_buffer_size": "1M", "innodb_io_capacity_max": 30000, "innodb_io_capacity": 25000}
WITH_RESTART = {**AT_ONCE, "back_log": 100}


@pytest.fixture
def dialled(monkeypatch: pytest.MonkeyPatch) -> FakeConnection:
    """What a change dials for itself: a server that takes every value."""
    connection = FakeConnection()
    monkeypatch.setattr(changing, "Connection", lambda *_: connection)
    monkeypatch.setattr(changing, "same", lambda *_: True)
    connection.answers = {"SELECT @@GLOBAL": [("",)]}
    return connection


def made(server: Server, target: dict[str, Any]) -> tuple[ChangeSteps, ...]:
    live = meet(server)
    return live.steps(live.changes(target))


def executed_by(source: SettingSource, server: Server, shown: tuple[ChangeSteps, ...], undo: bool) -> None:
    restart = any(one.change.applies == "restart" for one in shown)
    for one in reversed(shown) if undo else shown:
        before = server.settings[one.change.name]
        if undo:
            source.execute(source.undo(one.change.name, before.persisted, before.value, restart))
        else:
            source.execute(source.plan(one.change, restart))


@pytest.mark.parametrize("undo", [False, True], ids=["do", "undo"])
@pytest.mark.parametrize("target", [AT_ONCE, WITH_RESTART], ids=["at once", "with a restart"])
@pytest.mark.parametrize(("product", "keeps"), [(MYSQL, "persisted"), (MARIADB, "lines")], ids=["mysql", "mariadb"])
def test_statements_and_lines_of_the_family_are_executed_as_shown(
    dialled: FakeConnection, tmp_path: Path, product: Product, keeps: str, target: dict[str, Any], undo: bool
) -> None:
    file = tmp_path / "zz-lutra.cnf"
    database = MysqlDatabase(product.family, "127.0.0.1", 3306)
    store: Store = Persisted() if keeps == "persisted" else IncludeFile(file)
    everyday = FakeConnection({"SELECT @@GLOBAL.thread_handling": [("pool-of-threads",)]})
    server = a_mysqld(product.family, innodb_io_capacity=10000, innodb_io_capacity_max=20000)
    details = SimpleNamespace(version=server.version, place=Place(os.getpid()))
    session = SimpleNamespace(product=product, connection=everyday, details=lambda: details)
    shown = made(server, target)
    changed = Changing(database, everyday, lambda: 1.0, file)  # type: ignore[arg-type]
    source = MysqlSource(session, store, changed, lambda: 1.0)  # type: ignore[arg-type]
    executed_by(source, server, shown, undo=False)
    if undo:
        dialled.asked.clear()
        executed_by(source, server, shown, undo=True)
    steps = [s for one in (reversed(shown) if undo else shown) for s in (one.undo if undo else one.do)]
    sent = [text for text in dialled.asked if text.startswith(("SET ", "RESET "))]
    assert sent == [s.text for s in steps if not s.file]
    lines = [s.text for s in steps if s.file]
    assert bool(lines) == file.exists() == (keeps == "lines")
    if lines:
        written = [] if undo else [f"{text} # 1.000" for text in lines]
        assert file.read_text().splitlines()[1:] == ["[mariadbd]", *written]


@pytest.mark.parametrize("persisted", [None, "64MB"])
def test_postgresqls_statements_are_executed_as_shown(persisted: str | None) -> None:
    fresh = a_server(work_mem="64MB")
    kept = replace(fresh.settings["work_mem"], persisted=persisted)
    server = replace(fresh, settings={**fresh.settings, "work_mem": kept})
    shown = made(server, {"work_mem": "128MB", "random_page_cost": 1.1, "shared_buffers": "1GB"})
    sent: list[str] = []
    session = SimpleNamespace(connection=SimpleNamespace(change=sent.append))
    source = PostgresSource(session, "postgresql")  # type: ignore[arg-type]
    executed_by(source, server, shown, undo=False)
    assert sent == [s.text for one in shown for s in one.do]
    sent.clear()
    executed_by(source, server, shown, undo=True)
    assert sent == [s.text for one in reversed(shown) for s in one.undo]

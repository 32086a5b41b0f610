"""How large all data of a real server are: what the agent reads of it, and what it never takes too long for."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from lutra_agent.clock import SystemClock
from lutra_agent.engines.common.engine import Engine
from lutra_agent.engines.postgresql.telemetry import telemetry
from lutra_agent.runtime.compose import local_database
from lutra_lab.servers.base import ScratchServer

from tests.support.agent.processes import config
from tests.support.fakes.clock import START
from tests.support.servers.engines import scratch

pytestmark = pytest.mark.engine

MB = 2**20
FILL = {
    "postgresql": ("CREATE TABLE filled AS SELECT repeat('x', 900) AS text FROM generate_series(1, 20000)",),
    "mariadb": ("CREATE TABLE filled (text TEXT)", "INSERT INTO filled SELECT REPEAT('x', 900) FROM {rows}"),
    "mysql": ("CREATE TABLE filled (text TEXT)", "INSERT INTO filled SELECT REPEAT('x', 900) FROM {rows}"),
}
ROWS = "(WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 900) SELECT i FROM n) a, "
TWENTY = "(SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3 UNION ALL SELECT 4 UNION ALL SELECT 5) b, "
FOUR = "(SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3 UNION ALL SELECT 4) c"


@contextmanager
def opened(server: ScratchServer, folder: Path) -> Iterator[Engine]:
    engine = local_database(config(server, "http://127.0.0.1:9", folder), SystemClock()).engine
    try:
        yield engine
    finally:
        engine.health.close()


def told(engine: Engine, at_s: float) -> float:
    return engine.telemetry.sample(START, at_s).readings["data"].gauges["bytes"]


@pytest.mark.parametrize("name", ["postgresql", "mariadb", "mysql"])
def test_the_data_of_all_databases_are_read_whichever_the_agent_is_connected_to(name: str, tmp_path: Path) -> None:
    with scratch(name) as server:
        with opened(server, tmp_path / "before") as engine:
            empty = told(engine, 0.0)
        server.sql("CREATE DATABASE other")
        for statement in FILL[server.engine]:
            server.sql(statement.format(rows=ROWS + TWENTY + FOUR), "other")
        with opened(server, tmp_path / "after") as engine:
            assert 10 * MB < told(engine, 0.0) - empty < 60 * MB


def test_a_look_that_takes_too_long_is_none_and_leaves_no_limit_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with scratch("postgresql") as server, opened(server, tmp_path) as engine:
        known = told(engine, 0.0)
        assert told(engine, 599.0) == known
        monkeypatch.setattr(telemetry, "SIZES", "SELECT 1.0 FROM pg_sleep(20)")
        assert "data" not in engine.telemetry.sample(START, 700.0).readings
        monkeypatch.undo()
        assert "data" not in engine.telemetry.sample(START, 1400.0).readings
        assert told(engine, 700.0 + 86400.0) > known / 2
        session = engine.telemetry._session  # type: ignore[attr-defined]
        assert session.connection.row("SHOW statement_timeout") == ("5s",)


def test_what_the_account_may_not_read_of_one_database_is_not_told_of_all(tmp_path: Path) -> None:
    with scratch("postgresql") as server:
        for statement in (
            "CREATE DATABASE hidden",
            "REVOKE CONNECT ON DATABASE hidden FROM PUBLIC",
            "CREATE ROLE stranger LOGIN",
        ):
            server.sql(statement)
        made = config(server, "http://127.0.0.1:9", tmp_path)
        engine = local_database(replace(made, database=replace(made.database, user="stranger")), SystemClock()).engine
        try:
            assert "data" not in engine.telemetry.sample(START, 0.0).readings
            server.sql("GRANT pg_monitor TO stranger")
            assert told(engine, 90_000.0) > MB
        finally:
            engine.health.close()

"""The family's engine beside recorded answers."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from lutra_agent.engines.common.engine import Engine
from lutra_agent.engines.mysql.engine import MYSQL, assembled
from lutra_agent.engines.mysql.server.section import MysqlDatabase
from lutra_agent.engines.mysql.server.session import Session
from lutra_agent.engines.mysql.sources.mysql import Persisted
from lutra_agent.engines.mysql.telemetry.figures import MysqlFigures
from lutra_agent.errors import CollectionFailed
from lutra_models.guardrails import GUARDS
from lutra_models.server import Host

from tests.support.fakes.mysql import FakeConnection

IDENTITY = {
    "SELECT VERSION()": [("9.7.4",)],
    "SELECT @@GLOBAL.datadir, @@GLOBAL.pid_file": [("/nowhere", "none.pid")],
    "SHOW GLOBAL STATUS LIKE 'Uptime'": [("Uptime", "60")],
    "SELECT THREAD_OS_ID": [(None,)],
    "SELECT @@GLOBAL.server_uuid": [("a-b-c",)],
    "SELECT @@GLOBAL.persisted_globals_load": [(1,)],
    "SELECT @@GLOBAL.read_only": [(0,)],
    "SELECT CURRENT_USER()": [("lutra@localhost",)],
    "SHOW GRANTS": [("GRANT SYSTEM_VARIABLES_ADMIN ON *.* TO `lutra`@`localhost`",)],
}
HIDDEN = CollectionFailed("Access denied; you need (at least one of) the REPLICATION CLIENT privilege(s) [1227]")


def engine_of(connection: FakeConnection) -> Engine:
    database = MysqlDatabase("mysql", "127.0.0.1", 3306)
    return assembled(database, Session(connection, MYSQL), MysqlFigures(), Persisted())  # type: ignore[arg-type]


def answering(**more: Any) -> FakeConnection:
    return FakeConnection({**IDENTITY, **more})


def test_an_account_that_cannot_see_whether_the_server_is_a_replica_may_change_nothing() -> None:
    engine = engine_of(answering(**{"SHOW REPLICA STATUS": HIDDEN}))
    assert engine.server(Host(8 << 30, 4)).role == "primary"  # the reading side goes on
    found = engine.own.permissions(["max_connections"])
    assert found.changeable == frozenset()
    assert found.remedies == ("GRANT REPLICATION CLIENT ON *.* TO 'lutra'@'localhost';",)
    assert "is a replica" in found.explanation
    assert "1227" in found.explanation


@pytest.mark.parametrize(
    ("channels", "role"), [([], "primary"), ({"Seconds_Behind_Source": 3, "Replica_IO_Running": "Yes"}, "standby")]
)
def test_where_the_channels_are_seen_they_tell_the_role(channels: Any, role: str) -> None:
    engine = engine_of(answering(**{"SHOW REPLICA STATUS": channels}))
    assert engine.server(Host(8 << 30, 4)).role == role
    assert engine.own.permissions(["max_connections"]).changeable == {"max_connections"}


def channel(lag_s: int | None, running: str) -> dict[str, Any]:
    return {"Seconds_Behind_Source": lag_s, "Replica_IO_Running": "Yes", "Replica_SQL_Running": running}


def test_a_replica_that_stands_still_lags_by_the_time_that_it_was_seen_so_until_it_runs_again() -> None:
    status = {"SHOW GLOBAL STATUS": [("Questions", "1")], "SHOW SESSION STATUS": [("Questions", "1")]}
    connection = answering(**status, **{"SELECT @@GLOBAL.performance_schema": [(0,)]})
    telemetry = engine_of(connection).telemetry
    guard = next(g for g in GUARDS if g.name == "replication_lag")

    def lag(monotonic_s: float, lag_s: int | None, running: str) -> float | None:
        connection.answers["SHOW REPLICA STATUS"] = channel(lag_s, running)
        found = telemetry.sample(datetime.now(UTC), monotonic_s).readings["replication"]
        reading = guard.reading({f"replication.{n}": v for n, v in found.gauges.items()})
        return reading and reading[1]

    assert lag(1000.0, 2, "Yes") == 2.0
    assert lag(1010.0, None, "No") == 0.0
    assert lag(1090.0, None, "No") == 80.0
    assert lag(1100.0, 7, "Yes") == 7.0
    assert lag(1110.0, None, "No") == 0.0


@pytest.mark.parametrize("limit", ["Max_statement_time_exceeded", "Max_execution_time_exceeded"])
def test_what_the_agents_own_time_limit_ends_is_no_statement_of_a_client(limit: str) -> None:
    status = {
        "SHOW GLOBAL STATUS": [("Questions", "900"), (limit, "12")],
        "SHOW SESSION STATUS": [("Questions", "40"), (limit, "4")],
    }
    connection = answering(**status, **{"SELECT @@GLOBAL.performance_schema": [(0,)]})
    statements = engine_of(connection).telemetry.sample(datetime.now(UTC), 0.0).readings["statements"]
    counted = {n: v for n, v in statements.counters.items() if n.startswith("over_")}
    assert list(counted.values()) == [8.0]

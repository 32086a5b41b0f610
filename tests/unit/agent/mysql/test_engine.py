"""The family's engine beside recorded answers."""

from __future__ import annotations

from typing import Any

import pytest
from lutra_agent.config import DatabaseConfig
from lutra_agent.engines.mysql.engine import MysqlFamily
from lutra_agent.engines.mysql.mysql import MySQL
from lutra_agent.errors import CollectionFailed
from lutra_models.catalog.facts import Host

from tests.support.fake_mysql import FakeConnection

IDENTITY = {
    "SELECT VERSION(), @@GLOBAL.datadir": [("9.7.4", "/nowhere", "none.pid")],
    "SELECT @@GLOBAL.server_uuid": [("a-b-c",)],
    "SELECT @@GLOBAL.persisted_globals_load": [(1,)],
    "SELECT @@GLOBAL.read_only": [(0,)],
    "SELECT CURRENT_USER()": [("lutra@localhost",)],
    "SHOW GRANTS": [("GRANT SYSTEM_VARIABLES_ADMIN ON *.* TO `lutra`@`localhost`",)],
}
HIDDEN = CollectionFailed("Access denied; you need (at least one of) the REPLICATION CLIENT privilege(s) [1227]")


def engine_of(**more: Any) -> MysqlFamily:
    engine = MysqlFamily(DatabaseConfig("mysql", "127.0.0.1", 3306, "lutra", ""), MySQL())
    engine._connection = FakeConnection({**IDENTITY, **more})  # type: ignore[assignment]
    return engine


def test_an_account_that_cannot_see_whether_the_server_is_a_replica_may_change_nothing() -> None:
    engine = engine_of(**{"SHOW REPLICA STATUS": HIDDEN})
    assert engine.server(Host(8 << 30, 4)).role == "primary"  # the reading side goes on
    found = engine.permissions(["max_connections"])
    assert found.changeable == frozenset()
    assert found.remedies == ("GRANT REPLICATION CLIENT ON *.* TO 'lutra'@'localhost';",)
    assert "follows another one" in found.explanation
    assert "1227" in found.explanation


@pytest.mark.parametrize(
    ("channels", "role"), [([], "primary"), ({"Seconds_Behind_Source": 3, "Replica_IO_Running": "Yes"}, "standby")]
)
def test_where_the_channels_are_seen_they_tell_the_role(channels: Any, role: str) -> None:
    engine = engine_of(**{"SHOW REPLICA STATUS": channels})
    assert engine.server(Host(8 << 30, 4)).role == role
    assert engine.permissions(["max_connections"]).changeable == {"max_connections"}

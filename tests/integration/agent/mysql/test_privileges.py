"""What the account needs: each dynamic setting takes a value with what is printed for it, and with nothing more."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

import pytest
from lutra_agent.engines.common.engine import Engine
from lutra_agent.errors import ApplyRefused
from lutra_lab.servers.mysqld import ScratchMysqld
from lutra_models.catalog import load
from lutra_models.server import Host

from tests.support.servers.engines import MYSQLDS, scratch
from tests.support.servers.subjects import engine_of

pytestmark = [pytest.mark.engine, pytest.mark.slow]

WITH: dict[str, dict[str, str]] = {
    "mariadb": {"thread_handling": "pool-of-threads", "loose_log_bin": "binlog"},
    "mysql": {},
}
ACCOUNTS = ("tuner@'localhost'", "tuner@'127.0.0.1'")


@pytest.fixture(scope="module", params=MYSQLDS)
def server(request: pytest.FixtureRequest) -> Iterator[ScratchMysqld]:
    """With all that may be set switched on: the thread pool, the binary log."""
    with scratch(request.param, **WITH[request.param]) as made:
        for account in ACCOUNTS:
            made.sql(f"CREATE USER {account}")
        yield made


def dynamic(server: ScratchMysqld) -> dict[str, str]:
    engine = engine_of(server)
    try:
        settings = engine.server(Host(8 << 30, 4)).settings
    finally:
        engine.health.close()
    moves = {r.name for r in load(server.engine).rows if r.applies != "fixed"}
    return {n: s.value for n, s in settings.items() if s.applies == "reload" and n in moves}


def granted(server: ScratchMysqld, statements: tuple[str, ...]) -> Engine:
    """An engine whose account has these rights and no others."""
    for account in ACCOUNTS:
        server.sql(f"REVOKE ALL PRIVILEGES, GRANT OPTION FROM {account}")
    for statement in statements:
        for account in ACCOUNTS:
            server.sql(statement.rstrip(";").rpartition(" TO ")[0] + f" TO {account}")
    return engine_of(server, user="tuner", dbname="")


def test_each_dynamic_setting_takes_a_value_with_exactly_the_grants_that_are_printed_for_it(
    server: ScratchMysqld,
) -> None:
    values, needs = dynamic(server), defaultdict[tuple[str, ...], list[str]](list)
    engine = granted(server, ())
    assert engine.own.permissions(values).changeable == frozenset()
    for name in values:
        needs[engine.own.permissions([name]).remedies].append(name)
    engine.health.close()
    refused = []
    for remedies, names in needs.items():
        engine = granted(server, remedies)
        assert engine.own.permissions(names).changeable == frozenset(names)
        for name in names:
            try:
                engine.own.execute(engine.own.undo(name, values[name], values[name], restart=False))
            except ApplyRefused as error:
                refused.append(f"{remedies}: {error}")
        engine.health.close()
    assert len(needs) == {"mysql": 1, "mariadb": 3}[server.engine]
    assert refused == []

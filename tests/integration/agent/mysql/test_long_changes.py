"""What a server may take its time for, and what it may not."""

from __future__ import annotations

import pytest
from lutra_agent.engines.mysql.server.connect import Bounded, Connection
from lutra_agent.engines.mysql.sources import changing
from lutra_agent.errors import ApplyRefused, DatabaseUnavailable
from lutra_lab.servers.mysqld import ScratchMysqld
from lutra_models.catalog.statements import Statement

from tests.support.servers.subjects import engine_of

pytestmark = [pytest.mark.engine, pytest.mark.slow]


SHORT_S = 0.2


class Hurried(Connection):
    """It has all the time it wants to dial, and then a fifth of a second for an answer."""

    def _dial(self) -> Bounded:
        opened = super()._dial()
        opened._read_timeout = SHORT_S
        return opened


def test_a_change_may_take_longer_than_any_other_statement(mysqld: ScratchMysqld) -> None:
    engine = engine_of(mysqld)
    connection = engine.health._session.connection  # type: ignore[attr-defined]
    connection.row("SELECT 1")
    connection._open._read_timeout = SHORT_S
    with pytest.raises(DatabaseUnavailable):
        connection.rows("DO SLEEP(1)")
    engine.own.execute([Statement("sort_buffer_size", "DO SLEEP(1)")])
    engine.health.close()


def test_a_server_that_does_not_end_a_change_in_time_is_not_taken_for_lost(
    mysqld: ScratchMysqld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(changing, "Connection", Hurried)
    engine = engine_of(mysqld)
    with pytest.raises(ApplyRefused, match="sort_buffer_size: the server runs, but gave no answer"):
        engine.own.execute([Statement("sort_buffer_size", "DO SLEEP(1)")])
    engine.health.close()


def test_a_pool_has_its_new_size_when_the_wait_for_it_is_over(mysqld: ScratchMysqld) -> None:
    engine, before = engine_of(mysqld), int(mysqld.sql("SELECT @@GLOBAL.innodb_buffer_pool_size"))
    told = [pages(mysqld)]
    for size in (before * 2, before):
        engine.own.execute(engine.own.undo("innodb_buffer_pool_size", None, str(size), restart=False))
        engine.own.activation.reload()
        told.append(pages(mysqld))
    engine.health.close()
    assert told == [told[0], 2 * told[0], told[0]]


def pages(server: ScratchMysqld) -> int:
    return int(server.sql("SHOW GLOBAL STATUS LIKE 'Innodb_buffer_pool_pages_total'").partition("|")[2])

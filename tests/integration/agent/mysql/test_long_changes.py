"""What a server may take its time for, and what it may not."""

from __future__ import annotations

import pytest
from lutra_agent.engines.mysql.sources import changing
from lutra_agent.errors import ApplyRefused, DatabaseUnavailable
from lutra_lab.servers.mysqld import ScratchMysqld
from lutra_models.catalog.statements import Statement

from tests.support.subjects import engine_of

pytestmark = [pytest.mark.engine, pytest.mark.slow]


def test_a_change_may_take_longer_than_any_other_statement(mysqld: ScratchMysqld) -> None:
    engine = engine_of(mysqld)
    connection = engine.health._session.connection  # type: ignore[attr-defined]
    connection._answer_timeout_s = 1
    with pytest.raises(DatabaseUnavailable):
        connection.rows("DO SLEEP(3)")
    engine.own.execute([Statement("sort_buffer_size", "DO SLEEP(3)")])
    engine.health.close()


def test_a_server_that_does_not_end_a_change_in_time_is_not_taken_for_lost(
    mysqld: ScratchMysqld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(changing, "CHANGE_TIMEOUT_S", 1)
    engine = engine_of(mysqld)
    with pytest.raises(ApplyRefused, match="sort_buffer_size: the server runs, but gave no answer"):
        engine.own.execute([Statement("sort_buffer_size", "DO SLEEP(3)")])
    engine.health.close()


def test_a_pool_has_its_new_size_when_the_wait_for_it_is_over(mysqld: ScratchMysqld) -> None:
    engine = engine_of(mysqld)
    before = int(mysqld.sql("SELECT @@GLOBAL.innodb_buffer_pool_size"))
    for size in (before * 2, before):
        engine.own.execute(engine.own.undo("innodb_buffer_pool_size", None, str(size), restart=False))
        engine.own.reload()
        pages = int(mysqld.sql("SHOW GLOBAL STATUS LIKE 'Innodb_buffer_pool_pages_total'").partition("|")[2])
        assert pages * int(mysqld.sql("SELECT @@innodb_page_size")) == pytest.approx(size, rel=0.05)
    engine.health.close()

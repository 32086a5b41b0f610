"""What sessions wait for, what the planner may not do and who watches, on real servers, as one look shows them."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from lutra_lab.servers.mysqld import ScratchMysqld

from tests.support.engines import MYSQLDS, scratch
from tests.support.symptomatic import Patient
from tests.support.waiting import until

pytestmark = pytest.mark.engine


@pytest.fixture(params=MYSQLDS)
def server(request: pytest.FixtureRequest) -> Iterator[ScratchMysqld]:
    with scratch(request.param) as made:
        assert isinstance(made, ScratchMysqld)
        made.sql("CREATE TABLE t (id INT PRIMARY KEY, v INT)")
        made.sql("INSERT INTO t VALUES (1, 1)")
        yield made


def test_a_row_that_an_idle_client_holds_is_named_with_who_waits(server: ScratchMysqld, tmp_path: Path) -> None:
    patient = Patient(server, tmp_path)
    with ExitStack() as ends:
        holder, writer = (ends.enter_context(server.session()) for _ in range(2))
        holder("BEGIN")
        holder("UPDATE t SET v = 2")
        thread = threading.Thread(target=lambda: writer("UPDATE t SET v = 3"))
        thread.start()
        waited = "SELECT 1 FROM information_schema.INNODB_TRX WHERE TRX_WAIT_STARTED <= NOW() - INTERVAL 5 SECOND"
        until(lambda: bool(server.sql(waited)))
        found = patient.seen(lambda: None)
        holder("COMMIT")
        thread.join()
    assert "rows_locked_by_the_idle" in found


def test_limits_for_all_sessions_cut_nothing_of_what_the_agent_reads(server: ScratchMysqld, tmp_path: Path) -> None:
    limit = "max_statement_time = 0.001" if server.engine == "mariadb" else "max_execution_time = 1"
    for setting in ("sql_select_limit = 1", "max_join_size = 1", limit, "completion_type = 'RELEASE'"):
        server.sql(f"SET GLOBAL {setting}")
    server.sql("SET GLOBAL optimizer_switch = 'semijoin=off'")
    found = Patient(server, tmp_path).seen(lambda: time.sleep(0.1))
    assert {"results_cut", "large_joins_refused", "statements_cut_short", "commits_do_more"} <= found.keys()
    assert "semijoin" in found["planner_switches_off"].sentence

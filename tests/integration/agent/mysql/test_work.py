"""What sessions wait for, what the planner may not do and who watches, on real servers, as one look shows them."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from lutra_agent.clock import SystemClock
from lutra_agent.commands.symptoms import look
from lutra_agent.engines.mysql.telemetry.collectors import base
from lutra_lab.servers.errors import LabError
from lutra_lab.servers.mysqld import ScratchMysqld

from tests.support.agent.processes import config
from tests.support.servers.engines import MYSQLDS, scratch
from tests.support.servers.symptomatic import Patient
from tests.support.waiting import PATIENCE_S, until

pytestmark = pytest.mark.engine


@pytest.fixture(autouse=True)
def at_leisure(monkeypatch: pytest.MonkeyPatch) -> None:
    """The server may take its time for what it looks through all its tables for, however busy the machine is."""
    monkeypatch.setattr(base, "LONGEST_S", PATIENCE_S)


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


def test_tables_that_run_out_of_numbers_or_lack_a_key_or_transactions_are_named(
    server: ScratchMysqld, tmp_path: Path
) -> None:
    for statement in (
        "CREATE TABLE tickets (id INT AUTO_INCREMENT PRIMARY KEY) AUTO_INCREMENT = 2147000000",
        "INSERT INTO tickets VALUES (NULL)",
        "CREATE TABLE roomy (tenant INT, id BIGINT AUTO_INCREMENT, PRIMARY KEY (tenant, id), KEY (id)) "
        "AUTO_INCREMENT = 2147483000",
        "INSERT INTO roomy (tenant) VALUES (1)",
        "CREATE TABLE legacy (id INT PRIMARY KEY) ENGINE = MyISAM",
        "CREATE TABLE logbook (line INT)",
    ):
        server.sql(statement)
    found = Patient(server, tmp_path).seen(lambda: None)
    assert "tables with three quarters used: 1 (sbtest.ticket" in found["auto_increment_near_end"].sentence
    assert "1 (1 of MyISAM, 0 of Aria; such as sbtest.legacy)" in found["tables_without_transactions"].sentence
    assert "Tables without a primary key: 1." in found["tables_without_key"].sentence
    server.sql("DROP TABLE tickets")
    server.sql("ALTER TABLE legacy ENGINE = InnoDB")
    server.sql("ALTER TABLE logbook ADD COLUMN id INT AUTO_INCREMENT PRIMARY KEY")
    gone = Patient(server, tmp_path).seen(lambda: None)
    assert not {"auto_increment_near_end", "tables_without_transactions", "tables_without_key"} & gone.keys()


def test_a_server_without_a_connection_for_the_agent_is_named_by_that_alone(
    server: ScratchMysqld, tmp_path: Path
) -> None:
    made = config(server, "http://127.0.0.1:9", tmp_path)
    server.sql("SET GLOBAL max_connections = 12")
    with ExitStack() as ends:
        while True:
            try:
                ends.enter_context(server.session())
            except LabError:
                break
        first, *_ = look(made, 0.5, SystemClock()).symptoms
    assert (first.kind, first.name) == ("outage", "no_connection_left")

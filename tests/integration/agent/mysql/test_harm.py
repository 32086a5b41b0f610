"""Outages and dangers on real servers, as one look shows them."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from lutra_lab.servers.mysqld import ScratchMysqld

from tests.support.servers.engines import MYSQLDS, scratch
from tests.support.servers.symptomatic import Patient
from tests.support.waiting import until

pytestmark = pytest.mark.engine


@pytest.fixture(params=MYSQLDS)
def server(request: pytest.FixtureRequest) -> Iterator[ScratchMysqld]:
    with scratch(request.param) as made:
        assert isinstance(made, ScratchMysqld)
        made.sql("CREATE TABLE t (id INT PRIMARY KEY, v INT)")
        made.sql("INSERT INTO t VALUES (1, 1)")
        yield made


def waits(server: ScratchMysqld, state: str, seconds: int) -> bool:
    return bool(
        server.sql(f"SELECT ID FROM information_schema.PROCESSLIST WHERE STATE LIKE '{state}%' AND TIME >= {seconds}")
    )


def test_a_lock_that_everybody_waits_for_is_named_and_nobody_waits_for_the_agent(
    server: ScratchMysqld, tmp_path: Path
) -> None:
    patient = Patient(server, tmp_path)
    with ExitStack() as ends:
        holder, change, writer = (ends.enter_context(server.session()) for _ in range(3))
        holder("BEGIN")
        holder("SELECT * FROM t")
        threads = [
            threading.Thread(target=lambda: change("ALTER TABLE t ADD COLUMN w INT, FORCE")),
            threading.Thread(target=lambda: writer("UPDATE t SET v = 2")),
        ]
        for thread in threads:
            thread.start()
            until(lambda: waits(server, "Waiting for table metadata lock", 0))
        until(lambda: waits(server, "Waiting for table metadata lock", 6))
        began = time.monotonic()
        found = patient.seen(lambda: None)
        assert "tables_locked" in found
        assert time.monotonic() - began < 20  # and not the lock's year
        holder("COMMIT")
        for thread in threads:
            thread.join()
        holder("FLUSH TABLES WITH READ LOCK")
        thread = threading.Thread(target=lambda: writer("UPDATE t SET v = 3"))
        thread.start()
        until(lambda: waits(server, "Waiting for", 6))
        found = patient.seen(lambda: None)
        assert "server_locked" in found
        server.sql(found["server_locked"].statements[0].rstrip(";"))
        holder("UNLOCK TABLES")
        thread.join()
    assert not {"tables_locked", "server_locked"} & set(patient.seen(lambda: None))


def test_what_is_dangerous_is_named_and_its_statements_make_it_go_away(server: ScratchMysqld, tmp_path: Path) -> None:
    patient = Patient(server, tmp_path)
    server.sql("SET GLOBAL foreign_key_checks = OFF")
    server.sql("SET GLOBAL innodb_flush_log_at_trx_commit = 0")
    server.sql("SET GLOBAL sql_mode = ''")
    server.sql("SET GLOBAL read_only = ON")
    server.sql("CREATE USER ''@'localhost'")
    wrong = {
        "constraints_not_checked",
        "commits_not_on_disk",
        "values_cut_silently",
        "writes_refused",
        "accounts_without_password",
    }
    found = patient.seen(lambda: None)
    assert wrong <= set(found)
    assert next(iter(found)) == "writes_refused"
    for name in wrong:
        for statement in found[name].statements:
            if "<" not in statement:
                server.sql(statement.rstrip(";"))
    assert not wrong & set(patient.seen(lambda: None))


def test_a_fresh_server_gives_nothing_above_a_note(server: ScratchMysqld, tmp_path: Path) -> None:
    found = Patient(server, tmp_path).seen(lambda: None)
    assert {s.kind for s in found.values()} <= {"note", "enough"}, found

"""sysbench over MySQL and MariaDB, and the server's own figures beside what its clients saw."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from lutra_agent.drivers import Measurement, build
from lutra_agent.drivers.sysbench import Sysbench
from lutra_agent.engines.common.telemetry import Sample, Targets
from lutra_agent.errors import DriverFailed
from lutra_lab.servers.mysqld import ScratchMysqld

from tests.support.databases import Where
from tests.support.engines import program
from tests.support.subjects import engine_of

pytestmark = [pytest.mark.engine, pytest.mark.slow]
RATE = 100
"""Transactions a second."""


def sysbench(where: Where, script: str, **more: object) -> Sysbench:
    config = {"kind": "sysbench", "bin": program("sysbench"), "script": script, "threads": 2, "table_size": 1000}
    driver = build({**config, "warmup_s": 1, "duration_s": 2, "rate": RATE, **more}, where)
    assert isinstance(driver, Sysbench)
    return driver


@pytest.fixture(scope="module", params=["mariadb", "mysql"])
def filled(request: pytest.FixtureRequest) -> Iterator[ScratchMysqld]:
    server = request.getfixturevalue(request.param)
    sysbench(Where.of(server), "oltp_read_write").prepare()
    yield server
    sysbench(Where.of(server), "oltp_read_write").cleanup()


def both_seen(server: ScratchMysqld, script: str, **more: object) -> tuple[Measurement, Targets]:
    """What the clients saw of a load, and the server: of the first one that kept its rate, or the last of five.

    A load that a busy machine interrupts falls unevenly into two windows that differ by milliseconds.
    """
    engine, samples = engine_of(server), list[Sample]()

    def note() -> None:
        samples.append(engine.telemetry.sample(datetime.now(UTC), time.monotonic()))

    note()
    for _ in range(5):
        samples.clear()
        measured = sysbench(Where.of(server), script, **more).run(note, note)
        if measured.metrics["tps"] > 0.95 * RATE:
            break
    targets = engine.telemetry.targets(*samples)
    engine.health.close()
    return measured, targets


@pytest.mark.parametrize(
    ("script", "of", "statements"),
    [
        ("oltp_point_select", "statement", 1),
        ("oltp_update_index", "statement", 1),
        ("oltp_read_write", "transaction", 20),
    ],
)
def test_the_servers_own_count_agrees_with_what_the_clients_sent(
    filled: ScratchMysqld, script: str, of: str, statements: int
) -> None:
    measured, targets = both_seen(filled, script)
    assert measured.p99_of == of
    assert measured.metrics["qps"] == pytest.approx(statements * measured.metrics["tps"], rel=0.1)
    # sysbench's own window and the samples around it begin and end some milliseconds apart.
    assert targets.metrics["qps"] == pytest.approx(measured.metrics["qps"], rel=0.15)
    assert targets.latency is not None
    assert (targets.latency.source, targets.latency.of) == ("histogram", "statement")
    assert 0 < targets.latency.p99_ms < 1000


def test_transactions_are_counted_where_clients_commit(filled: ScratchMysqld) -> None:
    measured, targets = both_seen(filled, "oltp_read_write", distribution="pareto")
    assert targets.metrics["tps"] == pytest.approx(measured.metrics["tps"], rel=0.15)


def test_a_password_is_neither_in_the_arguments_nor_left_behind(filled: ScratchMysqld, tmp_path: Path) -> None:
    filled.sql("CREATE USER IF NOT EXISTS loader IDENTIFIED BY 'hu:sh 1'")
    filled.sql("GRANT ALL ON sbtest.* TO loader")
    seen = tmp_path / "seen"
    wrapper = tmp_path / "sysbench"
    wrapper.write_text(
        f'#!/bin/sh\necho "$@" >> {seen}\nfor a; do case "$a" in --config-file=*) '
        f'stat -c "%a %n" "${{a#*=}}" >> {seen}.mode;; esac; done\nexec {program("sysbench")} "$@"\n'
    )
    wrapper.chmod(0o755)
    where = Where(str(filled.socket), filled.port, "loader", filled.dbname, "hu:sh 1", filled.engine)
    sysbench(where, "oltp_point_select", bin=str(wrapper)).run()
    assert "hu:sh" not in seen.read_text()
    mode, file = Path(f"{seen}.mode").read_text().split()
    assert mode == "600"
    assert not Path(file).exists()
    with pytest.raises(DriverFailed, match="Access denied"):
        sysbench(replace(where, secret="no"), "oltp_insert").run()

"""sysbench over MySQL and MariaDB, and the server's own count of what its clients sent."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from lutra_agent.drivers import build
from lutra_agent.errors import DriverFailed
from lutra_lab.drivers.sysbench import Sysbench
from lutra_lab.servers.mysqld import ScratchMysqld

from tests.support.reported.samples import sample
from tests.support.servers.databases import Where
from tests.support.servers.engines import program
from tests.support.servers.subjects import engine_of

pytestmark = [pytest.mark.engine, pytest.mark.slow]
SLEEP_MS = 10


def sysbench(where: Where, script: str, **more: object) -> Sysbench:
    config = {"kind": "sysbench", "bin": program("sysbench"), "script": script, "threads": 2, "table_size": 1000}
    driver = build({**config, "warmup_s": 0, "duration_s": 1, "rate": 50, **more}, where)
    assert isinstance(driver, Sysbench)
    return driver


@pytest.fixture(scope="module", params=["mariadb", "mysql"])
def filled(request: pytest.FixtureRequest) -> Iterator[ScratchMysqld]:
    server = request.getfixturevalue(request.param)
    sysbench(Where.of(server), "oltp_read_write").prepare()
    yield server
    sysbench(Where.of(server), "oltp_read_write").cleanup()


def test_the_servers_own_count_of_statements_is_what_clients_sent_and_the_agents_are_left_out(
    filled: ScratchMysqld,
) -> None:
    engine = engine_of(filled)
    with filled.session() as run:
        sample(engine)
        before = sample(engine)
        for number in range(1, 201):
            run(f"SELECT c FROM sbtest1 WHERE id = {number}")
        found = engine.telemetry.targets(before, sample(engine))
    engine.health.close()
    assert found.metrics["qps"] == 200
    assert found.latency is not None
    assert (found.latency.source, found.latency.of) == ("histogram", "statement")


def test_transactions_are_counted_where_clients_commit(filled: ScratchMysqld) -> None:
    engine = engine_of(filled)
    with filled.session() as run:
        before = sample(engine)
        for number in range(1, 31):
            for statement in ("BEGIN", f"UPDATE sbtest1 SET k = k + 1 WHERE id = {number}", "COMMIT"):
                run(statement)
        metrics = engine.telemetry.targets(before, sample(engine)).metrics
    engine.health.close()
    assert metrics["qps"] == 90
    # MySQL counts its own as well, such as those that keep a table's statistics up to date.
    assert metrics["tps"] == 30 if filled.engine == "mariadb" else 30 <= metrics["tps"] < 90


def test_the_p99_lies_in_the_histograms_range_of_what_statements_took(filled: ScratchMysqld) -> None:
    engine = engine_of(filled)
    with filled.session() as run:
        before = sample(engine)
        for _ in range(40):
            run(f"DO SLEEP({SLEEP_MS / 1000})")
        after = sample(engine)
    found = engine.telemetry.targets(before, after)
    engine.health.close()
    assert found.latency is not None
    assert found.latency.p99_ms >= max(low for low, _ in after.statements.histogram.bounds if low <= SLEEP_MS)


@pytest.mark.parametrize(
    ("script", "of", "more"),
    [
        ("oltp_point_select", "statement", {}),
        ("oltp_update_index", "statement", {}),
        ("oltp_read_write", "transaction", {"distribution": "pareto", "threads": 1}),  # two may meet in a deadlock
    ],
)
def test_its_clients_tell_their_own_figures_of_the_scripts_kind_of_event(
    filled: ScratchMysqld, script: str, of: str, more: dict[str, object]
) -> None:
    measured = sysbench(Where.of(filled), script, **more).run()
    assert (measured.p99_of, measured.statement) == (of, script)
    assert all(measured.metrics[name] > 0 for name in ("tps", "qps", "p99_ms", "mean_ms"))
    assert measured.metrics["failed_tps"] == 0


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

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from lutra_agent.drivers import Driver, DriverFailed, build
from lutra_agent.drivers.sysbench import Sysbench
from lutra_lab.servers.postgresql import ScratchPostgres
from lutra_models.ending import Level

from tests.support.databases import Where
from tests.support.engines import program

pytestmark = [pytest.mark.engine, pytest.mark.slow]

SHORT = {"warmup_s": 1, "duration_s": 2, "rate": 100}


@pytest.fixture(scope="module")
def filled(postgres: ScratchPostgres) -> ScratchPostgres:
    postgres.fill(1)
    return postgres


def pgbench(server: ScratchPostgres, **more: object) -> Driver:
    config = {"kind": "pgbench", "bin": str(server.bin_dir / "pgbench"), "clients": 2, **SHORT, **more}
    return build(config, Where.of(server))


@pytest.mark.parametrize(("script", "statements"), [("tpcb-like", 7), ("simple-update", 5), ("select-only", 1)])
def test_pgbench_counts_every_statement_that_its_clients_send(
    filled: ScratchPostgres, script: str, statements: int
) -> None:
    measured = pgbench(filled, script=script).run()
    assert measured.metrics["qps"] == pytest.approx(statements * measured.metrics["tps"])
    assert 0 < measured.metrics["p50_ms"] <= measured.metrics["p99_ms"]
    assert measured.p99_of == ("statement" if statements == 1 else "transaction")
    assert (measured.window_end - measured.window_start).total_seconds() == 2


def test_the_servers_own_count_agrees_with_pgbench(filled: ScratchPostgres) -> None:
    counts: list[int] = []
    sql = "SELECT xact_commit FROM pg_stat_database WHERE datname = current_database()"

    def count() -> None:
        counts.append(int(filled.sql(sql)))

    measured = pgbench(filled, script="select-only", rate=500, duration_s=4).run(count, count)
    served = (counts[1] - counts[0]) / 4
    # Backends publish their counters about once a second, so up to a second's worth lies on either side.
    assert served == pytest.approx(measured.metrics["tps"], rel=0.35)


def test_a_script_of_ones_own_is_measured_by_its_name(filled: ScratchPostgres, tmp_path: Path) -> None:
    script = tmp_path / "two.sql"
    script.write_text("\\set x random(1, 10)\nSELECT :x;\nSELECT :x + 1;\n")
    measured = pgbench(filled, script=str(script), protocol="prepared").run()
    assert measured.statement == "two.sql"
    assert measured.metrics["qps"] == pytest.approx(2 * measured.metrics["tps"])


def test_a_trial_begins_after_a_checkpoint(filled: ScratchPostgres) -> None:
    lsn = "SELECT checkpoint_lsn FROM pg_control_checkpoint()"
    before = filled.sql(lsn)
    pgbench(filled).run()
    assert filled.sql(lsn) != before


@pytest.mark.parametrize("metric", ["tps", "qps"])
def test_pgbench_ends_a_window_that_cannot_come_to_its_level_and_no_other(filled: ScratchPostgres, metric: str) -> None:
    long = pgbench(filled, script="select-only", duration_s=30)
    hopeless = long.run(must_reach=Level(metric, "maximize", 1e6))
    assert hopeless.ended is not None
    assert 50 < hopeless.ended.bound < 1e6
    assert hopeless.metrics == {}
    assert (hopeless.window_end - hopeless.window_start).total_seconds() < 30
    assert filled.sql("SELECT count(*) FROM pg_stat_activity WHERE application_name = 'pgbench'") == "0"
    level = Level(metric, "maximize", 1.0)
    assert pgbench(filled, script="select-only", duration_s=10).run(must_reach=level).metrics["tps"] > 50


def test_what_cannot_settle_says_which_key_to_change(filled: ScratchPostgres) -> None:
    with pytest.raises(DriverFailed, match=r"driver\.settle \(CHECKPOINTS\)(?s:.*)syntax error"):
        pgbench(filled, settle=["CHECKPOINTS"]).run()


def test_a_database_that_is_away_fails_the_driver_with_its_words(filled: ScratchPostgres) -> None:
    config = {"kind": "pgbench", "bin": str(filled.bin_dir / "pgbench"), "settle": [], **SHORT}
    with pytest.raises(DriverFailed, match="Connection refused"):
        build(config, Where(port=1)).run()


def test_a_password_is_neither_in_the_arguments_nor_left_behind(filled: ScratchPostgres, tmp_path: Path) -> None:
    listing = tmp_path / "seen"
    wrapper = tmp_path / "pgbench"
    wrapper.write_text(
        f'#!/bin/sh\necho "$@" >> {listing}\necho "$PGPASSFILE" >> {listing}.file\n'
        f'stat -c %a "$PGPASSFILE" >> {listing}.mode\nexec {filled.bin_dir}/pgbench "$@"\n'
    )
    wrapper.chmod(0o755)
    socket = str(filled.data_dir)  # a client of that age gives a password to whoever listens on a bare port
    where = Where(socket, filled.port, filled.user, filled.dbname, secret="hu:sh\\")
    build({"kind": "pgbench", "bin": str(wrapper), "clients": 1, **SHORT}, where).run()
    assert "hu:sh" not in listing.read_text()
    assert set(Path(f"{listing}.mode").read_text().split()) == {"600"}
    assert not any(Path(path).exists() for path in Path(f"{listing}.file").read_text().split())


@pytest.fixture(scope="module")
def sysbench_database(postgres15: ScratchPostgres) -> Iterator[Where]:
    postgres15.sql("CREATE DATABASE sysbench")
    yield Where.of(postgres15, "sysbench")
    postgres15.sql("DROP DATABASE sysbench WITH (FORCE)")


@pytest.mark.parametrize(
    ("script", "of", "statements"), [("oltp_point_select", "statement", 1), ("oltp_read_write", "transaction", 20)]
)
def test_sysbench_measures_after_its_warm_up(sysbench_database: Where, script: str, of: str, statements: int) -> None:
    config = {"kind": "sysbench", "bin": program("sysbench"), "script": script, "threads": 2, "table_size": 1000}
    driver = build({**config, **SHORT}, sysbench_database)
    assert isinstance(driver, Sysbench)
    driver.prepare()
    try:
        measured = driver.run()
        hopeless = build({**config, **SHORT, "duration_s": 30}, sysbench_database).run(
            must_reach=Level("qps", "maximize", 1e6)
        )
    finally:
        driver.cleanup()
    assert hopeless.ended is not None
    assert hopeless.metrics == {}
    assert (hopeless.window_end - hopeless.window_start).total_seconds() < 30
    assert measured.p99_of == of
    assert measured.metrics["p99_ms"] > 0
    assert measured.metrics["qps"] == pytest.approx(statements * measured.metrics["tps"], rel=0.1)

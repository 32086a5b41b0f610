from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from lutra_agent.drivers import Driver, DriverFailed, build
from lutra_lab.drivers.sysbench import Sysbench
from lutra_lab.servers.postgresql import ScratchPostgres
from lutra_models.ending import Level

from tests.support.conformance.driver import measurement
from tests.support.servers.counted import EACH
from tests.support.servers.counted import counted as counted_pgbench
from tests.support.servers.databases import Where
from tests.support.servers.engines import a_database, program
from tests.support.waiting import until

pytestmark = [pytest.mark.engine, pytest.mark.slow]

SHORT = {"warmup_s": 1, "duration_s": 2, "rate": 100}
CLIENTS = 2
SENT = re.compile(r"LOG:  (?:statement|execute \w+): [A-Z]")
"""A statement of a script; pgbench itself asks in small letters."""
NEVER = 1e9
LONG_S = 48
"""The begin of so long a window, the least that tells of the rest, is over soonest."""


@pytest.fixture(scope="module")
def filled(postgres: ScratchPostgres) -> ScratchPostgres:
    postgres.fill(1)
    return postgres


def pgbench(server: ScratchPostgres, **more: object) -> Driver:
    config = {"kind": "pgbench", "bin": str(server.bin_dir / "pgbench"), "clients": CLIENTS, **SHORT, **more}
    return build(config, Where.of(server))


Counted = Callable[..., Driver]


@pytest.fixture
def counted(filled: ScratchPostgres, tmp_path: Path) -> Counted:
    """A load of a known number of transactions; `also` is done before."""

    def made(where: Where | None = None, also: str = "", **more: object) -> Driver:
        section = counted_pgbench(filled, tmp_path, also, options="-c log_statement=all")
        return build({**section, "clients": CLIENTS, **more}, where or Where.of(filled))

    return made


def sent(server: ScratchPostgres, run: Callable[[], object]) -> int:
    """How many statements of scripts the server was sent meanwhile, by its own log."""
    before = len(server.log.read_text())
    run()
    return len(SENT.findall(server.log.read_text()[before:]))


@pytest.mark.parametrize(("script", "statements"), [("tpcb-like", 7), ("simple-update", 5), ("select-only", 1)])
def test_pgbench_counts_every_statement_that_the_server_was_sent(
    filled: ScratchPostgres, counted: Counted, script: str, statements: int
) -> None:
    found = []
    served = sent(filled, lambda: found.append(counted(script=script).run()))
    (measured,) = found
    counts = {name: round(measured.metrics[name] * EACH, 6) for name in ("tps", "qps", "failed_tps")}
    assert counts == {"tps": CLIENTS * EACH, "qps": served, "failed_tps": 0}
    assert served == statements * CLIENTS * EACH
    assert 0 < measured.metrics["p50_ms"] <= measured.metrics["p99_ms"]
    assert measured.p99_of == ("statement" if statements == 1 else "transaction")
    assert (measured.window_end - measured.window_start).total_seconds() == EACH


def test_a_script_of_ones_own_is_measured_by_its_name(
    filled: ScratchPostgres, counted: Counted, tmp_path: Path
) -> None:
    script, found = tmp_path / "two.sql", []
    script.write_text("\\set x random(1, 10)\nSELECT :x;\nSELECT :x + 1;\n")
    served = sent(filled, lambda: found.append(counted(script=str(script), protocol="prepared").run()))
    assert found[0].statement == "two.sql"
    assert round(found[0].metrics["qps"] * EACH, 6) == served == 2 * CLIENTS * EACH


def test_a_trial_begins_after_a_checkpoint(filled: ScratchPostgres, counted: Counted) -> None:
    lsn = "SELECT checkpoint_lsn FROM pg_control_checkpoint()"
    before = filled.sql(lsn)
    counted(settle=["CHECKPOINT"]).run()
    assert filled.sql(lsn) != before


def test_pgbench_is_ended_in_a_window_that_cannot_come_to_its_level(filled: ScratchPostgres) -> None:
    """What of its progress is hopeless and what is not, recorded runs show."""
    hopeless = pgbench(filled, script="select-only", duration_s=LONG_S).run(must_reach=Level("qps", "maximize", NEVER))
    assert hopeless.ended is not None
    assert (hopeless.ended.metric, hopeless.ended.planned_s) == ("qps", LONG_S)
    assert 0 < hopeless.ended.bound < NEVER
    assert hopeless.metrics == {}
    left = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'pgbench'"
    until(lambda: filled.sql(left) == "0")


def test_what_cannot_settle_says_which_key_to_change(filled: ScratchPostgres) -> None:
    with pytest.raises(DriverFailed, match=r"driver\.settle \(CHECKPOINTS\)(?s:.*)syntax error"):
        pgbench(filled, settle=["CHECKPOINTS"]).run()


def test_a_database_that_is_away_fails_the_driver_with_its_words(filled: ScratchPostgres) -> None:
    config = {"kind": "pgbench", "bin": str(filled.bin_dir / "pgbench"), "settle": [], **SHORT}
    with pytest.raises(DriverFailed, match="Connection refused"):
        build(config, Where(port=1)).run()


def test_a_password_is_neither_in_the_arguments_nor_left_behind(
    filled: ScratchPostgres, counted: Counted, tmp_path: Path
) -> None:
    listing = tmp_path / "seen"
    noted = (
        f'echo "$@" >> {listing}\necho "$PGPASSFILE" >> {listing}.file\n'
        f'case "$*" in *--version*) ;; *) stat -c %a "$PGPASSFILE" >> {listing}.mode;; esac'
    )
    socket = str(filled.data_dir)  # a client of that age gives a password to whoever listens on a bare port
    where = Where(socket, filled.port, filled.user, filled.dbname, secret="hu:sh\\")
    counted(where, also=noted, settle=["CHECKPOINT"]).run()
    assert "hu:sh" not in listing.read_text()
    assert set(Path(f"{listing}.mode").read_text().split()) == {"600"}
    assert not any(Path(path).exists() for path in Path(f"{listing}.file").read_text().split())


@pytest.fixture
def sysbench_database(postgres18: ScratchPostgres, monkeypatch: pytest.MonkeyPatch) -> Iterator[Where]:
    """No event there waits for the disk."""
    monkeypatch.setenv("PGOPTIONS", "-c synchronous_commit=off")
    with a_database(postgres18) as url:
        yield Where.of(postgres18, url.rpartition("/")[2])


def sysbench(where: Where, script: str, **more: object) -> Sysbench:
    config = {"kind": "sysbench", "bin": program("sysbench"), "script": script, "threads": 2, "table_size": 1000}
    driver = build({**config, **SHORT, **more}, where)
    assert isinstance(driver, Sysbench)
    return driver


@pytest.mark.parametrize(("script", "of"), [("oltp_point_select", "statement"), ("oltp_read_write", "transaction")])
def test_sysbench_measures_after_its_warm_up(sysbench_database: Where, tmp_path: Path, script: str, of: str) -> None:
    """Its own last summary is what was measured; the one before it is the warm-up's."""
    printed, noting = tmp_path / "printed", tmp_path / "sysbench"
    noting.write_text(f'#!/bin/sh\n{program("sysbench")} "$@" | tee {printed}\n')
    noting.chmod(0o755)
    sysbench(sysbench_database, script).prepare()
    measured = measurement(sysbench(sysbench_database, script, bin=str(noting)))
    told = {"tps": r"transactions: .*\((.*) per sec", "qps": r"queries: .*\((.*) per sec", "p99_ms": "99th .*: (.*)"}
    for name, line in told.items():
        warm_up, window = re.findall(line, printed.read_text())
        assert measured.metrics[name] == float(window) > 0, warm_up
    assert measured.p99_of == of


def test_sysbench_is_ended_in_a_window_that_cannot_come_to_its_level(sysbench_database: Where) -> None:
    script, level = "oltp_point_select", Level("qps", "maximize", NEVER)
    sysbench(sysbench_database, script).prepare()
    hopeless = sysbench(sysbench_database, script, duration_s=LONG_S).run(must_reach=level)
    assert hopeless.ended is not None
    assert 0 < hopeless.ended.bound < NEVER
    assert hopeless.metrics == {}

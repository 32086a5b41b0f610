"""p99 of a real server from what runs in it and from its log, and what `check` says of it.

How near a p99 comes to the true one is asked of simulated transactions, in the unit tests of what is seen of them. Here
it is what a server tells: which ages and durations, and that they become a p99 of the right kind.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest
from lutra_agent.engines.common import sampling
from lutra_agent.engines.common.engine import Engine
from lutra_agent.engines.common.telemetry import Sample, Targets
from lutra_agent.engines.families import family
from lutra_agent.engines.postgresql.server.connect import Connection
from lutra_agent.engines.postgresql.server.section import PostgresqlDatabase
from lutra_agent.engines.postgresql.telemetry.ages import sampler
from lutra_agent.engines.postgresql.telemetry.ages.bins import ENDS_MS, RATIO, Counts, range_of
from lutra_lab.servers.postgresql import ScratchPostgres

from tests.support.agent.processes import document, write_toml
from tests.support.fakes.clock import START
from tests.support.servers.engines import scratch
from tests.support.waiting import until

pytestmark = pytest.mark.engine

SLEEP_MS = 20
ALONE = "SELECT pg_sleep(0.02), count(*) FROM pg_database;\n"
SEVERAL = f"BEGIN;\nSELECT 1;\n{ALONE}COMMIT;\n"
"""They read a table: a server reports no transactions of a backend that touches none."""
OTHERS = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'lutra-agent'"
PID = OTHERS.replace("count(*)", "max(pid)")
STUCK_S = 0.2
"""Less than a backend takes that is stopped."""
LOG = {"logging_collector": "on", "log_directory": "log", "log_file_mode": "0644"}


def section(server: ScratchPostgres, **more: Any) -> PostgresqlDatabase:
    return PostgresqlDatabase("postgresql", server.host, server.port, server.user, dbname=server.dbname, **more)


@contextmanager
def engine_of(server: ScratchPostgres, **more: Any) -> Iterator[Engine]:
    engine = family("postgresql").open(section(server, **more))
    try:
        yield engine
    finally:
        engine.health.close()


def sample(engine: Engine) -> Sample:
    now_s = time.monotonic()
    return engine.telemetry.sample(START + timedelta(seconds=now_s), now_s)


def under(server: ScratchPostgres, engine: Engine, script: str, folder: Path, protocol: str = "simple") -> Targets:
    """A window whose transactions each last a fiftieth of a second at least; as many as it takes to tell a p99."""
    (folder / "load.sql").write_text(script)
    where = ["-h", server.host, "-p", str(server.port), "-U", server.user, server.dbname]
    load = ["-n", "-M", protocol, "-c", "4", "-t", "50", "-f", str(folder / "load.sql")]
    before = sample(engine)

    def told() -> Targets | None:
        subprocess.run([server.bin_dir / "pgbench", *load, *where], stdout=subprocess.DEVNULL, check=True)
        found = engine.telemetry.targets(before, sample(engine))
        return found if found.latency is not None else None

    return until(told)


def seen(of: Counts) -> list[int]:
    """The range of each, in ascending order."""
    return [place for place, count in enumerate(of.of) for _ in range(count)]


def test_a_look_sees_the_age_of_what_runs_and_how_long_took_what_ended(postgres: ScratchPostgres) -> None:
    watch = sampler.Sampler(Connection(section(postgres)))
    with (
        psycopg.connect(postgres.conninfo(), autocommit=True) as running,
        psycopg.connect(postgres.conninfo(), autocommit=True) as alone,
        psycopg.connect(postgres.conninfo(), autocommit=True) as several,
    ):
        watch.look()
        before_s = time.time()  # the server's clock, whatever moves it
        running.execute("BEGIN")
        begun_s = time.time()
        alone.execute(ALONE)
        alone_ms = 1000 * (time.time() - begun_s)
        for statement in filter(None, SEVERAL.splitlines()):
            several.execute(statement)
        asked_s = time.time()
        watch.look()
        answered_s = time.time()
        looks = watch.looks()
        watch.look()
        again = watch.looks()
    watch.stop()
    watch._connection.close()
    [age], [took] = seen(looks.ages), seen(looks.ended)
    assert (looks.samples, looks.several) == (1, 1)
    assert range_of(1000 * (asked_s - begun_s)) <= age <= range_of(1000 * (answered_s - before_s))
    assert range_of(SLEEP_MS) <= took <= range_of(alone_ms)
    assert (again.samples, again.ages.total, again.ended.total, again.several) == (2, 2, 1, 1)


@pytest.mark.parametrize("script", [ALONE, SEVERAL], ids=["alone", "several"])
def test_running_transactions_tell_how_long_they_take(postgres: ScratchPostgres, script: str, tmp_path: Path) -> None:
    with engine_of(postgres) as engine:
        found = under(postgres, engine, script, tmp_path)
    assert found.latency is not None
    assert (found.latency.source, found.latency.of) == ("activity", "transaction")
    assert found.latency.p99_ms > 0
    assert found.metrics["p99_error_share"] > 0
    assert until(lambda: postgres.sql(OTHERS) == "0"), "a closed engine leaves no connection"


def test_a_backend_that_is_stopped_does_not_end_the_watch(
    own_postgres: ScratchPostgres, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sampling, "AGAIN_S", 0.1)
    watch = sampler.Sampler(Connection(section(own_postgres)))
    watch.start()
    try:
        assert until(lambda: watch.looks().samples > 2)
        stopped = int(own_postgres.sql(PID))
        os.kill(stopped, signal.SIGSTOP)
        try:
            with monkeypatch.context() as hurried:
                hurried.setattr(sampling, "STUCK_S", STUCK_S)
                until(lambda: watch.looks() and own_postgres.sql(OTHERS) == "2")  # it has another backend
            before = watch.looks().samples
            assert until(lambda: watch.looks().samples > before + 5)
        finally:
            os.kill(stopped, signal.SIGCONT)
    finally:
        watch.stop()


def test_an_account_that_sees_no_others_gets_no_p99_of_them(postgres: ScratchPostgres, tmp_path: Path) -> None:
    postgres.sql("CREATE ROLE blind LOGIN")
    try:
        where = PostgresqlDatabase("postgresql", postgres.host, postgres.port, "blind", dbname=postgres.dbname)
        engine = family("postgresql").open(where)
        found = {v.name: v for v in engine.telemetry.visible()}
        engine.health.close()
    finally:
        postgres.sql("DROP ROLE blind")
    assert not found["running transactions"].available
    assert "pg_monitor" in found["pg_monitor"].remedy


@pytest.mark.parametrize(
    ("destination", "script", "protocol", "rules", "of"),
    [
        ("stderr", ALONE, "simple", {"log_min_duration_sample": "0", "log_statement_sample_rate": "0.5"}, "statement"),
        ("csvlog", SEVERAL, "simple", {"log_transaction_sample_rate": "0.5"}, "transaction"),
        ("jsonlog", SEVERAL, "prepared", {"log_transaction_sample_rate": "0.5"}, "transaction"),
    ],
)
def test_the_log_tells_how_long_statements_and_transactions_take(
    destination: str, script: str, protocol: str, rules: dict[str, str], of: str, tmp_path: Path
) -> None:
    with (
        scratch("postgres15", **LOG, **rules, log_destination=destination) as server,
        engine_of(server, read_log=True) as engine,
    ):
        until(lambda: next(v for v in engine.telemetry.visible() if v.p99).name == "server log")  # it makes its file
        found = under(server, engine, script, tmp_path, protocol)
    assert found.latency is not None
    assert (found.latency.source, found.latency.of) == ("log", of)
    assert found.latency.p99_ms > ENDS_MS[range_of(SLEEP_MS)] / RATIO  # none took less, and it lies in their range


def test_check_names_an_extension_that_is_created_and_not_loaded_and_what_is_not_there(tmp_path: Path) -> None:
    with scratch("postgres15") as server:
        server.sql("CREATE EXTENSION pg_stat_statements")
        more = {"database": {"read_log": True}, "restart": {"command": ["/nowhere/restart"]}}
        made = document(server, "http://127.0.0.1:9", tmp_path / "state", mode="restart_in_window", **more)
        file = write_toml(tmp_path / "agent.toml", made)
        command = [sys.executable, "-m", "lutra_agent", "check", "--json", "--config", str(file)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stderr
    found = json.loads(done.stdout)
    assert not next(v for v in found["visible"] if v["name"] == "pg_stat_statements")["available"]
    assert "qps" not in found["measured"]
    assert "running transactions" in found["p99"]
    missing = "\n".join(found["missing"])
    assert "add pg_stat_statements to shared_preload_libraries" in missing
    assert "server log:" in missing
    assert "restart.command: this account cannot find a program '/nowhere/restart'" in missing
    assert "set service.token_file" in missing

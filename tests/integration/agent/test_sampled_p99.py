"""p99 of a real server from what runs in it and from its log, and what `check` says of it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from lutra_agent.engines.common.engine import Engine
from lutra_agent.engines.common.telemetry import Targets
from lutra_agent.engines.families import family
from lutra_agent.engines.postgresql.server.connect import Connection
from lutra_agent.engines.postgresql.server.section import PostgresqlDatabase
from lutra_agent.engines.postgresql.telemetry.ages import sampler
from lutra_lab.servers.postgresql import ScratchPostgres

from tests.support.agents import document, write_toml
from tests.support.engines import scratch
from tests.support.waiting import until

pytestmark = pytest.mark.engine

SLEEP_MS = 20
ALONE = "SELECT pg_sleep(0.02), count(*) FROM pg_database;\n"
SEVERAL = f"BEGIN;\nSELECT 1;\n{ALONE}COMMIT;\n"
"""They read a table: a server reports no transactions of a backend that touches none."""
OTHERS = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'lutra-agent'"
PID = OTHERS.replace("count(*)", "max(pid)")
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


def under(server: ScratchPostgres, engine: Engine, script: str, folder: Path, protocol: str = "simple") -> Targets:
    """A window of which each transaction lasts a fiftieth of a second and a little."""
    (folder / "load.sql").write_text(script)
    where = ["-h", server.host, "-p", str(server.port), "-U", server.user, server.dbname]
    load = ["-n", "-M", protocol, "-c", "4", "-T", "5", "-R", "100", "-f", str(folder / "load.sql")]
    pgbench = subprocess.Popen([server.bin_dir / "pgbench", *load, *where], stdout=subprocess.DEVNULL)
    try:
        before = engine.telemetry.sample(datetime.now(UTC), time.monotonic())
        pgbench.wait()
        return engine.telemetry.targets(before, engine.telemetry.sample(datetime.now(UTC), time.monotonic()))
    finally:
        pgbench.kill()
        pgbench.wait()


@pytest.mark.parametrize("script", [ALONE, SEVERAL], ids=["alone", "several"])
def test_running_transactions_tell_how_long_they_take(postgres: ScratchPostgres, script: str, tmp_path: Path) -> None:
    with engine_of(postgres) as engine:
        found = under(postgres, engine, script, tmp_path)
    assert found.latency is not None
    assert (found.latency.source, found.latency.of) == ("activity", "transaction")
    assert found.latency.p99_ms > 0.85 * SLEEP_MS
    assert 0 < found.metrics["p99_error_share"] < 1
    assert until(lambda: postgres.sql(OTHERS) == "0"), "a closed engine leaves no connection"


def test_a_backend_that_is_stopped_does_not_end_the_watch(
    own_postgres: ScratchPostgres, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sampler, "STUCK_S", 0.5)
    monkeypatch.setattr(sampler, "AGAIN_S", 0.1)
    watch = sampler.Sampler(Connection(section(own_postgres)))
    watch.start()
    try:
        assert until(lambda: watch.looks().samples > 2)
        stopped = int(own_postgres.sql(PID))
        os.kill(stopped, signal.SIGSTOP)
        try:
            seen = watch.looks().samples
            assert until(lambda: watch.looks().samples > seen + 5)
        finally:
            os.kill(stopped, signal.SIGCONT)
    finally:
        watch.stop()


def test_an_account_that_sees_no_others_gets_no_p99_of_them(postgres: ScratchPostgres, tmp_path: Path) -> None:
    postgres.sql("CREATE ROLE blind LOGIN")
    try:
        where = PostgresqlDatabase("postgresql", postgres.host, postgres.port, "blind", dbname=postgres.dbname)
        engine = family("postgresql").open(where)
        seen = {v.name: v for v in engine.telemetry.visible()}
        engine.health.close()
    finally:
        postgres.sql("DROP ROLE blind")
    assert not seen["running transactions"].available
    assert "pg_monitor" in seen["pg_monitor"].remedy


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
        assert next(v for v in engine.telemetry.visible() if v.p99).name == "server log"
        found = under(server, engine, script, tmp_path, protocol)
    assert found.latency is not None
    assert (found.latency.source, found.latency.of) == ("log", of)
    assert found.latency.p99_ms > 0.85 * SLEEP_MS


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
    assert "restart.command: this account finds no program '/nowhere/restart'" in missing
    assert "set service.token_file" in missing

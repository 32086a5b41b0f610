"""`lutra-agent tune` as an operator runs it: a real service, a real server, pgbench's load."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from lutra_lab.servers.postgresql import ScratchPostgres

from tests.support.agent.processes import agent_process, document, write_toml
from tests.support.servers.counted import counted, twice_as_many
from tests.support.servers.engines import scratch
from tests.support.service.served import Served
from tests.support.waiting import until

TRIALS = 3
TOLD = r"qps [\d,.]+  tps [\d,.]+  p99_ms [\d,.]+"
MEMORY_ALONE = {"fsync": "off", "full_page_writes": "off", "synchronous_commit": "off"}
"""No commit waits for the disk: within any second of a load some come to an end, however busy the disk is."""


def tune(file: Path, token: str, *options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "lutra_agent", "tune", "--config", str(file), "--trials", str(TRIALS)]
    command += ["--verification-rounds", "3", *options]
    env = {**os.environ, "LUTRA_AGENT_TOKEN": token}
    return subprocess.run(command, env=env, capture_output=True, text=True, check=False)


def registered(served: Served, name: str = "shop") -> tuple[str, str]:
    """The id of a new database, and its agent's token."""
    database = served.api.take("POST", "/v1/databases", {"name": name, "engine": "postgresql"})["id"]
    path = f"/v1/databases/{database}/tokens"
    return database, served.api.take("POST", path, {"name": "its agent", "scopes": ["agent"]})["token"]


def agent_file(server: ScratchPostgres, served: Served, database: str, folder: Path) -> Path:
    pgbench = [str(server.bin_dir / "pgbench"), "-i", "-q", "-h", server.host, "-p", str(server.port)]
    subprocess.run([*pgbench, "-U", server.user, server.dbname], check=True, capture_output=True)
    made = document(
        server,
        str(served.client.base_url).rstrip("/"),
        folder / "state",
        service={"database": database},
        driver={**counted(server, folder, twice_as_many(server)), "script": "simple-update", "clients": 2},
    )
    return write_toml(folder / "agent.toml", made)


def active(server: ScratchPostgres) -> dict[str, str]:
    return dict(line.split("|", 1) for line in server.sql("SELECT name, setting FROM pg_settings").splitlines())


@pytest.mark.engine
@pytest.mark.slow
def test_it_runs_a_session_and_tells_each_trial_and_the_result(served: Served, tmp_path: Path) -> None:
    database, token = registered(served)
    with scratch("postgres18", **MEMORY_ALONE) as server:
        file = agent_file(server, served, database, tmp_path)
        done = tune(file, token, "--limit", "p99_ms<=100000", "--seed", "5")
        left = active(server)
    assert done.returncode == 0, done.stdout + done.stderr
    lines = done.stdout.splitlines()
    session = re.fullmatch(rf"session (\w+): {TRIALS} trials", lines[0])
    assert session is not None, lines[0]
    found = served.api.take("GET", f"/v1/sessions/{session[1]}")
    assert (found["state"], found["limits"], found["max_trials"]) == (
        "completed",
        [{"metric": "p99_ms", "at_most": 100000.0, "at_least": None}],
        TRIALS,
    )
    for number, line in enumerate(lines[1 : TRIALS + 1], 1):
        assert re.match(rf"trial {number}: {TOLD}", line), done.stdout + done.stderr
    sentence = found["verification"]["sentence"]
    assert lines[TRIALS + 1] == f"session {session[1]} is completed {sentence}".rstrip()
    assert lines[TRIALS + 2].startswith("handed over: qps")
    under = "measured at 2 clients of simple-update; it was not measured at other numbers of clients"
    assert lines[TRIALS + 3] == found["measured_under"] == under
    told = re.fullmatch(r"active now, (\d+) settings different from the baseline:", lines[TRIALS + 4])
    assert told is not None, lines[TRIALS + 4]
    statements = lines[TRIALS + 5 :]
    assert len(statements) == int(told[1]) > 0, "twice as many transactions are better than the baseline's"
    assert all(re.match(r"  ALTER SYSTEM (SET|RESET) \w+.*;$", s) for s in statements)
    best = served.api.take("GET", f"/v1/recommendations/{found['handover']}")["configuration"]
    assert {n: type(v)(left[n]) for n, v in best.items()} == best


@pytest.mark.thorough
@pytest.mark.engine
@pytest.mark.slow
def test_beside_a_running_agent_it_watches_that_one_work(served: Served, tmp_path: Path) -> None:
    database, token = registered(served, "watched")
    with scratch("postgres18", **MEMORY_ALONE) as server:
        file = agent_file(server, served, database, tmp_path)
        with agent_process(file, token):
            until(lambda: served.api.take("GET", f"/v1/databases/{database}")["last_report_at"])
            done = tune(file, token)
    assert done.returncode == 0, done.stdout + done.stderr
    lines = done.stdout.splitlines()
    assert lines[0] == "an agent is already running here: watching its session"
    assert [line.split(":")[0] for line in lines if line.startswith("trial")] == ["trial 1", "trial 2", "trial 3"]
    assert any(line.startswith("handed over: qps") for line in lines)


def observing(folder: Path) -> Path:
    made: dict[str, dict[str, Any]] = {
        "service": {"url": "http://127.0.0.1:9", "database": "db_1"},
        "database": {"engine": "postgresql", "host": "127.0.0.1", "port": 9, "user": "u", "dbname": "d"},
        "agent": {"state_dir": str(folder / "state")},
    }
    return write_toml(folder / "agent.toml", made)


def test_it_wants_lab_mode_and_a_driver(tmp_path: Path) -> None:
    done = tune(observing(tmp_path), "lutra_x")
    assert done.returncode == 1
    assert done.stderr.strip() == "Error: a tuning session needs agent.mode = 'lab' and a [driver] section"


@pytest.mark.slow
@pytest.mark.parametrize("limit", ["p99_ms", "p99_ms<=soon", "p99_ms=20"])
def test_a_limit_that_is_none_is_refused(tmp_path: Path, limit: str) -> None:
    done = tune(observing(tmp_path), "lutra_x", "--limit", limit)
    assert done.returncode == 2
    assert "--limit" in done.stderr
    assert "Traceback" not in done.stderr

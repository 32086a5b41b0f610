from __future__ import annotations

import json
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from lutra_lab.errors import LabError
from lutra_lab.servers.postgresql import ScratchPostgres, environment

from tests.support.agents import suggested
from tests.support.engines import postgres18_bin, scratch

pytestmark = pytest.mark.engine

COMMAND = [sys.executable, "-c", "from lutra_lab.cli import lab; lab()", "postgresql", "--dir"]


@pytest.fixture
def folder() -> Iterator[Path]:
    directory = Path(tempfile.mkdtemp(prefix="lutra-test-"))
    yield directory
    shutil.rmtree(directory, ignore_errors=True)


def start(directory: Path, *more: str) -> tuple[subprocess.Popen[str], dict[str, Any]]:
    postgres18_bin()
    process = subprocess.Popen([*COMMAND, str(directory), *more], stdin=-1, stdout=-1, stderr=-1, text=True)
    assert process.stdout is not None
    line = process.stdout.readline()
    assert line, process.communicate()[1]
    return process, json.loads(line)


def accepts(server: dict[str, Any]) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex((server["host"], server["port"])) == 0


def eventually_gone(directory: Path, server: dict[str, Any]) -> bool:
    deadline = time.monotonic() + 30
    while directory.exists() or accepts(server):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.1)
    return True


@pytest.mark.slow
@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL, "end of stdin"])
def test_the_lab_server_leaves_nothing_however_its_command_ends(folder: Path, how: signal.Signals | str) -> None:
    process, server = start(folder / "pg")
    assert accepts(server)
    assert server["version"].startswith("18")
    if isinstance(how, signal.Signals):
        process.send_signal(how)
        process.wait(30)
    else:
        process.communicate(timeout=30)
    assert eventually_gone(folder / "pg", server)
    if how != signal.SIGKILL:
        assert process.returncode == 0


@pytest.mark.slow
def test_a_server_that_someone_else_restarted_goes_with_the_command_too(folder: Path) -> None:
    process, server = start(folder / "pg", "--scale", "1")
    subprocess.run(server["restart_command"], check=True, env=environment(), cwd="/")
    assert accepts(server)
    assert suggested(server).run().metrics["qps"] > 0
    process.kill()
    process.wait(30)
    assert eventually_gone(folder / "pg", server)


@pytest.mark.slow
def test_a_stopped_server_comes_back_by_its_start_command_with_its_data(own_postgres: ScratchPostgres) -> None:
    own_postgres.psql("CREATE TABLE kept AS SELECT 1 AS n")
    own_postgres.stop()
    assert own_postgres.pid is None
    subprocess.run(own_postgres.start_command, check=True, env=environment(), cwd="/")
    assert own_postgres.psql("SELECT n FROM kept") == "1"


@pytest.mark.slow
def test_a_crashed_server_recovers_on_start(own_postgres: ScratchPostgres) -> None:
    own_postgres.psql("CREATE TABLE kept AS SELECT 1 AS n")
    own_postgres.crash()
    assert own_postgres.pid is None
    own_postgres.start()
    assert own_postgres.psql("SELECT n FROM kept") == "1"


def test_options_can_be_overridden_by_alter_system() -> None:
    with scratch(postgres18_bin(), work_mem="7MB") as server:
        assert server.psql("SHOW work_mem") == "7MB"
        server.psql("ALTER SYSTEM SET work_mem = '9MB'")
        server.psql("SELECT pg_reload_conf()")
        server.stop()
        server.start()
        assert server.psql("SHOW work_mem") == "9MB"


def test_a_server_that_cannot_start_says_why_and_leaves_nothing(folder: Path) -> None:
    broken = ScratchPostgres(folder / "pg", postgres18_bin(), options={"work_mem": "nonsense"})
    with pytest.raises(LabError, match="work_mem"), broken:
        pass
    assert not (folder / "pg").exists()


def test_a_folder_with_something_else_in_it_is_left_alone(folder: Path) -> None:
    (folder / "thesis.tex").write_text("years of work")
    with pytest.raises(LabError, match="is not empty"):
        ScratchPostgres(folder, postgres18_bin())
    assert (folder / "thesis.tex").exists()


def test_a_folder_without_postgresql_is_named(folder: Path) -> None:
    with pytest.raises(LabError, match="no PostgreSQL in"):
        ScratchPostgres(folder / "pg", folder)


def test_no_process_of_a_removed_server_remains() -> None:
    with scratch(postgres18_bin()) as server:
        assert server.pid is not None
        family = [psutil.Process(server.pid), *psutil.Process(server.pid).children()]
    assert not psutil.wait_procs(family, timeout=10)[1]

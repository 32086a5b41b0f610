"""Scratch servers of the MySQL family: made, crashed, started again, and gone."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pymysql
import pytest
from lutra_lab.servers import daemon
from lutra_lab.servers.daemon import Daemon, accepts
from lutra_lab.servers.mysqld import ScratchMysqld

from tests.support.agents import suggested, until
from tests.support.engines import SCRATCH_MYSQLDS, scratch_mysqld

pytestmark = [pytest.mark.engine, pytest.mark.slow]


@pytest.mark.parametrize("name", SCRATCH_MYSQLDS)
def test_a_scratch_server_keeps_its_data_over_a_crash_and_leaves_nothing(name: str) -> None:
    with scratch_mysqld(SCRATCH_MYSQLDS[name]) as server:
        server.sql("CREATE TABLE t (a INT PRIMARY KEY)")
        server.sql("INSERT INTO t VALUES (7)")
        server.crash()
        assert not accepts(server.port)
        server.start()
        assert server.sql("SELECT a FROM t") == "7"
        directory = server.directory
    assert not directory.exists()
    assert not accepts(server.port)


def test_a_server_that_has_lost_its_process_id_file_is_stopped_all_the_same(own_mysqld: ScratchMysqld) -> None:
    (own_mysqld.directory / "server.pid").unlink()
    own_mysqld.stop()
    assert not accepts(own_mysqld.port)
    own_mysqld.start()
    (own_mysqld.directory / "server.pid").unlink()
    own_mysqld.start()
    assert own_mysqld.sql("SELECT 1") == "1"
    own_mysqld.remove()
    assert not accepts(own_mysqld.port)


def test_a_restart_kills_a_server_that_does_not_shut_down(
    own_mysqld: ScratchMysqld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(daemon, "PATIENCE_S", 20.0)
    before = own_mysqld.pid
    assert before is not None
    own_mysqld.sql("CREATE TABLE t (a INT PRIMARY KEY)")
    os.kill(before, signal.SIGSTOP)
    Daemon.read(own_mysqld.directory).restart()
    assert own_mysqld.pid not in (None, before)
    assert own_mysqld.sql("SELECT COUNT(*) FROM t") == "0"


def test_a_server_goes_with_a_process_that_was_killed(own_mysqld: ScratchMysqld) -> None:
    kind = type(own_mysqld)
    code = (
        "import sys, time; from pathlib import Path; "
        f"from {kind.__module__} import {kind.__name__}; "
        f"s = {kind.__name__}(Path(sys.argv[1])); s.start(); print(s.port, flush=True); time.sleep(600)"
    )
    with tempfile.TemporaryDirectory(prefix="lutra-test-") as folder:
        directory = Path(folder) / "server"
        process = subprocess.Popen([sys.executable, "-c", code, str(directory)], stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        port = int(process.stdout.readline())
        assert accepts(port)
        process.send_signal(signal.SIGKILL)
        process.wait()
        assert until(lambda: not directory.exists() and not accepts(port))


@pytest.mark.parametrize("name", SCRATCH_MYSQLDS)
def test_the_lab_command_describes_its_server_and_takes_it_away(name: str) -> None:
    with tempfile.TemporaryDirectory(prefix="lutra-test-") as folder:
        directory = Path(folder) / "server"
        code = "from lutra_lab.cli import lab; lab()"
        argv = [
            sys.executable,
            "-c",
            code,
            name,
            "--dir",
            str(directory),
            "--scale",
            "1",
            "--set",
            "max_connections=77",
        ]
        process = subprocess.Popen(argv, stdin=-1, stdout=-1, stderr=-1, text=True)
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line, process.communicate()[1]
        server = json.loads(line)
        assert (server["engine"], accepts(server["port"])) == (name, True)
        where = {"host": server["host"], "port": server["port"], "user": server["user"]}
        with pymysql.connect(**where, database=server["dbname"]) as connection, connection.cursor() as cursor:
            cursor.execute("SELECT (SELECT COUNT(*) FROM sbtest1), @@max_connections")
            assert cursor.fetchone() == (100_000, 77)
        subprocess.run(server["restart_command"], check=True, cwd="/")
        assert accepts(server["port"])
        assert suggested(server).run().metrics["qps"] > 0
        process.communicate(timeout=60)
        assert process.returncode == 0
        assert not directory.exists()
        assert not accepts(server["port"])

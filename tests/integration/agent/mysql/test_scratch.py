"""Scratch servers of the MySQL family: made, crashed, started again, and gone."""

from __future__ import annotations

import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from lutra_agent.lab.daemon import accepts
from lutra_agent.lab.mysqld import ScratchMysqld

from tests.support.agents import until
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

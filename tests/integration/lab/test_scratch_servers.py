"""What every scratch server must do, whichever it is: one suite over all of them."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from lutra_lab.scratch import scratch_of, scratch_servers
from lutra_lab.servers.base import ScratchServer, environment
from lutra_lab.servers.errors import LabError
from lutra_lab.servers.ports import accepts
from lutra_lab.servers.processes import having, runs

from tests.support.agent.processes import suggested
from tests.support.conformance.driver import measurement
from tests.support.pytest_plugins.suites import on_first
from tests.support.servers.engines import installed, made, program, scratch
from tests.support.servers.families import known
from tests.support.waiting import PATIENCE_S, until

pytestmark = [pytest.mark.engine, pytest.mark.slow]

ENGINES = [kind.engine for kind in scratch_servers()]
COMMAND = (sys.executable, "-c", "from lutra_lab.cli import lab; lab()")
KEEPER = """
import sys
from pathlib import Path
from lutra_lab.scratch import scratch_of
server = scratch_of(sys.argv[1])(Path(sys.argv[2]))
server.start()
print(server.port, flush=True)
sys.stdin.read()
"""


@pytest.fixture(params=on_first(ENGINES))
def engine(request: pytest.FixtureRequest) -> str:
    installed(request.param)
    found: str = request.param
    return found


@pytest.fixture
def folder() -> Iterator[Path]:
    """Not `tmp_path`: the server's account may not enter that."""
    made = Path(tempfile.mkdtemp(prefix="lutra-test-"))
    yield made
    shutil.rmtree(made, ignore_errors=True)


def run(command: list[str]) -> None:
    subprocess.run(command, check=True, env=environment(), cwd="/")


def gone(server: ScratchServer) -> bool:
    return not (server.directory.exists() or having(server.arguments))


def test_its_data_outlive_a_stop_and_a_crash_and_nothing_of_it_outlives_its_end(engine: str) -> None:
    with scratch(engine) as server:
        assert accepts(server.port)
        for statement in known(engine).store:
            server.sql(statement)
        server.stop()
        assert (server.pid, accepts(server.port), server.pid_file.exists()) == (None, False, False)
        with pytest.raises(LabError):
            server.sql(known(engine).stored)
        run(server.start_command)
        first = server.pid
        assert (server.sql(known(engine).stored), first is not None) == ("7", True)
        run(server.restart_command)
        assert server.pid not in (None, first)
        server.crash()
        assert (server.pid, accepts(server.port)) == (None, False)
        with pytest.raises(LabError, match="no server runs"):
            server.crash()
        server.start()
        assert server.sql(known(engine).stored) == "7"
        run(server.stop_command)
        assert server.pid is None
        server.start()
    assert gone(server)


def test_it_goes_although_an_agent_restarts_it_meanwhile(engine: str) -> None:
    with scratch(engine) as server:
        before = server.pid
        restart = subprocess.Popen(server.restart_command, env=environment(), cwd="/", stderr=subprocess.DEVNULL)
        until(lambda: server.pid != before)
        server.remove()
        restart.wait(PATIENCE_S)
        assert gone(server)


def test_it_goes_with_a_process_that_was_killed_whoever_deleted_its_files_first(engine: str, folder: Path) -> None:
    directory = folder / "server"
    keeper = subprocess.Popen([sys.executable, "-c", KEEPER, engine, directory], stdin=-1, stdout=-1, text=True)
    assert keeper.stdout is not None
    port = int(keeper.stdout.readline())
    assert accepts(port)
    for path in (p for p in directory.rglob("*") if p.is_file() and not p.name.startswith("ib")):
        path.unlink(missing_ok=True)
    keeper.kill()
    keeper.wait()
    until(lambda: not (directory.exists() or accepts(port)))


def test_one_that_cannot_start_says_why_and_leaves_nothing(engine: str, folder: Path) -> None:
    name = known(engine).most_connections
    broken = made(engine, folder / "server", **{name: "nonsense"})
    with pytest.raises(LabError, match=name), broken:
        pass
    assert gone(broken)


def test_a_folder_with_something_else_in_it_is_left_alone(engine: str, folder: Path) -> None:
    (folder / "thesis.tex").write_text("years of work")
    with pytest.raises(LabError, match="is not empty"):
        made(engine, folder)
    assert [p.name for p in folder.iterdir()] == ["thesis.tex"]


def test_programs_that_are_not_there_are_named_before_anything_is_made(engine: str, folder: Path) -> None:
    with pytest.raises(LabError, match=r"install|no PostgreSQL in"):
        scratch_of(engine)(folder / "server", programs=folder / "nowhere")
    assert not any(folder.iterdir())


def started(engine: str, directory: Path, *more: str) -> tuple[subprocess.Popen[str], dict[str, Any]]:
    """`lutra-agent lab`, and what it prints."""
    process = subprocess.Popen(
        [*COMMAND, engine, "--dir", str(directory), *more], stdin=-1, stdout=-1, stderr=-1, text=True
    )
    assert process.stdout is not None
    line = process.stdout.readline()
    assert line, process.communicate()[1]
    return process, json.loads(line)


def taken_away(directory: Path) -> bool:
    """Whether neither the folder nor a process of it is there. Its port may be another server's by now."""
    words = (word for p in psutil.process_iter(["cmdline"]) if runs(p) for word in p.info["cmdline"] or ())
    return not directory.exists() and not any(str(directory) in word for word in words)


def test_the_lab_command_describes_its_server_suggests_a_load_and_takes_both_away(engine: str, folder: Path) -> None:
    needed = scratch_of(engine).lab.needs
    if needed:
        program(needed)
    most = known(engine).most_connections
    process, told = started(engine, folder / "server", "--scale", "1", "--set", f"{most}=77")
    assert (told["engine"], accepts(told["port"])) == (engine, True)
    server = made(engine, folder / "beside")  # a client of the one that was started
    server.port = told["port"]
    settings = dict(line.split("|", 1) for line in server.sql(known(engine).settings, told.get("dbname")).splitlines())
    assert settings[most] == "77"
    run(told["restart_command"])
    assert accepts(told["port"])
    assert measurement(suggested(told)).metrics["qps"] > 0
    process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 0
    assert taken_away(folder / "server")


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_the_lab_command_leaves_nothing_whatever_ends_it(folder: Path, how: signal.Signals) -> None:
    installed(ENGINES[0])
    process, _ = started(ENGINES[0], folder / "server")
    process.send_signal(how)
    process.wait(PATIENCE_S)
    assert process.returncode == (-how if how == signal.SIGKILL else 0)
    until(lambda: taken_away(folder / "server"))

"""What tells a server that was shut down from one that crashed, and from one that the agent's own command left down."""

from __future__ import annotations

import os
import struct
from pathlib import Path

import pytest
from lutra_agent.config.types import RestartConfig
from lutra_agent.control.downtime import Downtime
from lutra_agent.engines.common.health import Traces, shut_down_by
from lutra_agent.engines.postgresql.engine import PostgresHealth
from lutra_agent.errors import CollectionFailed
from lutra_agent.state.store import State

from tests.support.fakes.engine import FakeEngine

UNIT = "postgresql@16-main"


def systemctl(folder: Path, loaded: str, active: str, result: str) -> Path:
    """A program of that name that knows this of one unit."""
    program = folder / "systemctl"
    said = f"LoadState={loaded}\\nActiveState={active}\\nResult={result}\\n"
    program.write_text(f"#!/bin/sh\n[ \"$1 $4\" = 'show {UNIT}' ] && printf '{said}'\n")
    program.chmod(0o755)
    return program


def downtime(folder: Path, engine: FakeEngine, *command: str) -> Downtime:
    return Downtime(RestartConfig(command), engine, State(folder / "state"))


@pytest.fixture
def engine(tmp_path: Path) -> FakeEngine:
    return FakeEngine(tmp_path / "settings")


@pytest.mark.parametrize(
    ("loaded", "active", "result", "crashed", "held"),
    [
        ("loaded", "inactive", "success", False, f"the unit {UNIT} is inactive"),
        ("loaded", "inactive", "success", True, f"the unit {UNIT} is inactive"),
        ("loaded", "deactivating", "success", True, f"the unit {UNIT} is deactivating"),
        ("masked", "inactive", "success", False, f"the unit {UNIT} is masked"),
        ("masked", "failed", "signal", True, f"the unit {UNIT} is masked"),
        ("loaded", "failed", "exit-code", False, ""),
        ("loaded", "failed", "oom-kill", True, ""),
        ("loaded", "failed", "timeout", False, "somebody shut the server down"),
        ("loaded", "active", "success", False, "somebody shut the server down"),
        ("loaded", "active", "success", True, ""),
        ("not-found", "inactive", "success", True, ""),
    ],
)
def test_the_unit_that_runs_the_server_says_whether_it_was_stopped(
    engine: FakeEngine, tmp_path: Path, loaded: str, active: str, result: str, crashed: bool, held: str
) -> None:
    program = systemctl(tmp_path, loaded, active, result)
    found = downtime(tmp_path, engine, "sudo", "-n", str(program), "restart", UNIT)
    found.seen_up()
    if crashed:
        engine.up = False
    else:
        engine.shut_down()
    assert found.held_down() == (held and f"{held}: the agent does not start it")


def test_a_unit_that_the_agents_own_command_left_inactive_is_started(engine: FakeEngine, tmp_path: Path) -> None:
    found = downtime(tmp_path, engine, str(systemctl(tmp_path, "loaded", "inactive", "success")), "restart", UNIT)
    found.seen_up()
    found.commanded()
    engine.shut_down()
    assert found.held_down() == downtime(tmp_path, engine).held_down() == ""
    engine.start()
    found.seen_up()
    engine.shut_down()
    assert found.held_down()
    assert downtime(tmp_path, engine).held_down()


def test_a_server_that_does_not_say_where_its_files_are_has_been_up_all_the_same(
    engine: FakeEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused() -> Traces:
        raise CollectionFailed("permission denied")

    found = downtime(tmp_path, engine)
    found.seen_up()
    found.commanded()
    monkeypatch.setattr(engine, "traces", refused)
    found.seen_up()
    assert found.held_down() == ""
    engine.shut_down()
    assert "somebody shut the server down" in found.held_down()


def test_a_start_that_succeeded_since_the_agents_own_command_ends_what_it_explains(
    engine: FakeEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    starts = tmp_path / "starts"
    starts.touch()
    monkeypatch.setattr(engine, "traces", lambda: Traces((engine.pid_file,), starts=(starts,)))
    found = downtime(tmp_path, engine)
    found.seen_up()
    found.commanded()
    engine.shut_down()
    assert found.held_down() == ""
    os.utime(starts, ns=(1, 1))
    assert "somebody shut the server down" in downtime(tmp_path, engine).held_down()


@pytest.mark.parametrize(
    ("logged", "held"),
    [
        ("", ""),
        ("Shutdown complete\n", ""),
        ("Shutdown complete\nready for connections.\nShutdown complete\n", "somebody shut the server down"),
    ],
)
def test_a_line_of_the_servers_own_log_tells_a_start_that_succeeded_since(
    engine: FakeEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, logged: str, held: str
) -> None:
    log = tmp_path / "server.log"
    log.write_text("ready for connections.\n")
    monkeypatch.setattr(engine, "traces", lambda: Traces((engine.pid_file,), log=log, ready="ready for connections"))
    found = downtime(tmp_path, engine)
    found.seen_up()
    found.commanded()
    engine.shut_down()
    with log.open("a") as file:
        file.write(logged)
    assert downtime(tmp_path, engine).held_down() == (held and f"{held}: the agent does not start it")
    log.unlink()
    assert downtime(tmp_path, engine).held_down() == ""


def test_a_server_that_this_agent_never_saw_up_is_started(engine: FakeEngine, tmp_path: Path) -> None:
    engine.shut_down()
    assert downtime(tmp_path, engine).held_down() == ""


@pytest.mark.parametrize("content", ["[]", "{", '{"running": 7}', '{"ours": "perhaps"}'])
def test_what_lies_in_the_folder_and_says_nothing_counts_for_nothing(
    engine: FakeEngine, tmp_path: Path, content: str
) -> None:
    State(tmp_path / "state")
    (tmp_path / "state" / "server.json").write_text(content)
    assert downtime(tmp_path, engine).held_down() == ""


@pytest.mark.parametrize(
    ("left", "expected"),
    [
        ((), True),
        (("pid", "socket", "temporary"), False),
        (("pid", "temporary"), True),  # a shutdown that was killed, or is not over yet
        (("socket", "temporary"), False),
    ],
)
def test_files_that_only_a_shutdown_removes_tell_it(tmp_path: Path, left: tuple[str, ...], expected: bool) -> None:
    for name in left:
        (tmp_path / name).touch()
    traces = Traces((tmp_path / "pid", tmp_path / "temporary"), (tmp_path / "socket",))
    assert shut_down_by(traces) is expected
    assert shut_down_by(Traces()) is None


@pytest.mark.parametrize(
    ("pid_file", "state", "expected"),
    [
        (None, 1, True),
        (None, 2, True),
        (None, 6, None),  # an immediate shutdown, or a start that failed
        (None, None, None),
        ("ready   ", 6, False),
        ("starting", 4, False),
        ("stopping", 6, True),
        ("", 6, False),
    ],
)
def test_postgresql_says_it_by_its_pid_file_and_its_control_file(
    tmp_path: Path, pid_file: str | None, state: int | None, expected: bool | None
) -> None:
    (tmp_path / "global").mkdir()
    if state is not None:
        (tmp_path / "global" / "pg_control").write_bytes(struct.pack("=QIIi", 7, 1300, 202209061, state) + bytes(8000))
    if pid_file is not None:
        lines = ["4711", "/data", "1700000000", "5432", "/run", "localhost", "  123 4", pid_file]
        (tmp_path / "postmaster.pid").write_text("\n".join(lines) + "\n")
    health = PostgresHealth(None)  # type: ignore[arg-type]
    assert health.was_shut_down(Traces((tmp_path / "postmaster.pid",))) is expected

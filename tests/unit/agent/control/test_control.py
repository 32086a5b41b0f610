"""Starting a server: by the operator's commands, and never one that runs."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from lutra_agent.config.types import RestartConfig
from lutra_agent.control.restore_progress import RecordedProgress
from lutra_agent.control.server import ServerControl, works_in
from lutra_agent.errors import DidNotStart, LoginRefused
from lutra_agent.state.change_events import Begun, UndoBegun
from lutra_agent.state.change_store import ChangeStore
from lutra_agent.state.snapshot import Snapshot
from lutra_agent.state.store import State
from lutra_models.server import SERVER

from tests.support.fakes.clock import FakeClock
from tests.support.fakes.engine import FakeEngine
from tests.support.waiting import PATIENCE_S

TIMEOUT_S = PATIENCE_S
"""Of the clock that the test moves; and of the real one, for the commands themselves."""


@dataclass
class Recovering(FakeEngine):
    """Runs, and lets nobody in before that second."""

    clock: FakeClock = field(default_factory=FakeClock)
    ready_s: float = 0.0

    def ping(self) -> None:
        self.up = self.up or (self.coming_up and self.clock.seconds >= self.ready_s)
        super().ping()


@pytest.fixture
def engine(tmp_path: Path) -> Recovering:
    return Recovering(tmp_path / "settings")


@pytest.fixture
def control(engine: Recovering, tmp_path: Path) -> Callable[[], ServerControl]:
    """That of an agent that was started again while it undoes a change. Its commands say in a file that they ran."""
    changes = ChangeStore(State(tmp_path / "state"))
    changes.write(Begun("rec_1", ("x",), {SERVER: Snapshot({}, {}, None)}))
    changes.write(UndoBegun("rec_1", "guardrail", "why"))
    start, restart = (("/bin/sh", "-c", f"echo {word} >> {tmp_path / 'said'}") for word in ("start", "restart"))
    config = RestartConfig(command=restart, start_command=start, timeout_s=TIMEOUT_S)

    def again() -> ServerControl:
        state = State(tmp_path / "state")
        return ServerControl(config, engine, engine.clock, state, progress=RecordedProgress(ChangeStore(state)))

    return again


def said(folder: Path) -> list[str]:
    file = folder / "said"
    return file.read_text().split() if file.exists() else []


def test_a_start_after_which_the_agent_is_locked_out_is_not_followed_by_a_restart(
    engine: Recovering, control: Callable[[], ServerControl], tmp_path: Path
) -> None:
    engine.locks_out = True
    with pytest.raises(LoginRefused, match="too many connections"):
        control().start()
    assert said(tmp_path) == ["start"]


def test_only_a_server_that_does_not_answer_is_down(engine: Recovering) -> None:
    control = ServerControl(RestartConfig(), engine, FakeClock())
    assert control.up()
    engine.up = False
    assert not control.up()
    engine.up = engine.locks_out = True
    with pytest.raises(LoginRefused):
        control.up()


def test_a_server_that_recovers_for_a_while_is_waited_for_and_left_alone(
    engine: Recovering, control: Callable[[], ServerControl], tmp_path: Path
) -> None:
    engine.up, engine.coming_up, engine.ready_s = False, True, 0.9 * TIMEOUT_S
    assert not control().start_or_wait(None)
    assert said(tmp_path) == []


def test_a_recovery_that_outlasts_every_wait_is_interrupted_once_whatever_the_agents_fate(
    engine: Recovering, control: Callable[[], ServerControl], tmp_path: Path
) -> None:
    engine.up, engine.coming_up, engine.ready_s = False, True, 20 * TIMEOUT_S
    for _ in range(10):
        with pytest.raises(DidNotStart, match="does not accept connections"):
            control().start_or_wait(None)
    assert said(tmp_path) == ["restart"]
    engine.ready_s = 0
    assert not control().start_or_wait(None)
    assert said(tmp_path) == ["restart"]


def test_a_server_that_the_agent_started_and_that_recovers_since_is_never_interrupted(
    engine: Recovering, control: Callable[[], ServerControl], tmp_path: Path
) -> None:
    engine.up, engine.ready_s = False, 20 * TIMEOUT_S
    made = control()
    run = made._run

    def starts(command: tuple[str, ...]) -> tuple[int | str, str]:
        engine.coming_up = True
        return run(command)

    made._run = starts  # type: ignore[method-assign, assignment]
    with pytest.raises(DidNotStart):
        made.start_or_wait(None)
    with pytest.raises(DidNotStart):
        control().start_or_wait(None)
    assert said(tmp_path) == ["start"]


def test_a_paused_agent_starts_and_restarts_nothing_until_an_operator_says_so(
    engine: Recovering, control: Callable[[], ServerControl], tmp_path: Path
) -> None:
    State(tmp_path / "state").pause()
    with pytest.raises(DidNotStart, match="paused"):
        control().restart()
    engine.up = False
    with pytest.raises(DidNotStart, match="paused"):
        control().start_or_wait(None)
    assert said(tmp_path) == []
    with pytest.raises(DidNotStart):
        control().for_operator().start_or_wait(None)
    assert said(tmp_path) == ["start", "restart"]


def test_a_process_of_the_program_that_works_in_the_data_folder_is_the_server(
    engine: Recovering, control: Callable[[], ServerControl], tmp_path: Path
) -> None:
    engine.up, data = False, tmp_path / "data"
    data.mkdir()
    process = subprocess.Popen(["/opt/bin/postgres", "600"], executable="/bin/sleep", cwd=data)
    try:
        assert works_in(data, ("postgres",))
        assert not works_in(data, ("another",))
        assert not works_in(tmp_path, ("postgres",))
        made = control()
        made.progress.note("started")
        with pytest.raises(DidNotStart, match=f"waited {TIMEOUT_S:g} s"):
            made.start_or_wait(data)
    finally:
        process.kill()
        process.wait()
    assert said(tmp_path) == []
    assert not works_in(data, ("postgres",))


def restarting(engine: Recovering, script: str) -> ServerControl:
    return ServerControl(RestartConfig(("/bin/sh", "-c", script), timeout_s=TIMEOUT_S), engine, engine.clock)


def test_a_restart_command_that_fails_beside_the_same_server_is_no_restart(engine: Recovering) -> None:
    with pytest.raises(DidNotStart, match="ended with 1 and the server was not restarted: no right"):
        restarting(engine, "echo no right; exit 1").restart()


def test_one_that_fails_after_the_server_has_come_back_is_one(engine: Recovering) -> None:
    control = restarting(engine, "exit 1")
    close, engine.close = engine.close, engine.start  # type: ignore[method-assign]
    control.restart()
    engine.close = close  # type: ignore[method-assign]


def test_a_restart_command_that_does_nothing_is_waited_for_and_is_no_restart(engine: Recovering) -> None:
    with pytest.raises(DidNotStart, match="ended with 0 and the server was not restarted"):
        restarting(engine, "exit 0").restart()
    assert engine.clock.seconds >= TIMEOUT_S


def test_where_nothing_tells_one_start_from_another_the_commands_word_counts(engine: Recovering) -> None:
    engine.started = lambda: ""  # type: ignore[method-assign]
    restarting(engine, "exit 0").restart()
    with pytest.raises(DidNotStart, match="was not restarted"):
        restarting(engine, "exit 1").restart()

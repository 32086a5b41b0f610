"""Starting a server: by the operator's commands, and never one that runs."""

from __future__ import annotations

from pathlib import Path

import pytest
from lutra_agent.config import RestartConfig
from lutra_agent.control import Control
from lutra_agent.errors import LoginRefused

from tests.support.fake_clock import FakeClock
from tests.support.fake_engine import FakeEngine


@pytest.fixture
def engine(tmp_path: Path) -> FakeEngine:
    return FakeEngine(tmp_path / "settings")


def test_a_start_after_which_the_agent_is_locked_out_is_not_followed_by_a_restart(
    engine: FakeEngine, tmp_path: Path
) -> None:
    engine.locks_out, said = True, tmp_path / "said"
    start, restart = (("/bin/sh", "-c", f"echo {word} >> {said}") for word in ("start", "restart"))
    control = Control(RestartConfig(command=restart, start_command=start, timeout_s=5.0), engine, FakeClock())
    with pytest.raises(LoginRefused, match="too many connections"):
        control.start()
    assert said.read_text().split() == ["start"]


def test_only_a_server_that_does_not_answer_is_down(engine: FakeEngine) -> None:
    control = Control(RestartConfig(), engine, FakeClock())
    assert control.up()
    engine.up = False
    assert not control.up()
    engine.up = engine.locks_out = True
    with pytest.raises(LoginRefused):
        control.up()

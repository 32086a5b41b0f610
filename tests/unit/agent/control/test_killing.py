"""Programs that take too long, where the agent may not end them: those that `sudo` runs belong to another account."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator

import pytest
from lutra_agent import killing
from lutra_agent.control import server as running
from lutra_agent.control.server import run_command
from lutra_agent.errors import ApplyRefused
from lutra_agent.linux import client
from lutra_agent.linux.client import HelperProgram
from lutra_agent.linux.requests import Request

from tests.support.waiting import PATIENCE_S

SLEEPS = ("sleep", "600")


@pytest.fixture
def anothers(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[subprocess.Popen[bytes]]]:
    """What was started and may not be killed."""
    started: list[subprocess.Popen[bytes]] = []
    really, kill = subprocess.Popen.__init__, os.killpg

    def begun(process: subprocess.Popen[bytes], *args: object, **more: object) -> None:
        really(process, *args, **more)  # type: ignore[call-overload]
        started.append(process)

    def may_not(_group: int, _signal: int) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(subprocess.Popen, "__init__", begun)
    monkeypatch.setattr(os, "killpg", may_not)
    monkeypatch.setattr(killing, "GONE_WITHIN_S", 0.1)
    monkeypatch.setattr(running, "_left", [])
    yield started
    for process in started:
        if process.poll() is None:
            kill(process.pid, 9)
        process.communicate()


def test_a_restart_command_that_cannot_be_ended_is_reported_and_runs_once(
    anothers: list[subprocess.Popen[bytes]],
) -> None:
    status, _ = run_command(SLEEPS, 0.1)
    assert "no answer within 0.1 s" in str(status)
    assert "is still running" in str(status)
    again, why = run_command(SLEEPS, 0.1)
    assert (again, len(anothers)) == ("an error", 1)
    assert str(anothers[0].pid) in why
    os.kill(anothers[0].pid, 9)
    anothers[0].wait()
    assert run_command(("true",), PATIENCE_S) == (0, "")


def test_a_helper_that_cannot_be_ended_holds_nobody_up(
    anothers: list[subprocess.Popen[bytes]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "TIMEOUT_S", 0.1)
    with pytest.raises(
        ApplyRefused, match=r"sleep: no answer within 0\.1 s \(process \d+ belongs to a different account"
    ):
        HelperProgram(SLEEPS).ask([Request("probe")])
    assert anothers[0].poll() is None


def test_what_the_agent_may_end_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "TIMEOUT_S", 0.1)
    monkeypatch.setattr(killing, "GONE_WITHIN_S", PATIENCE_S)
    with pytest.raises(ApplyRefused, match=r"no answer within 0\.1 s$"):
        HelperProgram(SLEEPS).ask([Request("probe")])
    assert run_command(SLEEPS, 0.1) == ("no answer within 0.1 s", "")

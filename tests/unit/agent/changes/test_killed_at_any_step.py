"""Wherever the agent is killed, and however often: a change is whole or undone, and its records say so."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lutra_agent.engines.common.source import Step
from lutra_agent.state import provisional
from lutra_agent.state.journal import JOURNAL
from lutra_agent.state.outbox import Outbox
from lutra_agent.state.store import State
from lutra_models.wire import ApplyCode, Outcome

from tests.support.directed import Directed
from tests.support.fake_clock import FakeClock
from tests.support.fake_engine import FakeControl, FakeEngine

TARGETS: tuple[dict[str, Any], ...] = (
    {"work_mem": 8192},
    {"work_mem": 8192, "jit": "off"},
    {"work_mem": 8192, "shared_buffers": 32768},
)
FAULTS = ("none", "refused", "does not start", "not active")


class Killed(BaseException):
    """The agent's process ended here."""


class Lives:
    """Ends the agent before its n-th step, for each n of `kills` one run; the run after these is not ended."""

    def __init__(self, kills: Sequence[int]) -> None:
        self.kills = list(kills)
        self.killed = 0
        self._left: int | None = None

    def begin(self) -> None:
        self._left = self.kills.pop(0) if self.kills else None

    def step(self) -> None:
        if self._left is not None:
            if self._left == 0:
                self.killed += 1
                raise Killed
            self._left -= 1


class MortalState(State):
    """Each file is a step: the agent may end before it is written, and right after."""

    def __init__(self, folder: Path, lives: Lives) -> None:
        super().__init__(folder)
        self._lives = lives

    def save(self, name: str, content: Any) -> None:
        self._lives.step()
        super().save(name, content)

    def forget(self, name: str) -> None:
        self._lives.step()
        super().forget(name)


class MortalEngine(FakeEngine):
    lives: Lives

    def execute(self, statements: Sequence[Step]) -> None:
        for statement in statements:
            self.lives.step()
            super().execute([statement])

    def reload(self) -> None:
        self.lives.step()
        super().reload()


class MortalControl(FakeControl):
    def _run(self, command: Sequence[str]) -> tuple[int | str, str]:
        assert isinstance(self.fake, MortalEngine)
        self.fake.lives.step()
        status = super()._run(command)
        self.fake.lives.step()
        return status


def agent(folder: Path, lives: Lives, fault: str) -> Directed:
    clock, engine = FakeClock(), MortalEngine(folder / "postgresql.auto.conf")
    engine.lives = lives
    if fault == "refused":
        engine.refuses = {"jit"}
    if fault == "does not start":
        engine.breaks = lambda file: "shared_buffers" in file
    if fault == "not active":
        engine.ignored = {"work_mem"}
    state = MortalState(folder / "state", lives)
    return Directed(engine, MortalControl(engine, clock, state=state), state, clock)


def until_it_lives(lives: Lives, first: Callable[[], object], again: Callable[[], object]) -> None:
    """`first`, then `again` in a new run of the agent for as long as one is killed."""
    attempt: Callable[[], object] = first
    while True:
        lives.begin()
        try:
            attempt()
            return
        except Killed:
            attempt = again


KILLS = st.lists(st.integers(0, 25), max_size=4)


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("target", TARGETS, ids=" ".join)
def test_one_kill_at_each_step(target: dict[str, Any], fault: str) -> None:
    step = 0
    while whole_or_undone(target, fault, [step], []) + whole_or_undone(target, fault, [], [step]):
        step += 1
    assert step > 5


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(st.sampled_from(TARGETS), st.sampled_from(FAULTS), KILLS, KILLS)
def test_several_kills_in_a_row(target: dict[str, Any], fault: str, kills: list[int], later_kills: list[int]) -> None:
    whole_or_undone(target, fault, kills, later_kills)


@pytest.mark.slow
@pytest.mark.parametrize("target", TARGETS, ids=" ".join)
def test_a_rollback_killed_at_each_step(target: dict[str, Any]) -> None:
    step = 0
    while rolled_back_or_not(target, [step]):
        step += 1
    assert step > 5


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(st.sampled_from(TARGETS), KILLS)
def test_a_rollback_killed_several_times(target: dict[str, Any], kills: list[int]) -> None:
    rolled_back_or_not(target, kills)


def rolled_back_or_not(target: dict[str, Any], kills: list[int]) -> int:
    """Roll a provisional change back under `kills`: it is rolled back, or still provisional; how many kills hit."""
    with TemporaryDirectory() as folder:
        lives = Lives(())
        made = agent(Path(folder), lives, "none")
        before = made.active()
        made.do(target)
        changed = made.active()
        lives.kills = list(kills)
        former = {n: before[n] for n in target}
        until_it_lives(lives, lambda: made.do(former, restore=True, rollback=True), lambda: made.executor().recover())
        recorded = made.state.recorded_outcome("rec_2")
        change = provisional.find(made.state)
        assert made.state.load(JOURNAL) is None
        if recorded is not None and recorded.outcome.state == "applied":
            assert made.active() == before
        else:
            assert made.active() == changed
            assert change is not None
            assert change.directive == "rec_1"
        return lives.killed


def whole_or_undone(target: dict[str, Any], fault: str, kills: list[int], later_kills: list[int]) -> int:
    """Apply a change under `kills` and, where it is applied then, undo it under `later_kills`; how many kills hit."""
    with TemporaryDirectory() as folder:
        lives = Lives(kills)
        made = agent(Path(folder), lives, fault)
        before, file = made.active(), made.engine.file
        until_it_lives(lives, lambda: made.do(target), lambda: made.executor().recover())
        recorded = made.state.recorded_outcome("rec_1")
        change = provisional.find(made.state)
        assert made.state.load(JOURNAL) is None
        if recorded is None or recorded.outcome.state != "applied":
            assert (made.active(), made.engine.file, change) == (before, file, None)
            assert recorded is None or recorded.outcome.state in ("reverted", "refused")
            return lives.killed
        assert {n: made.active()[n] for n in target} == {n: str(v) for n, v in target.items()}
        assert change is not None
        assert change.directive == "rec_1"
        undo_whole(made, lives, later_kills)
        assert (made.active(), made.engine.file) == (before, file)
        return lives.killed


def undo_whole(made: Directed, lives: Lives, kills: list[int]) -> None:
    code: ApplyCode = "guardrail"
    lives.kills = kills

    def undo() -> Outcome:
        change = provisional.find(made.state)
        assert change is not None
        return made.executor().undo(change, code, "why")

    def again() -> None:
        """As the loop does: what is half done first, then what the guardrails still ask for."""
        made.executor().recover()
        if provisional.find(made.state) is not None:
            undo()

    until_it_lives(lives, undo, again)
    recorded = made.state.recorded_outcome("rec_1")
    assert recorded is not None
    assert (recorded.outcome.state, recorded.outcome.code) == ("reverted", code)
    assert {(o.directive, o.state) for o in Outbox(made.state).outcomes()} == {("rec_1", "reverted")}
    assert (provisional.find(made.state), made.state.load(JOURNAL)) == (None, None)

"""Wherever the agent is killed, and however often: a change is whole or undone, and its record says so."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lutra_agent.state.store import State

from tests.support.agent.directed import Directed
from tests.support.agent.killed import whole_or_undone_in
from tests.support.agent.mortal import Lives, MortalControl, MortalEngine, MortalHost, mortal_disk, until_it_lives
from tests.support.fakes.clock import FakeClock
from tests.support.fakes.host import described
from tests.support.pytest_plugins.suites import examples

TARGETS: tuple[dict[str, Any], ...] = (
    {"work_mem": 8192},
    {"work_mem": 8192, "jit": "off"},
    {"work_mem": 8192, "shared_buffers": 32768},
    {"work_mem": 8192, "swappiness": 10},
    {"shared_buffers": 32768, "reserved_pages": 512, "swappiness": 10},
)
"""The latter two go through two setting sources."""
ELSEWHERE = ({"work_mem": 8192}, {"work_mem": 8192, "jit": "off"})
"""By statements alone: no file of this host is the server's."""
FAULTS = ("none", "refused", "refused by the host", "does not start", "not active")
KILLS = st.lists(st.integers(0, 70), max_size=4)


@contextmanager
def agent(fault: str, loses_power: bool) -> Iterator[tuple[Directed, Lives]]:
    with TemporaryDirectory() as name:
        folder = Path(name)
        clock, engine = FakeClock(), MortalEngine(folder / "postgresql.auto.conf")
        engine.lives = lives = Lives(folder, loses_power=loses_power)
        engine.host = MortalHost(folder / "host.conf", lives=lives)
        if fault == "refused by the host":
            engine.host.refuses = {"swappiness"}
        if fault == "refused":
            engine.refuses = {"jit"}
        if fault == "does not start":
            engine.breaks = lambda file: "shared_buffers" in file
        if fault == "runs elsewhere":
            engine.here, engine.identifier = False, "its own name"
        if fault == "not active":
            engine.ignored = {"work_mem"}
        state = State(folder / "state")
        with described(), mortal_disk(lives):
            yield Directed(engine, MortalControl(engine, clock, state=state), state, clock), lives


@pytest.mark.slow
@pytest.mark.parametrize("loses_power", [pytest.param(False, marks=pytest.mark.thorough), True])
@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("target", TARGETS, ids=" ".join)
def test_one_kill_at_each_step(target: dict[str, Any], fault: str, loses_power: bool) -> None:
    step = 0
    while whole_or_undone(target, fault, [step], [], loses_power):
        step += 1
    assert step >= 10


@pytest.mark.slow
@pytest.mark.parametrize("loses_power", [pytest.param(False, marks=pytest.mark.thorough), True])
@pytest.mark.parametrize("target", TARGETS, ids=" ".join)
def test_an_undo_killed_at_each_step(target: dict[str, Any], loses_power: bool) -> None:
    step = 0
    while whole_or_undone(target, "none", [], [step], loses_power):
        step += 1
    assert step >= 10


@pytest.mark.slow
@pytest.mark.parametrize("undo", [False, True], ids=["change", "undo"])
@pytest.mark.parametrize("target", ELSEWHERE, ids=" ".join)
def test_one_kill_at_each_step_beside_a_server_that_runs_elsewhere(target: dict[str, Any], undo: bool) -> None:
    step = 0
    while whole_or_undone(target, "runs elsewhere", [] if undo else [step], [step] if undo else [], True):
        step += 1
    assert step >= 10


@pytest.mark.slow
@examples(50, 150)
def test_several_kills_in_a_row(examples: int) -> None:
    @settings(max_examples=examples)
    @given(st.sampled_from(TARGETS), st.sampled_from(FAULTS), KILLS, KILLS, st.booleans())
    def whole(target: dict[str, Any], fault: str, kills: list[int], later: list[int], loses_power: bool) -> None:
        whole_or_undone(target, fault, kills, later, loses_power)

    whole()


@pytest.mark.slow
@pytest.mark.parametrize("loses_power", [pytest.param(False, marks=pytest.mark.thorough), True])
@pytest.mark.parametrize("target", TARGETS, ids=" ".join)
def test_a_rollback_killed_at_each_step(target: dict[str, Any], loses_power: bool) -> None:
    step = 0
    while rolled_back_or_not(target, [step], loses_power):
        step += 1
    assert step >= 10


@pytest.mark.slow
@examples(25, 60)
def test_a_rollback_killed_several_times(examples: int) -> None:
    @settings(max_examples=examples)
    @given(st.sampled_from(TARGETS), KILLS, st.booleans())
    def rolled_back(target: dict[str, Any], kills: list[int], loses_power: bool) -> None:
        rolled_back_or_not(target, kills, loses_power)

    rolled_back()


def rolled_back_or_not(target: dict[str, Any], kills: list[int], loses_power: bool) -> int:
    """Roll a provisional change back under `kills`: it is rolled back, or still provisional; how many kills hit."""
    with agent("none", loses_power) as (made, lives):
        before = made.active()
        made.do(target)
        changed = made.active()
        lives.kills = list(kills)
        former = {n: before[n] for n in target}
        until_it_lives(lives, lambda: made.do(former, restore=True, rollback=True), lambda: made.executor().recover())
        recorded, changes = made.outcome("rec_2"), made.changes
        assert changes.in_hand is None
        if recorded is not None and recorded.state == "applied":
            assert made.active() == before
            assert changes.watched is None
        else:
            assert made.active() == changed
            assert changes.provisional is not None
            assert changes.provisional.directive == "rec_1"
        return lives.killed


def whole_or_undone(
    target: dict[str, Any], fault: str, kills: list[int], later_kills: list[int], loses_power: bool
) -> int:
    """Apply a change under `kills` and, where it is applied then, undo it under `later_kills`; how many kills hit."""
    with agent(fault, loses_power) as (made, lives):
        return whole_or_undone_in(made, lives, target, kills, later_kills)

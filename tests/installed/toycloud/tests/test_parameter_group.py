"""A source behind an API: no file, values that become active later, and no line of its own in the agent."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from lutra_agent.changes.restore import restore
from lutra_agent.engines.common.engine import Engine
from lutra_agent.state.snapshot import BASELINE, stored_snapshots
from lutra_agent.state.store import State
from lutra_models.catalog import load
from lutra_models.catalog.statements import renderer
from lutra_models.wire import Outcome
from toycloud.api import DEFAULTS, DELAY_S, Api
from toycloud.source import RENDERER, ParameterGroup

from tests.support.agent.directed import Directed
from tests.support.agent.killed import whole_or_undone_in
from tests.support.agent.mortal import Lives, MortalControl, MortalEngine, mortal_disk
from tests.support.conformance.source import Kept, SourceConformance
from tests.support.fakes.clock import FakeClock

ROOT = Path(__file__).parents[4]
AT_ONCE: dict[str, Any] = {"cache": 512, "compress": "yes"}
WITH_RESTART: dict[str, Any] = {"cache": 512, "workers": 8}
CASES = ((AT_ONCE, "none"), (AT_ONCE, "refused"), (WITH_RESTART, "none"), (WITH_RESTART, "does not start"))


class MortalApi(Api):
    """The agent may end before each question, and before each modification."""

    lives: Lives

    def modify(self, name: str, text: str | None) -> None:
        self.lives.step()
        super().modify(name, text)
        self.lives.step()

    def in_sync(self) -> bool:
        self.lives.step()
        return super().in_sync()


class Managed(MortalEngine):
    """The server in memory, which the cloud starts and gives its settings. This host has nothing of it."""

    api: MortalApi

    @property
    def opened(self) -> Engine:
        return Engine("toycloud", self, self, (ParameterGroup(self.api),))

    @property
    def file(self) -> dict[str, str]:
        return dict(self.api.group)

    def active(self) -> dict[str, str]:
        return dict(self.api.active)

    def take_file(self, restarted: bool) -> None:
        if restarted:
            self.api.restarted()


@contextmanager
def managed(fault: str = "none") -> Iterator[tuple[Directed, Lives]]:
    with TemporaryDirectory() as name:
        folder, clock = Path(name), FakeClock()
        server = Managed(folder / "none.conf", here=False, identifier="its name in the cloud", family="toycloud")
        lives = server.lives = Lives(folder, loses_power=True)
        api = server.api = MortalApi(clock.monotonic)
        api.lives = lives
        if fault == "refused":
            api.refuses = {"compress"}
        if fault == "does not start":
            server.breaks = lambda _: api.given["workers"] != DEFAULTS["workers"]
        state = State(folder / "state")
        with mortal_disk(lives):
            yield Directed(server, MortalControl(server, clock, state=state), state, clock), lives


def api_of(made: Directed) -> MortalApi:
    assert isinstance(made.engine, Managed)
    return made.engine.api


def undo(made: Directed) -> Outcome:
    change = made.changes.watched
    assert change is not None
    return made.executor().undo(change, "guardrail", "why")


class TestParameterGroup(SourceConformance):
    @pytest.fixture
    def kept(self) -> Kept:
        seconds = count()
        return Kept(ParameterGroup(Api(lambda: float(next(seconds)))), "1", AT_ONCE)


@pytest.mark.parametrize("target", [AT_ONCE, WITH_RESTART], ids=" ".join)
def test_a_change_is_applied_once_the_server_has_its_values_and_is_undone_as_exactly(target: dict[str, Any]) -> None:
    with managed() as (made, _):
        before = made.active()
        outcome = made.do(target)
        assert (outcome.state, outcome.message, outcome.restarted) == ("applied", "", "workers" in target)
        assert outcome.active == target
        assert made.clock.seconds >= DELAY_S
        assert max(made.clock.slept) > 1.0
        assert undo(made).state == "reverted"
        assert (made.active(), made.file) == (before, {})
        assert api_of(made).in_sync()


def test_a_value_that_prevents_the_start_is_taken_back_while_the_server_is_down() -> None:
    with managed("does not start") as (made, _):
        before = made.active()
        outcome = made.do(WITH_RESTART)
        assert (outcome.state, outcome.code) == ("reverted", "did_not_start")
        assert made.engine.up
        assert (made.active(), made.file) == (before, {})


def test_what_the_cloud_does_not_deliver_in_time_is_undone_and_the_server_is_not_restarted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with managed() as (made, _):
        with monkeypatch.context() as patched:
            patched.setattr(api_of(made), "in_sync", lambda: False)
            outcome = made.do(WITH_RESTART)
        assert (outcome.state, outcome.code) == ("failed", "not_active_after_apply")
        assert "still in progress after 60 s: server" in outcome.message
        assert made.executor().recover() is not None
        assert (made.active(), made.file, made.control.restarts) == (DEFAULTS, {}, 0)


@pytest.mark.slow
@pytest.mark.parametrize(("target", "fault"), CASES)
def test_one_kill_at_each_step(target: dict[str, Any], fault: str) -> None:
    step = 0
    while whole_or_undone(target, fault, [step], []):
        step += 1
    assert step >= 10


@pytest.mark.slow
@pytest.mark.parametrize("target", [AT_ONCE, WITH_RESTART], ids=" ".join)
def test_an_undo_killed_at_each_step(target: dict[str, Any]) -> None:
    step = 0
    while whole_or_undone(target, "none", [], [step]):
        step += 1
    assert step >= 10


def whole_or_undone(target: dict[str, Any], fault: str, kills: list[int], later_kills: list[int]) -> int:
    """The same as of every source; nor is anything on its way when the agent has said that the change is undone."""
    with managed(fault) as (made, lives):
        killed = whole_or_undone_in(made, lives, target, kills, later_kills)
        assert api_of(made).in_sync()
        return killed


def test_nothing_outside_its_folder_names_it_but_its_entry_points() -> None:
    sources = (p for folder in ("agent", "models", "service", "lab", "client") for p in (ROOT / folder).rglob("*"))
    assert not [p for p in sources if p.suffix in (".py", ".toml") and "toycloud" in p.read_text(errors="replace")]
    assert load("toycloud").source == "server"
    assert renderer("toycloud") is RENDERER


def test_a_rollback_restores_the_group_before_it_starts_the_server() -> None:
    with managed() as (made, _):
        before = made.active()
        made.do(WITH_RESTART)
        baseline = stored_snapshots(made.state, BASELINE)
        assert baseline is not None
        made.engine.breaks = lambda _: api_of(made).given["workers"] != DEFAULTS["workers"]
        made.engine.up = False
        restore(made.engine.opened, made.control, baseline, [], restart=False)
        assert made.engine.up
        assert (made.active(), made.file) == (before, {})

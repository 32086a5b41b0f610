"""Whole lives of an agent beside a server in memory: changes, guards, rollbacks, faults and kills in any order.

Whatever happens, nobody but an operator starts a server that was shut down, no configuration is active that nobody
asked for, none stays that nothing confirmed and nobody watches, and each outcome reaches the service.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lutra_agent.commands import rollback
from lutra_agent.state.change_store import ChangeStore
from lutra_agent.state.snapshot import LAST_KNOWN_GOOD, active_in, stored_snapshots
from lutra_models.errors import LutraError
from lutra_models.maintenance import WEEKDAYS, MaintenanceWindow
from lutra_models.wire import Outcome, Rules

from tests.support.agent.loops import WATCHED, Bench, Line, bench, turn
from tests.support.agent.mortal import Lives, MortalEngine, mortal_disk, until_it_lives
from tests.support.fakes.clock import FakeClock
from tests.support.pytest_plugins.suites import examples

TARGETS: tuple[dict[str, Any], ...] = (
    {"work_mem": 8192, "jit": "off"},
    {"shared_buffers": 32768, "work_mem": 16384},
    {"random_page_cost": 2.0, "max_wal_size": 2048},
)
Configuration = tuple[tuple[str, str], ...]


@dataclass
class Life:
    folder: Path
    lives: Lives
    made: Bench
    line: Line
    given: int = 0
    shut_down: bool = False
    targets: dict[str, dict[str, Any]] = field(default_factory=dict)
    bases: dict[str, set[Configuration]] = field(default_factory=dict)
    """What a directive may have been applied to: what was active, or what an undo restored just before."""
    asked: dict[str, Configuration] = field(default_factory=dict)
    settled: set[Configuration] = field(default_factory=set)
    seen: dict[str, list[Outcome]] = field(default_factory=dict)

    def active(self) -> Configuration:
        return _plain({n: s.value for n, s in self.made.engine.settings.items()})

    def do(self, action: str, kills: list[int]) -> None:
        """The action, and a new run of the agent for as long as one is killed."""
        self.lives.kills = list(kills)
        until_it_lives(self.lives, getattr(self, action), self.restart_the_agent)
        self.holds()

    def restart_the_agent(self) -> None:
        self.made = born(self.folder, self.made.engine, self.line, self.made.clock)
        self.well()

    def well(self) -> None:
        self.made.engine.p99_ms = 12.5
        turn(self.made, 2)

    def badly(self) -> None:
        self.made.engine.p99_ms = 60.0
        turn(self.made, 3)

    def change(self) -> None:
        target = TARGETS[self.given % len(TARGETS)]
        if self.given % 2:
            target = {n: _former(n) for n in target} if self.given % 4 == 3 else target
        self._offer(target)

    def roll_back(self) -> None:
        """As the service asks for it: the settings of all targets as they were at first."""
        self._offer({n: _former(n) for t in TARGETS for n in t}, restore=True, rollback=True)

    def _offer(self, target: dict[str, Any], **more: Any) -> None:
        self.given += 1
        name = f"rec_{self.given}"
        turn(self.made)
        self.targets[name], self.bases[name] = target, {self.active(), *self.settled}
        self.asked[name] = _with(self.active(), target)
        self.made.offer(target, name, **more)
        turn(self.made)

    def roll_back_on_the_host(self) -> None:
        with pytest.MonkeyPatch.context() as patched, suppress(LutraError, OSError):
            patched.setattr(rollback, "local_database", lambda config, clock: self.made.database)
            list(rollback.roll_back(self.made.database.config, LAST_KNOWN_GOOD, restart=True))
        self.made.state.resume()
        self.shut_down = self.shut_down and not self.made.engine.up

    def wait(self) -> None:
        self.made.clock.seconds += 400

    def fill_the_disk(self) -> None:
        self.lives.full = True
        turn(self.made)

    def free_the_disk(self) -> None:
        self.lives.full = False

    def break_the_server(self) -> None:
        """It runs, and no file lets it start."""
        self.made.engine.breaks = lambda file: True

    def lock_the_agent_out(self) -> None:
        self.made.engine.locks_out = True
        turn(self.made, 3)

    def heal_the_server(self) -> None:
        self.made.engine.breaks = lambda file: False
        self.made.engine.locks_out = False

    def crash_the_server(self) -> None:
        self.made.engine.up = False
        turn(self.made)

    def shut_the_server_down(self) -> None:
        if self.made.engine.up:
            self.made.engine.shut_down()
            self.shut_down = True
        turn(self.made, 12)

    def start_the_server(self) -> None:
        if not self.made.engine.up:
            self.made.engine.start()
            self.shut_down = self.shut_down and not self.made.engine.up
        turn(self.made)

    def holds(self) -> None:
        assert not (self.shut_down and self.made.engine.up)
        changes = ChangeStore(self.made.state).load()
        for record in changes.records:
            outcomes = self.seen.setdefault(record.directive, [])
            outcomes += [o for o in (*record.unreported, record.outcome) if o is not None and o not in outcomes]
            if record.before:
                base = _plain(active_in(record.before))
                assert base in self.bases[record.directive]
                self.asked[record.directive] = _with(base, self.targets[record.directive])
            if any(o.state == "confirmed" for o in outcomes):
                self.settled.add(self.asked[record.directive])
        good = stored_snapshots(self.made.state, LAST_KNOWN_GOOD)
        if good is not None:
            assert _plain(active_in(good)) in self.settled
        if changes.in_hand is not None:
            return
        active = self.active()
        if active in self.settled:
            return
        assert changes.watched is not None, "active, and neither confirmed nor watched"
        assert active == self.asked[changes.watched.directive]

    def ends_well(self) -> None:
        self.heal_the_server()
        self.lives.full = False
        self.made.state.resume()
        if self.shut_down:
            self.start_the_server()
        for _ in range(3):
            self.well()
            self.holds()
        if not self.made.engine.up:  # somebody else stopped it, and no change was alive
            self.made.engine.start()
        for _ in range(25):
            self.well()
        changes = ChangeStore(self.made.state).load()
        assert (changes.in_hand, changes.watched, changes.due) == (None, None, [])
        self.holds()
        reported = [o for r in self.line.reports for o in r.outcomes]
        for outcomes in self.seen.values():
            assert all(o in reported for o in outcomes)
        if not self.lives.killed:
            assert all(reported.count(o) == 1 for o in reported)


def _former(name: str) -> Any:
    return {"work_mem": 4096, "jit": "on", "shared_buffers": 16384, "random_page_cost": 4.0, "max_wal_size": 1024}[name]


def _with(active: Configuration, target: dict[str, Any]) -> Configuration:
    return _plain({**dict(active), **target})


def _plain(values: Mapping[str, Any]) -> Configuration:
    """One spelling of each number."""
    return tuple(sorted((n, str(v) if str(v).isalpha() else str(float(v))) for n, v in values.items()))


def born(folder: Path, engine: MortalEngine, line: Line, clock: FakeClock) -> Bench:
    return bench(
        folder, "restart_in_window", with_driver=False, guarding=WATCHED, engine=engine, clock=clock, line=line
    )


@contextmanager
def living(loses_power: bool) -> Iterator[Life]:
    with TemporaryDirectory() as name:
        folder, clock = Path(name), FakeClock()
        lives, line = Lives(folder, loses_power=loses_power), Line(clock)
        line.rules = Rules(maintenance_windows=(MaintenanceWindow(WEEKDAYS, "00:00", 1440),))
        engine = MortalEngine(folder / "postgresql.auto.conf")
        engine.lives = lives
        with mortal_disk(lives):
            life = Life(folder, lives, born(folder, engine, line, clock), line)
            life.settled.add(life.active())
            turn(life.made, 6)
            yield life


ACTIONS = [
    *["change"] * 6,
    *["well"] * 4,
    *["badly"] * 3,
    "roll_back",
    "roll_back_on_the_host",
    "restart_the_agent",
    "wait",
    "fill_the_disk",
    *["free_the_disk"] * 2,
    "break_the_server",
    "lock_the_agent_out",
    "crash_the_server",
    "shut_the_server_down",
    *["start_the_server"] * 2,
    *["heal_the_server"] * 3,
]
KILLS = st.one_of(st.just([]), st.lists(st.integers(0, 120), min_size=1, max_size=3))
STEPS = st.lists(st.tuples(st.sampled_from(ACTIONS), KILLS), min_size=1, max_size=10)


@pytest.mark.slow
@examples(15, 60)
def test_a_life_in_any_order_ends_with_nothing_forgotten(examples: int) -> None:
    @settings(max_examples=examples)
    @given(STEPS, st.booleans())
    def ends_well(steps: list[tuple[str, list[int]]], loses_power: bool) -> None:
        with living(loses_power) as life:
            for action, kills in steps:
                life.do(action, kills)
            life.ends_well()

    ends_well()

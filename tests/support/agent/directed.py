"""An agent's side of a directive against a server in memory, outside a lab unless a test says otherwise."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

from lutra_agent.admission.bounds import Bounds, Pace
from lutra_agent.changes.executor import DirectiveExecutor
from lutra_agent.state.change_events import Confirmed, WatchEnded, WindowPassed
from lutra_agent.state.change_record import Changes
from lutra_agent.state.change_store import ChangeStore
from lutra_agent.state.store import State
from lutra_models.history import Mode
from lutra_models.maintenance import WEEKDAYS, MaintenanceWindow
from lutra_models.server import Host
from lutra_models.wire import Directive, Outcome

from tests.support.fakes.clock import FakeClock
from tests.support.fakes.engine import HOST, FakeControl, FakeEngine

ALWAYS = MaintenanceWindow(WEEKDAYS, "00:00", 1440)
NEVER_TODAY = MaintenanceWindow(("sat",), "12:00", 60)
"""The tests' clock stands on a Sunday."""
MEMORY_FRACTION = 0.8
CONFIRM_S = 300.0
WATCH = timedelta(hours=1)


@dataclass
class Directed:
    engine: FakeEngine
    control: FakeControl
    state: State
    clock: FakeClock
    mode: Mode = "restart_in_window"
    windows: tuple[MaintenanceWindow, ...] = (ALWAYS,)
    own_windows: tuple[MaintenanceWindow, ...] = ()
    durability: bool = False
    by_catalogue: bool = True
    driver: bool = False
    pace: Pace = field(default_factory=lambda: Pace(1000, 1000))
    given: int = 0
    host: Host = HOST

    def bounds(self) -> Bounds:
        change = self.changes.provisional
        return Bounds(
            self.mode,
            self.state.paused,
            MEMORY_FRACTION,
            self.windows,
            unconfirmed=change and change.directive,
            confirm_s=CONFIRM_S,
            durability=self.durability,
            driver=self.driver,
            own_windows=self.own_windows,
            by_catalogue=self.by_catalogue,
            pace=self.pace,
        )

    def do(self, settings: dict[str, Any], **more: Any) -> Outcome:
        """As a service would send it. Each directive has a name of its own unless a test gives one."""
        self.given += 1
        name = f"rec_{self.given}"
        fields: dict[str, Any] = {"id": name, "recommendation": name, "settings": settings, "restart_allowed": True}
        fields |= {"measure": self.driver, "expires_at": self.clock.now() + timedelta(minutes=5), **more}
        return self.executor().execute(Directive.model_validate(fields))

    def executor(self) -> DirectiveExecutor:
        """Another run of the agent over the same folder."""
        store, read = ChangeStore(self.state), partial(self.engine.server, self.host)
        return DirectiveExecutor(self.engine.opened, self.state, store, self.control, self.clock, read, self.bounds)

    def confirm(self) -> None:
        """Its windows were good, and nobody watches it any more."""
        change = self.watch()
        if change is not None:
            ChangeStore(self.state).write(WatchEnded(change, self.clock.now() + WATCH))

    def watch(self) -> str | None:
        """Its windows were good, and guardrails go on watching it."""
        change, now, store = self.changes.watched, self.clock.now(), ChangeStore(self.state)
        if change is not None and not change.confirmed:
            store.write(WindowPassed(change.directive, now))
            confirmed = Outcome(directive=change.directive, state="confirmed", at=now)
            store.write(Confirmed(confirmed, now, now + WATCH / 2))
        return change and change.directive

    @property
    def changes(self) -> Changes:
        return ChangeStore(self.state).load()

    @property
    def unconfirmed(self) -> bool:
        return self.changes.provisional is not None

    def outcome(self, directive: str) -> Outcome | None:
        record = self.changes.of(directive)
        return None if record is None else record.outcome

    def active(self) -> dict[str, str]:
        own = self.engine.active()
        return own if self.engine.host is None else {**own, **self.engine.host.active()}

    @property
    def file(self) -> dict[str, str]:
        """What the settings files say."""
        return self.engine.file if self.engine.host is None else {**self.engine.file, **self.engine.host.file}


def directed(folder: Path, **more: Any) -> Directed:
    clock = FakeClock()
    engine = FakeEngine(folder / "postgresql.auto.conf")
    state = State(folder / "state")
    return Directed(engine, FakeControl(engine, clock, state=state), state, clock, **more)

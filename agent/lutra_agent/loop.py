"""The agent's loop: look, report, wait for a directive, carry it out. One thread, and time is an argument."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol

from lutra_models.catalog.facts import Server
from lutra_models.wire import Directive, Outcome

from lutra_agent import guard
from lutra_agent.carry_out import CarryOut
from lutra_agent.clock import Clock
from lutra_agent.config import AgentConfig
from lutra_agent.drivers.base import Driver, DriverFailed
from lutra_agent.engines.base import Engine, Sample
from lutra_agent.errors import ApplyRefused, CollectionFailed, DatabaseUnavailable, DidNotStart
from lutra_agent.measure import Measure
from lutra_agent.reports import Content, Reports
from lutra_agent.state import State
from lutra_agent.throttle import Throttle
from lutra_agent.window import Discarded

log = logging.getLogger(__name__)


class Shield(Protocol):
    """Holds back the signals that end the agent while a change is under way."""

    def __enter__(self) -> object: ...
    def __exit__(self, *error: object) -> None: ...


@dataclass(frozen=True)
class Parts:
    """What the loop is made of; the composition root is `lutra_agent.run`."""

    config: AgentConfig
    clock: Clock
    engine: Engine
    state: State
    measure: Measure
    carry_out: CarryOut
    reports: Reports
    look: Callable[[], Server]
    driver: Driver | None
    shield: Shield


class Loop:
    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._throttle = Throttle(log)
        self._server: Server | None = None
        self._before: Sample | None = None
        self._warmup = 0
        self._cycle_s = 0.0
        self._told_s: float | None = None
        self.problems: list[str] = []

    def run(self, ended: Callable[[], bool] = lambda: False) -> None:
        while not ended():
            self.cycle()

    def cycle(self) -> None:
        """One interval, or less where a directive comes: then the next cycle begins at once."""
        self._cycle_s = self._parts.clock.monotonic()
        directive = self._observe()
        if directive is None:
            directive = self._wait()
        if directive is not None and not self._carry_out(directive):
            self._sleep()

    def _observe(self) -> Directive | None:
        """Recover if need be, ship a window or a heartbeat; the answer may bring a directive."""
        try:
            self._recover()
            self._parts.engine.ping()
            self._throttle.worked("reaching the database")
            self.problems = []
            self._look_around()
        except (DatabaseUnavailable, CollectionFailed, DidNotStart, ApplyRefused) as error:
            self._close_gate(error)
        return self._parts.reports.flush()

    def _recover(self) -> None:
        with self._parts.shield:
            outcome = self._parts.carry_out.recover()
        if outcome is not None:
            self._changed()
            self._report(outcome, Content(measures=outcome.directive, failure=outcome.code or "reverted"))

    def _look_around(self) -> None:
        server = self._parts.look()
        if self._server is not None and self._server.settings_hash != server.settings_hash:
            self._changed()
        self._server = server
        if guard.find(self._parts.state, guard.LAST_KNOWN_GOOD) is None:
            self._confirm(server)
        if not self._due():
            return
        content = Content() if self._parts.driver is not None else self._window()
        self._put(server, content)
        if content.window is not None:
            self._confirm(server)

    def _window(self) -> Content:
        """The window since the last sample; a heartbeat where there is none, or where it was a warm-up."""
        before, after = self._before, self._parts.measure.sample()
        self._before = after
        if before is None:
            return Content()
        found = self._parts.measure.window(before, after)
        if isinstance(found, Discarded):
            log.info("a window was discarded: %s", found.reason)
            return Content()
        if self._warmup > 0:
            self._warmup -= 1
            return Content()
        return found

    def _close_gate(self, error: Exception) -> None:
        self._throttle.failed("reaching the database", error)
        self._before = None
        self.problems = [str(error)[:1000]]
        if self._server is not None and self._due():
            self._put(self._server, Content())

    def _wait(self) -> Directive | None:
        """Wait out the interval; in modes that change something, at the service's door."""
        left = self._left()
        if self._parts.config.mode == "observe" or left <= 0:
            self._parts.clock.sleep(max(left, 0.0))
            return None
        directive = self._parts.reports.poll(max(round(left), 1))
        if directive is None:
            self._sleep()
        return directive

    def _carry_out(self, directive: Directive) -> bool:
        """False where there was nothing new to do."""
        known = self._parts.state.answer(directive.id)
        if known is not None and (known.reported or not directive.measure or known.outcome.state != "applied"):
            self._report(known.outcome, Content())
            return False
        if known is None:
            with self._parts.shield:
                outcome = self._parts.carry_out.directive(directive)
        else:
            outcome = known.outcome
        self._changed()
        self._report(outcome, self._result(directive, outcome))
        return True

    def _result(self, directive: Directive, outcome: Outcome) -> Content:
        """What is to be told besides the outcome: the driver's window, or why there is none."""
        if outcome.code == "did_not_start":
            return Content(measures=directive.id, failure="did_not_start")
        if outcome.state != "applied" or not directive.measure:
            return Content()
        if self._parts.driver is None:
            return Content(measures=directive.id, failure="driver_failed")
        try:
            content = self._parts.measure.driven(self._parts.driver)
            self._confirm(self._parts.look())
            return replace(content, measures=directive.id)
        except (DriverFailed, DatabaseUnavailable, CollectionFailed) as error:
            log.error("no measurement under directive %s: %s", directive.id, error)
            return Content(measures=directive.id, failure="driver_failed")

    def _report(self, outcome: Outcome, content: Content) -> None:
        """Tell an outcome; it counts as told once it is in the spool."""
        try:
            self._server = self._parts.look()
        except (DatabaseUnavailable, CollectionFailed) as error:
            self._throttle.failed("reaching the database", error)
        if self._server is not None:
            self._put(self._server, replace(content, outcomes=[outcome]))
            self._parts.state.remember(outcome, reported=True)

    def _changed(self) -> None:
        self._before = None
        self._warmup = self._parts.config.warmup_windows

    def _confirm(self, server: Server) -> None:
        """A configuration under which a window was measured is one to come back to."""
        guard.keep(self._parts.state, guard.LAST_KNOWN_GOOD, guard.take(self._parts.engine, server))

    def _put(self, server: Server, content: Content) -> None:
        self._parts.reports.put(server, content)
        self._told_s = self._cycle_s

    def _due(self) -> bool:
        """Whether an interval lies between this cycle's begin and the begin of the last one that told something."""
        return self._told_s is None or self._cycle_s - self._told_s >= 0.99 * self._parts.config.interval_s

    def _sleep(self) -> None:
        self._parts.clock.sleep(max(self._left(), 0.0))

    def _left(self) -> float:
        return self._parts.config.interval_s - (self._parts.clock.monotonic() - self._cycle_s)

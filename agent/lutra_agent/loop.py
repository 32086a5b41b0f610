"""The agent's loop: look, report, wait for a directive, carry it out. One thread, and time is an argument.

It alone talks to the database and writes the state folder. It never talks to the service itself: see `service_link`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace

from lutra_models.catalog.facts import Server
from lutra_models.wire import Directive, Outcome

from lutra_agent import guard, provisional
from lutra_agent.drivers.base import DriverFailed
from lutra_agent.errors import ApplyRefused, CollectionFailed, DatabaseUnavailable, DidNotStart, NotYet
from lutra_agent.outbox import Outbox
from lutra_agent.parts import Parts
from lutra_agent.reports import Content
from lutra_agent.throttle import Throttle
from lutra_agent.watch import Verdict
from lutra_agent.windows import Windows

log = logging.getLogger(__name__)


class Loop:
    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._throttle = Throttle(log)
        self._server: Server | None = None
        self._windows = Windows(parts)
        self._outbox = Outbox(parts.state)
        self._cycle_s = 0.0
        self._told_s: float | None = None
        self._held = ""
        self.problems: list[str] = []

    def run(self, ended: Callable[[], bool] = lambda: False) -> None:
        while not ended():
            self.cycle()

    def cycle(self) -> None:
        """One interval, or less where a directive comes: then the next cycle begins at once."""
        self._cycle_s = self._parts.clock.monotonic()
        try:
            self._turn()
        except OSError as error:  # the agent's own disk may be full for a while
            self._throttle.failed("writing to the agent's folder", error)
            self._sleep()
        except Exception as error:  # an agent that ends takes nothing back
            log.exception("this interval ended in an error of the agent's own")
            self._held = f"an error of the agent's own: {error}"[:1000]
            self._sleep()

    def _turn(self) -> None:
        self._observe()
        self._parts.service.send()
        directive = self._wait()
        self._held = ""
        if directive is not None and not self._carry_out(directive):
            self._sleep()

    def _observe(self) -> None:
        """Recover if need be, keep a window or a heartbeat for the service."""
        try:
            self._recover()
            self._parts.engine.ping()
            self._throttle.worked("reaching the database")
            self.problems = [self._held] if self._held else []
            self._look_around()
        except (DatabaseUnavailable, CollectionFailed, DidNotStart, ApplyRefused) as error:
            self._close_gate(error)

    def _recover(self) -> None:
        with self._parts.shield:
            outcome = self._parts.carry_out.recover()
        if outcome is not None:
            self._went_back(outcome)

    def _went_back(self, outcome: Outcome) -> None:
        """The configuration failed; one that only nobody confirmed in time may be a good one."""
        self._changed(outcome.restarted)
        blamed = outcome.code != "not_confirmed"
        failure = (outcome.code or "reverted") if blamed else None
        self._report(outcome, Content(measures=outcome.directive if blamed else None, failure=failure))

    def _look_around(self) -> None:
        server = self._parts.look()
        if self._server is not None and self._server.settings_hash != server.settings_hash:
            self._changed()
        self._server = server
        change = provisional.find(self._parts.state)
        if change is None and guard.find(self._parts.state, guard.LAST_KNOWN_GOOD) is None:
            self._confirm(server)
        if not self._due():
            return
        content, verdict = Content(), Verdict()
        if self._guarded():
            content = self._windows.next()
            verdict = self._windows.judged(content)
        if verdict.code is None and content.window is not None and (verdict.change is None or verdict.change.confirmed):
            self._confirm(server)
        if verdict.confirmed and verdict.change is not None:
            self._parts.carry_out.confirm(verdict.change)
        self._put(server, content)
        self._take_back(verdict)

    def _guarded(self) -> bool:
        """A lab's trials are measured by its driver, and between them there is nothing to guard."""
        return self._parts.driver is None or provisional.find(self._parts.state) is not None

    def _take_back(self, verdict: Verdict) -> None:
        if verdict.change is None or verdict.code is None:
            return
        with self._parts.shield:
            outcome = self._parts.carry_out.take_back(verdict.change, verdict.code, verdict.reason)
        self._went_back(outcome)

    def _close_gate(self, error: Exception) -> None:
        self._throttle.failed("reaching the database", error)
        self._windows.broken()
        self.problems = [str(error)[:1000]]
        if not self._due():
            return
        verdict = self._silence(error) if self._guarded() else Verdict()
        if self._server is not None:
            self._put(self._server, Content())
        try:
            self._take_back(verdict)
        except (DatabaseUnavailable, DidNotStart, ApplyRefused, CollectionFailed) as barred:
            log.critical("the change cannot be undone yet: %s", barred)

    def _silence(self, error: Exception) -> Verdict:
        if isinstance(error, DatabaseUnavailable):
            return self._windows.unanswered()
        return self._windows.unread() if isinstance(error, CollectionFailed) else Verdict()

    def _wait(self) -> Directive | None:
        """Wait out the interval; in modes that change something, with a question for a directive."""
        news = self._parts.service.wait(max(self._left(), 0.0), ask=self._parts.config.mode != "observe")
        if news.rules is not None:
            self._parts.told.keep(news.rules)
        if news.settings_wanted:
            self._parts.reports.send_settings_again()
        return news.directive

    def sent(self, within_s: float) -> bool:
        """Whether the service has all reports, within so many seconds."""
        return self._parts.service.sent(within_s)

    def _carry_out(self, directive: Directive) -> bool:
        """False where nothing new was done: what is refused, over and over perhaps, waits for the next interval."""
        known = self._parts.state.answer(directive.id)
        if known is not None and (known.reported or not directive.measure or known.outcome.state != "applied"):
            self._report(known.outcome, Content())
            return False
        if known is None:
            if directive.rules is not None:
                self._parts.told.keep(directive.rules)
            try:
                with self._parts.shield:
                    outcome = self._parts.carry_out.directive(directive)
            except NotYet as waits:
                self._held = str(waits)
                return False
        else:
            outcome = known.outcome
        if outcome.state == "refused":
            self._report(outcome, Content())
            return False
        if outcome.restarted or self._moved():
            self._changed(outcome.restarted)
        self._report(outcome, self._result(directive, outcome))
        self._parts.service.send()
        return True

    def _moved(self) -> bool:
        """Whether a directive changed anything: what guards have seen would be lost for one that did not."""
        try:
            return self._server is None or self._parts.look().settings_hash != self._server.settings_hash
        except (DatabaseUnavailable, CollectionFailed):
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
        if self._server is not None and self._put(self._server, replace(content, outcomes=[outcome])):
            self._parts.state.remember(outcome, reported=True)

    def _changed(self, restarted: bool = False) -> None:
        self._windows.anew(restarted)
        self._parts.watch.anew()

    def _confirm(self, server: Server) -> None:
        """A configuration under which a window was measured is one to come back to."""
        guard.keep(self._parts.state, guard.LAST_KNOWN_GOOD, guard.take(self._parts.engine, server))

    def _put(self, server: Server, content: Content) -> bool:
        """Whether a report is kept that holds it, and all else that was still to be told."""
        self._told_s = self._cycle_s
        outbox = self._outbox
        try:
            waiting = [o for o in outbox.outcomes() if o not in content.outcomes]
            outcomes = [*content.outcomes, *waiting]
            self._parts.reports.put(server, replace(content, outcomes=outcomes, events=outbox.events()))
            outbox.told()
        except OSError as error:
            self._throttle.failed("keeping a report", error)
            return False
        return True

    def _due(self) -> bool:
        """Whether an interval lies between this cycle's begin and the begin of the last one that told something."""
        return self._told_s is None or self._cycle_s - self._told_s >= 0.99 * self._parts.config.interval_s

    def _sleep(self) -> None:
        self._parts.clock.sleep(max(self._left(), 0.0))

    def _left(self) -> float:
        return self._parts.config.interval_s - (self._parts.clock.monotonic() - self._cycle_s)

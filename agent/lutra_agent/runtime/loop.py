"""The agent's loop: measure, report, wait for a directive, execute it. One thread, and time is an argument.

Only it talks to the database and writes the state folder. It never talks to the service itself: see `service_link`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import replace

from lutra_models.ending import Level
from lutra_models.errors import ApplyCode, LutraError, MeasureCode
from lutra_models.server import Server
from lutra_models.wire import AgentStatus, Directive, Outcome

from lutra_agent.changes.snapshots import take_snapshots
from lutra_agent.drivers.base import Driver
from lutra_agent.errors import ApplyRefused, CollectionFailed, DatabaseUnavailable, Deferred, DidNotStart, DriverFailed
from lutra_agent.guardrails.monitor import Verdict
from lutra_agent.log_throttle import LogThrottle
from lutra_agent.metrics.measure import Measure
from lutra_agent.reporting.content import Content
from lutra_agent.reporting.reports import Reports
from lutra_agent.reporting.service_link import ServiceLink
from lutra_agent.runtime.local_database import LocalDatabase
from lutra_agent.runtime.signals import SignalDeferral
from lutra_agent.runtime.status import LONGEST_PROBLEM, status_of
from lutra_agent.runtime.windows import Windows
from lutra_agent.state.change_events import Reported
from lutra_agent.state.guard_events import GuardEvents
from lutra_agent.state.host_rollbacks import HostRollbacks
from lutra_agent.state.snapshot import LAST_KNOWN_GOOD, store_snapshots, stored_snapshots

MOST_OUTCOMES = 100
"""The maximum in one report."""
MOST_UNREAD = 20
"""Problems of one window."""

log = logging.getLogger(__name__)


class Loop:
    """`driver` makes a lab's load, and `loads` those that have a name; without, windows are measured by the clock."""

    def __init__(
        self,
        database: LocalDatabase,
        measure: Measure,
        reports: Reports,
        service: ServiceLink,
        driver: Driver | None,
        signals: SignalDeferral,
        loads: Mapping[str, Driver] | None = None,
    ) -> None:
        self._database = database
        self._config = database.config.agent
        self._clock = database.clock
        self._state = database.state
        self._measure = measure
        self._reports = reports
        self._service = service
        self._driver = driver
        self._loads = loads or {}
        self._signals = signals
        self._windows = Windows(measure, database.monitor, database.clock, database.config.agent)
        self._changes = database.changes
        self._events = GuardEvents(database.state)
        self._rollbacks = HostRollbacks(database.state)
        self._throttle = LogThrottle(log)
        self._server: Server | None = None
        self._cycle_s = 0.0
        self._reported_s: float | None = None
        self._waiting = ""
        self._held = ""
        self._unread: list[str] = []
        self.problems: list[str] = []

    def run(self, ended: Callable[[], bool] = lambda: False) -> None:
        while not ended():
            self.cycle()

    def cycle(self) -> None:
        """One interval, or less if a directive comes: then the next cycle begins at once."""
        self._cycle_s = self._clock.monotonic()
        try:
            self._turn()
        except OSError as error:  # the agent's own disk may be full for a while
            self._throttle.failed("writing to the agent's folder", error)
            self._sleep()
        except Exception as error:  # an agent that ends undoes nothing
            log.exception("this interval failed with an internal error of the agent")
            self._waiting = f"internal error of the agent: {error}"[:LONGEST_PROBLEM]
            self._sleep()

    @property
    def pending(self) -> str:
        """The change that is not settled yet, in words; empty if there is none."""
        return self._changes.load().pending

    def sent(self, within_s: float) -> bool:
        """Whether the service has all reports, within this number of seconds."""
        return self._service.sent(within_s)

    def _turn(self) -> None:
        self._observe()
        self._service.send()
        directive = self._wait()
        self._waiting = ""
        if directive is not None and not self._execute(directive):
            self._sleep()

    def _observe(self) -> None:
        """Recover if need be, then store a window or a heartbeat for the service."""
        try:
            self._recover()
            self._database.engine.health.ping()
            self._database.control.seen_up()
            self._held = ""
            self._windows.resume()
            self._throttle.worked("reaching the database")
            self.problems = [*([self._waiting] if self._waiting else ()), *self._unread]
            self._observe_server()
        except (DatabaseUnavailable, CollectionFailed, DidNotStart, ApplyRefused) as error:
            self._close_gate(error)
        except LutraError as error:  # another product answers, say
            self._close_gate(CollectionFailed(str(error)))
        except OSError:
            raise
        except Exception as error:  # a change's time runs out all the same, and the service hears why
            log.exception("the database cannot be read because of an internal error of the agent")
            self._close_gate(CollectionFailed(f"internal error of the agent: {error}"))

    def _recover(self) -> None:
        self._state.save_held()
        with self._signals:
            outcome = self._database.executor.recover()
        if outcome is not None:
            self._report_undone(outcome)

    def _report_undone(self, outcome: Outcome) -> None:
        """Report a change that was undone. Its configuration failed, unless it only was not confirmed in time."""
        self._configuration_changed(outcome.restarted)
        blamed = outcome.code is None or outcome.code.blames_configuration
        failure = (outcome.code or "reverted") if blamed else None
        self._report(outcome, Content(measures=outcome.directive if blamed else None, failure=failure))

    def _observe_server(self) -> None:
        # What is active under a change has to be read: without that, the change is taken back in time.
        watched = self._changes.load().watched is not None
        server = self._database.read_server() if watched else self._database.observed_server()
        if self._server is not None and _changed(self._server, server):
            self._configuration_changed()
        self._server = server
        if self._changes.load().watched is None and stored_snapshots(self._state, LAST_KNOWN_GOOD) is None:
            self._store_last_known_good(server)
        if not self._due():
            return
        content, verdict = Content(), Verdict()
        if self._watches_guardrails():
            content = self._windows.next()
            self._note_unread(content)
            verdict = self._windows.evaluate(content)
        if verdict.confirmed is not None:
            self._database.executor.confirm(verdict.confirmed)
        if verdict.code is None and content.window is not None and self._changes.load().provisional is None:
            self._store_last_known_good(server)
        self._store_report(server, content)
        self._undo(verdict)

    def _note_unread(self, content: Content) -> None:
        """What the newest window lacks is reported with it, and until there is another one."""
        if content.window is not None:
            self.problems = [p for p in self.problems if p not in self._unread]
            self._unread = [problem[:LONGEST_PROBLEM] for problem in content.problems][:MOST_UNREAD]
            self.problems += self._unread

    def _watches_guardrails(self) -> bool:
        """A driver measures a lab's trials: guardrails watch a lab only while a change of it is provisional."""
        return self._driver is None or self._changes.load().watched is not None

    def _undo(self, verdict: Verdict) -> None:
        if verdict.change is None or verdict.code is None:
            return
        with self._signals:
            outcome = self._database.executor.undo(verdict.change, verdict.code, verdict.reason)
        self._report_undone(outcome)

    def _close_gate(self, error: Exception) -> None:
        self._throttle.failed("reaching the database", error)
        self.problems = [self._down(error)[:LONGEST_PROBLEM]]
        if not self._due():
            return
        verdict = Verdict()
        if self._watches_guardrails() and not self._held:
            verdict = self._verdict_without_window(error)
        self._store_report(self._server, Content())
        try:
            self._undo(verdict)
        except (DatabaseUnavailable, DidNotStart, ApplyRefused, CollectionFailed) as prevented:
            log.critical("the change cannot be undone yet: %s", prevented)

    def _down(self, error: Exception) -> str:
        """What to tell of it. A server that is down on purpose is no fault: nothing counts that time."""
        held = self._database.why_down(error)
        if held and held != self._held:
            log.warning("%s", held)
        self._held = held
        if held:
            self._windows.wait()
        else:
            self._windows.interrupt()
        return held or str(error)

    def _verdict_without_window(self, error: Exception) -> Verdict:
        if isinstance(error, DatabaseUnavailable):
            return self._windows.evaluate_unreachable()
        return self._windows.evaluate_unreadable() if isinstance(error, CollectionFailed) else Verdict()

    def _wait(self) -> Directive | None:
        """Wait out the interval. In modes that change something, let the service be asked for a directive meanwhile."""
        news = self._service.wait(max(self._left(), 0.0), ask=self._config.mode != "observe")
        if news.rules is not None:
            self._database.rules.update(news.rules)
        if news.settings_wanted:
            self._reports.send_settings_again()
        return news.directive

    def _execute(self, directive: Directive) -> bool:
        """False if nothing new was done: what is refused, over and over perhaps, waits for the next interval."""
        record = self._changes.load().of(directive.id)
        if record is not None and record.outcome is not None and not record.awaits_measurement:
            self._report(record.outcome, Content())
            return False
        if record is None or record.outcome is None:
            if directive.rules is not None:
                self._database.rules.update(directive.rules)
            try:
                with self._signals:
                    outcome = self._database.executor.execute(directive)
            except Deferred as reason:
                self._waiting = str(reason)
                return False
        else:
            outcome = record.outcome
        if outcome.state == "refused":
            self._report(outcome, Content())
            return False
        if outcome.restarted or self._settings_changed():
            self._configuration_changed(outcome.restarted)
        self._report(outcome, self._measurement(directive, outcome))
        self._service.send()
        return True

    def _settings_changed(self) -> bool:
        """Whether a directive changed anything: one that did not must not discard what the guardrails have seen."""
        try:
            return self._server is None or self._database.read_server().settings_hash != self._server.settings_hash
        except (DatabaseUnavailable, CollectionFailed):
            return True

    def _measurement(self, directive: Directive, outcome: Outcome) -> Content:
        """What to report besides the outcome: the driver's window, or why there is none."""
        if outcome.code is ApplyCode.DID_NOT_START:
            return Content(measures=directive.id, failure=outcome.code)
        if outcome.state != "applied" or not directive.measure:
            return Content()
        if self._driver is None:
            return Content(measures=directive.id, failure=MeasureCode.DRIVER_FAILED)
        try:
            content = self._driven(self._driver, directive)
            if content.ended is None:
                self._store_last_known_good(self._database.read_server())
            return replace(content, measures=directive.id)
        except (DriverFailed, DatabaseUnavailable, CollectionFailed) as error:
            log.error("no measurement under directive %s: %s", directive.id, error)
            return Content(measures=directive.id, failure=MeasureCode.DRIVER_FAILED)

    def _driven(self, driver: Driver, directive: Directive) -> Content:
        """What was measured under its loads, or without any under the driver's own. Raises DriverFailed."""
        loads = directive.loads
        if not loads:
            return self._measure.driven(driver, _level(directive))
        if unknown := [name for name in loads if name not in self._loads]:
            raise DriverFailed(f"the agent's file has no load named {', '.join(unknown)}")
        return self._measure.driven_under({name: self._loads[name] for name in loads})

    def _report(self, outcome: Outcome, content: Content) -> None:
        """Report an outcome; it counts as reported once the report is in the spool."""
        try:
            self._server = self._database.read_server()
        except (DatabaseUnavailable, CollectionFailed) as error:
            self._throttle.failed("reaching the database", error)
        self._store_report(self._server, replace(content, outcomes=[outcome]))

    def _configuration_changed(self, restarted: bool = False) -> None:
        self._windows.begin_warm_up(restarted)
        self._database.monitor.reset()

    def _store_last_known_good(self, server: Server) -> None:
        """A configuration under which a window was measured is one to restore, where the server tells it."""
        if not server.settings or not self._database.settings_read:
            return
        store_snapshots(self._state, LAST_KNOWN_GOOD, take_snapshots(self._database.engine, server))

    def _store_report(self, server: Server | None, content: Content) -> None:
        """Store a report of `content` and of every outcome and event that no report carries yet.

        Without a `server` none has answered since the agent's start: the report is of the one from before.
        """
        self._reported_s = self._cycle_s
        waiting = [o for o in self._changes.load().due if o not in content.outcomes]
        outcomes = [*waiting[: MOST_OUTCOMES - len(content.outcomes)], *content.outcomes]
        try:
            events, rolled_back = self._events.unreported(), self._rollbacks.unreported()
            said = replace(content, outcomes=outcomes, events=events, rolled_back=rolled_back)
            if server is not None:
                self._reports.put(server, said, self._status())
            elif not self._reports.put_unseen(said, self._status()):
                return
            self._events.clear()
            self._rollbacks.clear(rolled_back)
        except OSError as error:
            self._throttle.failed("keeping a report", error)
            return
        self._changes.write_or_hold(Reported(tuple(outcomes)))

    def _status(self) -> AgentStatus:
        database, service = self._database, self._service
        problems = [*self.problems, *database.rules.problems(), *service.problems, *database.problems]
        return status_of(database, self._driver, self._loads, problems)

    def _due(self) -> bool:
        """Whether an interval lies between the begin of this cycle and of the last one that stored a report."""
        return self._reported_s is None or self._cycle_s - self._reported_s >= 0.99 * self._config.interval_s

    def _sleep(self) -> None:
        self._clock.sleep(max(self._left(), 0.0))

    def _left(self) -> float:
        return self._config.interval_s - (self._clock.monotonic() - self._cycle_s)


def _changed(before: Server, after: Server) -> bool:
    """Whether a setting that both tell is another one: one that could not be read for once has not changed."""
    return any(before.settings[name] != setting for name, setting in after.settings.items() if name in before.settings)


def _level(directive: Directive) -> Level | None:
    wanted = directive.must_reach
    return None if wanted is None else Level(wanted.metric, wanted.goal, wanted.value)

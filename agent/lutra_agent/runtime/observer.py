"""A look at the server: a change that is half done is undone, a window is measured, and guardrails watch it."""

from __future__ import annotations

import logging

from lutra_models.errors import LutraError
from lutra_models.server import Server
from lutra_models.wire import Outcome

from lutra_agent.errors import ApplyRefused, CollectionFailed, DatabaseUnavailable, DidNotStart
from lutra_agent.guardrails.monitor import Verdict
from lutra_agent.log_throttle import LogThrottle
from lutra_agent.reporting.content import Content
from lutra_agent.runtime.local_database import LocalDatabase
from lutra_agent.runtime.reporter import LONGEST_PROBLEM, Reporter
from lutra_agent.runtime.signals import SignalDeferral
from lutra_agent.runtime.windows import Windows

MOST_UNREAD = 20
"""Problems of one window."""

log = logging.getLogger(__name__)


class Observer:
    """`driven`: a lab's driver measures its trials, so windows are measured only while a change is provisional."""

    def __init__(
        self,
        database: LocalDatabase,
        windows: Windows,
        reporter: Reporter,
        signals: SignalDeferral,
        driven: bool,
    ) -> None:
        self._database = database
        self._windows = windows
        self._reporter = reporter
        self._signals = signals
        self._driven = driven
        self._throttle = LogThrottle(log)
        self._held = ""
        self._unread: list[str] = []

    def observe(self) -> None:
        """Recover if need be, then store a window or a heartbeat for the service. Raises OSError of the own disk."""
        try:
            self._recover()
            self._database.engine.health.ping()
            self._database.control.seen_up()
            self._held = ""
            self._windows.resume()
            self._throttle.worked("reaching the database")
            self._reporter.problems = [*filter(None, (self._reporter.waiting,)), *self._unread]
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
        self._database.state.save_held()
        with self._signals:
            outcome = self._database.executor.recover()
        if outcome is not None:
            self._report_undone(outcome)

    def _report_undone(self, outcome: Outcome) -> None:
        """Report a change that was undone. Its configuration failed, unless it only was not confirmed in time."""
        self._windows.begin_anew(outcome.restarted)
        blamed = outcome.code is None or outcome.code.blames_configuration
        failure = (outcome.code or "reverted") if blamed else None
        content = Content(measures=outcome.directive if blamed else None, failure=failure)
        self._reporter.store_outcome(outcome, content)

    def _observe_server(self) -> None:
        server = self._read()
        if self._watched is None and not self._database.has_last_known_good:
            self._database.store_last_known_good(server)
        if not self._reporter.due:
            return
        content, verdict = Content(), Verdict()
        if self._watches_guardrails:
            content = self._windows.next()
            self._note_unread(content)
            verdict = self._windows.evaluate(content)
        if verdict.confirmed is not None:
            self._database.executor.confirm(verdict.confirmed)
        if verdict.code is None and content.window is not None and self._database.changes.load().provisional is None:
            self._database.store_last_known_good(server)
        self._reporter.store(content)
        self._undo(verdict)

    def _read(self) -> Server:
        # What is active under a change has to be read: without that, the change is taken back in time.
        database, before = self._database, self._reporter.server
        server = database.observed_server() if self._watched is None else database.read_server()
        if before is not None and _changed(before, server):
            self._windows.begin_anew()
        self._reporter.server = server
        return server

    def _note_unread(self, content: Content) -> None:
        """What the newest window lacks is reported with it, and until there is another one."""
        if content.window is not None:
            known = [p for p in self._reporter.problems if p not in self._unread]
            self._unread = [problem[:LONGEST_PROBLEM] for problem in content.problems][:MOST_UNREAD]
            self._reporter.problems = known + self._unread

    @property
    def _watched(self) -> object:
        return self._database.changes.load().watched

    @property
    def _watches_guardrails(self) -> bool:
        return not self._driven or self._watched is not None

    def _undo(self, verdict: Verdict) -> None:
        if verdict.change is None or verdict.code is None:
            return
        with self._signals:
            outcome = self._database.executor.undo(verdict.change, verdict.code, verdict.reason)
        self._report_undone(outcome)

    def _close_gate(self, error: Exception) -> None:
        self._throttle.failed("reaching the database", error)
        self._reporter.problems = [self._down(error)[:LONGEST_PROBLEM]]
        if not self._reporter.due:
            return
        verdict = Verdict()
        if self._watches_guardrails and not self._held:
            verdict = self._verdict_without_window(error)
        self._reporter.store(Content())
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


def _changed(before: Server, after: Server) -> bool:
    """Whether a setting that both tell is another one: one that could not be read for once has not changed."""
    return any(before.settings[name] != setting for name, setting in after.settings.items() if name in before.settings)

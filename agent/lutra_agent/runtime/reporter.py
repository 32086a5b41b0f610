"""The reports to the service: one for each interval, and one for each directive's outcome."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import replace

from lutra_models.errors import printable
from lutra_models.server import Server
from lutra_models.wire import AgentStatus, Directive, Outcome

from lutra_agent import __version__
from lutra_agent.errors import CollectionFailed, DatabaseUnavailable
from lutra_agent.log_throttle import LogThrottle
from lutra_agent.reporting.content import Content
from lutra_agent.reporting.reports import Reports
from lutra_agent.reporting.service_link import ServiceLink
from lutra_agent.runtime.lab import Lab
from lutra_agent.runtime.local_database import LocalDatabase
from lutra_agent.state.change_events import Reported
from lutra_agent.state.unreported import GuardEvents, HostRollbacks

LONGEST_PROBLEM, MOST_PROBLEMS = 1000, 50
"""Characters of one, and how many in one report."""
MOST_OUTCOMES = 100
"""The maximum number in one report."""

log = logging.getLogger(__name__)


class Reporter:
    """Stores reports, each with all outcomes and events that no report has yet, and hears what the service answers."""

    def __init__(self, database: LocalDatabase, reports: Reports, service: ServiceLink, lab: Lab | None) -> None:
        self._database = database
        self._reports = reports
        self._service = service
        self._lab = lab
        self._events = GuardEvents(database.state)
        self._rollbacks = HostRollbacks(database.state)
        self._throttle = LogThrottle(log)
        self._cycle_s = 0.0
        self._reported_s: float | None = None
        self.server: Server | None = None
        """As it was observed last; None where none has answered since the agent's start."""
        self.problems: list[str] = []
        """What an operator should know of the current cycle."""
        self.waiting = ""
        """The reason why the latest directive waits; empty if none does."""

    @property
    def due(self) -> bool:
        """Whether an interval lies between the begin of this cycle and of the last one that stored a report."""
        interval_s = self._database.config.agent.interval_s
        return self._reported_s is None or self._cycle_s - self._reported_s >= 0.99 * interval_s

    def begin(self, cycle_s: float) -> None:
        """A cycle begins at that monotonic moment."""
        self._cycle_s = cycle_s

    def store(self, content: Content) -> None:
        """Store a report of the server's latest observation. If the disk refuses it, the next report repeats it."""
        self._reported_s = self._cycle_s
        waiting = [o for o in self._database.changes.load().due if o not in content.outcomes]
        outcomes = [*waiting[: MOST_OUTCOMES - len(content.outcomes)], *content.outcomes]
        try:
            events, rolled_back = self._events.unreported(), self._rollbacks.unreported()
            said = replace(content, outcomes=outcomes, events=events, rolled_back=rolled_back)
            if self.server is not None:
                self._reports.put(self.server, said, self._status())
            elif not self._reports.put_unseen(said, self._status()):
                return
            self._events.clear()
            self._rollbacks.clear(rolled_back)
        except OSError as error:
            self._throttle.failed("keeping a report", error)
            return
        self._database.changes.write_or_hold(Reported(tuple(outcomes)))

    def store_outcome(self, outcome: Outcome, content: Content) -> None:
        """Report an outcome; it counts as reported once the report is in the spool."""
        try:
            self.server = self._database.read_server()
            self._throttle.worked("reading the server under an outcome")
        except (DatabaseUnavailable, CollectionFailed) as error:
            self._throttle.failed("reading the server under an outcome", error)
        self.store(replace(content, outcomes=[outcome]))

    def send(self) -> None:
        """Have what is stored sent soon."""
        self._service.send()

    def sent(self, within_s: float) -> bool:
        """Whether the service has all reports, within that many seconds."""
        return self._service.sent(within_s)

    def wait(self, seconds: float) -> Directive | None:
        """Wait for a directive, at most so long. In modes that change something, the service is asked for one."""
        news = self._service.wait(seconds, ask=self._database.config.agent.mode != "observe")
        if news.rules is not None:
            self._database.rules.update(news.rules)
        if news.settings_wanted:
            self._reports.send_settings_again()
        return news.directive

    def _status(self) -> AgentStatus:
        """The agent's own state. The spool knows itself what it dropped."""
        database, agent = self._database, self._database.config.agent
        change = database.changes.load().provisional
        problems = [*self.problems, *database.rules.problems(), *self._service.problems, *database.problems]
        return AgentStatus(
            version=__version__,
            mode=agent.mode,
            paused=database.state.paused,
            driver=None if self._lab is None else self._lab.driver.name,
            loads=() if self._lab is None else tuple(self._lab.loads),
            problems=_told(problems),
            guardrails=database.rules.guardrails(),
            firing=list(database.monitor.firing),
            provisional=change.directive if change else None,
        )


def _told(problems: Iterable[str]) -> list[str]:
    """Each once, as the wire takes them: a server chooses some of the words."""
    return list(dict.fromkeys(printable(problem)[:LONGEST_PROBLEM] for problem in problems))[:MOST_PROBLEMS]

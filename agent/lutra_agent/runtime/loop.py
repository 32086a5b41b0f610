"""The agent's loop: measure, report, wait for a directive, execute it. One thread, and time is an argument.

Only it talks to the database and writes the state folder. It never talks to the service itself: see `service_link`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

from lutra_models.wire import Directive

from lutra_agent.errors import Deferred
from lutra_agent.log_throttle import LogThrottle
from lutra_agent.runtime.directives import Directives
from lutra_agent.runtime.local_database import LocalDatabase
from lutra_agent.runtime.observer import Observer
from lutra_agent.runtime.reporter import LONGEST_PROBLEM, Reporter

log = logging.getLogger(__name__)


class Loop:
    """When the agent works, and when it waits and ends."""

    def __init__(self, database: LocalDatabase, observer: Observer, directives: Directives, reporter: Reporter) -> None:
        self._clock = database.clock
        self._interval_s = database.config.agent.interval_s
        self._changes = database.changes
        self._observer = observer
        self._directives = directives
        self._reporter = reporter
        self._throttle = LogThrottle(log)
        self._cycle_s = 0.0

    def run(self, ended: Callable[[], bool] = lambda: False) -> None:
        while not ended():
            self.cycle()

    def cycle(self) -> None:
        """One interval, or less if a directive comes: then the next cycle begins at once."""
        self._cycle_s = self._clock.monotonic()
        self._reporter.begin(self._cycle_s)
        try:
            self._turn()
        except OSError as error:  # the agent's own disk may be full for a while
            self._throttle.failed("writing to the agent's folder", error)
            self._sleep()
        except Exception as error:  # an agent that ends undoes nothing
            log.exception("this interval failed with an internal error of the agent")
            self._reporter.waiting = f"internal error of the agent: {error}"[:LONGEST_PROBLEM]
            self._sleep()

    @property
    def pending(self) -> str:
        """The change that is not settled yet, in words; empty if there is none."""
        return self._changes.load().pending

    @property
    def problems(self) -> list[str]:
        """The latest cycle's problems, for an operator."""
        return self._reporter.problems

    def sent(self, within_s: float) -> bool:
        """Whether the service has all reports, within that many seconds."""
        return self._reporter.sent(within_s)

    def _turn(self) -> None:
        self._observer.observe()
        self._reporter.send()
        directive = self._reporter.wait(self._left())
        self._reporter.waiting = ""
        if directive is None:
            return
        if self._carried_out(directive):
            self._reporter.send()
        else:  # what is refused, over and over perhaps, waits for the next interval
            self._sleep()

    def _carried_out(self, directive: Directive) -> bool:
        try:
            return self._directives.execute(directive)
        except Deferred as reason:
            self._reporter.waiting = str(reason)
            return False

    def _sleep(self) -> None:
        self._clock.sleep(self._left())

    def _left(self) -> float:
        return max(self._interval_s - (self._clock.monotonic() - self._cycle_s), 0.0)

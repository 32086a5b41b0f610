"""The directives that are carried out, each with its outcome and, in a lab, the measurement of its trial."""

from __future__ import annotations

import logging
from dataclasses import replace

from lutra_models.errors import ApplyCode, MeasureCode
from lutra_models.wire import Directive, Outcome

from lutra_agent.errors import CollectionFailed, DatabaseUnavailable, DriverFailed
from lutra_agent.reporting.content import Content
from lutra_agent.runtime.lab import Lab
from lutra_agent.runtime.local_database import LocalDatabase
from lutra_agent.runtime.reporter import Reporter
from lutra_agent.runtime.signals import SignalDeferral
from lutra_agent.runtime.windows import Windows

log = logging.getLogger(__name__)


class Directives:
    def __init__(
        self,
        database: LocalDatabase,
        windows: Windows,
        reporter: Reporter,
        signals: SignalDeferral,
        lab: Lab | None,
    ) -> None:
        self._database = database
        self._windows = windows
        self._reporter = reporter
        self._signals = signals
        self._lab = lab

    def execute(self, directive: Directive) -> bool:
        """Carry it out, and store a report of its outcome. False if nothing new was done. Raises Deferred."""
        record = self._database.changes.load().of(directive.id)
        outcome = None if record is None else record.outcome
        if outcome is None:
            outcome = self._executed(directive)
        elif record is None or not record.awaits_measurement:
            self._reporter.store_outcome(outcome, Content())
            return False
        if outcome.state == "refused":
            self._reporter.store_outcome(outcome, Content())
            return False
        if outcome.restarted or self._settings_changed():
            self._windows.begin_anew(outcome.restarted)
        self._reporter.store_outcome(outcome, self._measurement(directive, outcome))
        return True

    def _executed(self, directive: Directive) -> Outcome:
        if directive.rules is not None:
            self._database.rules.update(directive.rules)
        with self._signals:
            return self._database.executor.execute(directive)

    def _settings_changed(self) -> bool:
        """Whether a directive changed anything: one that did not must not discard what the guardrails have seen."""
        before = self._reporter.server
        try:
            return before is None or self._database.read_server().settings_hash != before.settings_hash
        except (DatabaseUnavailable, CollectionFailed):
            return True

    def _measurement(self, directive: Directive, outcome: Outcome) -> Content:
        """What to report besides the outcome: the driver's window, or why there is none."""
        if outcome.code is ApplyCode.DID_NOT_START:
            return Content(measures=directive.id, failure=outcome.code)
        if outcome.state != "applied" or not directive.measure:
            return Content()
        if self._lab is None:
            return Content(measures=directive.id, failure=MeasureCode.DRIVER_FAILED)
        try:
            content = self._lab.measured(directive)
            if content.ended is None:
                self._database.store_last_known_good(self._database.read_server())
            return replace(content, measures=directive.id)
        except (DriverFailed, DatabaseUnavailable, CollectionFailed) as error:
            log.error("no measurement under directive %s: %s", directive.id, error)
            return Content(measures=directive.id, failure=MeasureCode.DRIVER_FAILED)

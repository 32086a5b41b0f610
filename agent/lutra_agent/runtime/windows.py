"""The windows of a live database, one after another, and the guardrails' verdict on each."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from datetime import datetime

from lutra_agent.clock import Clock
from lutra_agent.config.types import AgentConfig
from lutra_agent.engines.common.telemetry import Sample
from lutra_agent.guardrails.evaluate import WindowReading
from lutra_agent.guardrails.monitor import GuardrailMonitor, Verdict
from lutra_agent.metrics.measure import Measure
from lutra_agent.metrics.rates import Discarded
from lutra_agent.reporting.content import Content

log = logging.getLogger(__name__)


class Windows:
    def __init__(self, measure: Measure, monitor: GuardrailMonitor, clock: Clock, config: AgentConfig) -> None:
        self._measure = measure
        self._monitor = monitor
        self._clock = clock
        self._config = config
        self._last: Sample | None = None
        self._warmup = 0
        self._evaluated_at: datetime | None = None
        self._waits = False

    def next(self) -> Content:
        """The window since the last sample; empty if there is none, or if it was a warm-up."""
        before, after = self._last, self._measure.sample()
        self._last = after
        if before is None:
            return Content()
        found = self._measure.window(before, after)
        if isinstance(found, Discarded):
            log.info("a window was discarded: %s", found.reason)
            return Content()
        if self._warmup > 0:
            self._warmup -= 1
            return Content()
        return found

    def evaluate(self, content: Content) -> Verdict:
        """The guardrails' verdict on a window, or on the time since the last verdict if there is none."""
        return self._observe(content, self._measure.guardrail_values(content, self._last))

    def evaluate_unreachable(self) -> Verdict:
        """The database does not answer: no window spans this time, and a guardrail counts it."""
        self._last = None
        return self._observe(Content(), self._measure.guardrail_values(Content(), None))

    def evaluate_unreadable(self) -> Verdict:
        """The database answers and cannot be read: nothing confirms a change, and its time runs out."""
        self._last = None
        return self._observe(Content(), {})

    def wait(self) -> None:
        """The server is down on purpose: the time since the last verdict counts for nothing."""
        now = self._clock.now()
        self._monitor.wait((now - (self._evaluated_at or now)).total_seconds())
        self._last, self._evaluated_at, self._waits = None, now, True

    def resume(self) -> None:
        """The server answers again: after a shutdown its first windows are warm-up, which does not count either."""
        if self._waits:
            self._waits = False
            self._monitor.wait(self._config.restart_warmup_s)
            self._begin_warm_up(restarted=True)

    def interrupt(self) -> None:
        """The database does not answer: no window spans this time."""
        self._last = None

    def begin_anew(self, restarted: bool = False) -> None:
        """The configuration changed: the earlier readings of the guardrails are not about it."""
        self._begin_warm_up(restarted)
        self._monitor.reset()

    def _begin_warm_up(self, restarted: bool) -> None:
        """The first windows do not count, more of them after a restart."""
        self._last = self._evaluated_at = None
        self._warmup = max(self._warmup, self._config.warm_up(restarted))

    def _observe(self, content: Content, values: Mapping[str, float]) -> Verdict:
        now = self._clock.now()
        start = content.window[0] if content.window else min(self._evaluated_at or now, now)
        self._evaluated_at = now
        return self._monitor.observe(WindowReading(start, now, values), measured=content.window is not None)

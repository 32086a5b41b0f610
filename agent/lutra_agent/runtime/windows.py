"""The windows of a live database, one after another, and what its guards make of each."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from datetime import datetime

from lutra_agent.engines.common.engine import Sample
from lutra_agent.guardrails.evaluate import Seen
from lutra_agent.guardrails.monitor import Verdict
from lutra_agent.metrics.rates import Discarded
from lutra_agent.reporting.content import Content
from lutra_agent.runtime.parts import Parts

log = logging.getLogger(__name__)


class Windows:
    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._last: Sample | None = None
        self._warmup = 0
        self._judged_at: datetime | None = None

    def next(self) -> Content:
        """The window since the last sample; empty where there is none, or where it was a warm-up."""
        before, after = self._last, self._parts.measure.sample()
        self._last = after
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

    def judged(self, content: Content) -> Verdict:
        """What the guards say of a window, or of the time since the last verdict where there is none."""
        return self._see(content, self._parts.measure.watched(content, self._last))

    def unanswered(self) -> Verdict:
        """The database does not answer: no window spans that, and a guard counts the time."""
        self._last = None
        return self._see(Content(), self._parts.measure.watched(Content(), None))

    def unread(self) -> Verdict:
        """The database answers and cannot be read: nothing confirms a change, and its time runs out."""
        self._last = None
        return self._see(Content(), {})

    def _see(self, content: Content, values: Mapping[str, float]) -> Verdict:
        now = self._parts.clock.now()
        start = content.window[0] if content.window else min(self._judged_at or now, now)
        self._judged_at = now
        return self._parts.watch.see(Seen(start, now, values), measured=content.window is not None)

    def broken(self) -> None:
        """The database does not answer: no window spans that."""
        self._last = None

    def anew(self, restarted: bool) -> None:
        """The configuration changed: the first windows under it are warm-up."""
        self._last = None
        self._warmup = max(self._warmup, self._parts.config.warm_up(restarted))

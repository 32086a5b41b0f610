"""A clock that an hour passes quickly on: a sleep takes a fiftieth of its time, everything else takes what it takes."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

SHARE = 0.02


class JumpingClock:
    """For several threads at once: whoever sleeps moves the clock to the end of the sleep, if nobody else has."""

    def __init__(self, start: datetime | None = None) -> None:
        self._start = start or datetime.now(UTC)
        self._began = time.monotonic()
        self._skipped = 0.0
        self._lock = threading.Lock()

    def now(self) -> datetime:
        return self._start + timedelta(seconds=self.monotonic())

    def monotonic(self) -> float:
        return time.monotonic() - self._began + self._skipped

    def sleep(self, seconds: float) -> None:
        ends = self.monotonic() + max(seconds, 0.0)
        time.sleep(max(seconds, 0.0) * SHARE)
        with self._lock:
            self._skipped += max(0.0, ends - self.monotonic())

    def wait_for(self, condition: threading.Condition, done: Callable[[], bool], seconds: float) -> bool:
        ends = self.monotonic() + max(seconds, 0.0)
        found = condition.wait_for(done, max(seconds, 0.0) * SHARE)
        if not found:
            with self._lock:
                self._skipped += max(0.0, ends - self.monotonic())
        return found

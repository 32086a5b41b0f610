"""Time as an argument, so that the loop is tested in milliseconds."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime
from threading import Condition
from typing import Protocol


class Clock(Protocol):
    def now(self) -> datetime:
        """The wall clock, UTC."""
        ...

    def monotonic(self) -> float:
        """Seconds that never jump."""
        ...

    def sleep(self, seconds: float) -> None: ...

    def wait_for(self, condition: Condition, done: Callable[[], bool], seconds: float) -> bool:
        """Wait on a condition that the caller holds until `done`, with a limit in seconds; whether it is done."""
        ...


class SystemClock:
    def now(self) -> datetime:
        return datetime.now(UTC)

    def monotonic(self) -> float:
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        time.sleep(max(seconds, 0.0))

    def wait_for(self, condition: Condition, done: Callable[[], bool], seconds: float) -> bool:
        return condition.wait_for(done, max(seconds, 0.0))

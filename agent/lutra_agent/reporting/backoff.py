"""The time after which a failed action may be repeated: longer each time, and random, so that many do not come
at once.
"""

from __future__ import annotations

from collections.abc import Callable

FIRST_S = 1.0
LONGEST_S = 30.0
SCATTER = 0.1
"""A time that the service names is respected, plus up to this share of it."""

Chance = Callable[[], float]
"""A number from 0 to 1, as returned by random.random."""


class Backoff:
    def __init__(self, monotonic: Callable[[], float], chance: Chance) -> None:
        self._monotonic = monotonic
        self._chance = chance
        self._failures = 0
        self._until = float("-inf")

    @property
    def left_s(self) -> float:
        return max(self._until - self._monotonic(), 0.0)

    def failed(self, retry_after_s: float = 0.0) -> None:
        """Between half and all of a time that doubles with each failure; `retry_after_s` at the earliest."""
        pause = min(FIRST_S * 2.0 ** min(self._failures, 30), LONGEST_S) * (0.5 + 0.5 * self._chance())
        self._failures += 1
        self._until = self._monotonic() + max(pause, retry_after_s * (1 + SCATTER * self._chance()))

    def worked(self) -> None:
        self._failures, self._until = 0, float("-inf")

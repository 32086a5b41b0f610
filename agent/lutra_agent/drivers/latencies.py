"""Latencies counted by the microsecond: exact percentiles in memory that does not grow with the number of them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable

US_PER_MS = 1000.0


class Latencies:
    """A multiset of latencies in whole microseconds."""

    def __init__(self, latencies_us: Iterable[int] = ()) -> None:
        self._counts: Counter[int] = Counter(latencies_us)

    def add(self, latency_us: int) -> None:
        self._counts[latency_us] += 1

    def __len__(self) -> int:
        return self._counts.total()

    def percentile_ms(self, percent: float) -> float:
        """Nearest rank: the smallest latency that `percent` % of all do not exceed. Raises ValueError if empty."""
        total = len(self)
        if not total or not 0 < percent <= 100:
            raise ValueError(f"no {percent}th percentile of {total} latencies")
        seen = 0
        for latency_us in sorted(self._counts):
            seen += self._counts[latency_us]
            if seen * 100 >= percent * total:
                break
        return latency_us / US_PER_MS

    def mean_ms(self) -> float:
        return sum(latency * n for latency, n in self._counts.items()) / len(self) / US_PER_MS

    def stddev_ms(self) -> float:
        """Of the population."""
        mean_us = self.mean_ms() * US_PER_MS
        squares = sum(n * (latency - mean_us) ** 2 for latency, n in self._counts.items())
        return math.sqrt(squares / len(self)) / US_PER_MS

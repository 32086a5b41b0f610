"""Counts of durations in ranges of a common ratio. They only grow: the difference of two readings is the time in
between.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

SHORTEST_MS = 0.01
RATIO = 1.15
RANGES = 165
"""Up to a day; longer durations count in the last range."""

ENDS_MS = tuple(SHORTEST_MS * RATIO**i for i in range(RANGES))
"""The end of each range; the first begins at zero."""
WIDTHS_MS = (ENDS_MS[0], *(b - a for a, b in itertools.pairwise(ENDS_MS)))
MIDDLES_MS = tuple(end / math.sqrt(RATIO) for end in ENDS_MS)

_LOG = math.log(RATIO)


def range_of(ms: float) -> int:
    """The range that holds a duration. Below zero counts as zero: clocks of two processors differ a little."""
    if ms <= SHORTEST_MS:
        return 0
    return min(math.ceil(math.log(ms / SHORTEST_MS) / _LOG), RANGES - 1)


@dataclass(frozen=True)
class Counts:
    """The number of durations in each range."""

    of: tuple[int, ...] = (0,) * RANGES

    def __sub__(self, earlier: Counts) -> Counts:
        return Counts(tuple(new - old for new, old in zip(self.of, earlier.of, strict=True)))

    @property
    def total(self) -> int:
        return sum(self.of)


class Counter:
    """Counts that still grow."""

    def __init__(self) -> None:
        self._of = [0] * RANGES

    def add(self, durations_ms: Iterable[float]) -> None:
        for ms in durations_ms:
            self._of[range_of(ms)] += 1

    def counts(self) -> Counts:
        return Counts(tuple(self._of))


def quantile_ms(masses: Sequence[float], share: float) -> float:
    """The value below which `share` of the whole lies, interpolated within its range on a logarithmic scale."""
    wanted, below = share * sum(masses), 0.0
    for end, mass in zip(ENDS_MS, masses, strict=True):
        if mass > 0 and below + mass >= wanted:
            return end * math.exp(_LOG * ((wanted - below) / mass - 1))
        below += mass
    return ENDS_MS[-1]

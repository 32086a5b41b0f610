"""The shape that the logarithm of a metric may have over the logarithm of the offered rate: p99 grows faster than load.

Shapes: q columns.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

SPREADS = (1.1, 1.4, 1.7, 2.2)
"""The least ratio of the largest to the smallest rate for a straight line of the load, and for each parabola."""
BENDS = (0.0, 0.5, 0.85)
"""The quantile of the loads at which each parabola begins."""
A_COLUMN = 5
"""Windows for each column of that curve."""


@dataclass(frozen=True)
class Curve:
    """A line from the logarithm `origin` of a rate on, and a parabola from each of `begins` on; without a line, there
    is no parabola.
    """

    origin: float
    line: bool
    begins: tuple[float, ...] = ()

    @classmethod
    def over(cls, rates: Sequence[float]) -> Curve:
        """The part of it that the windows at these rates can determine."""
        ordered = sorted(math.log(rate) for rate in rates)
        if not ordered:
            return cls(0.0, False)
        spread = ordered[-1] - ordered[0]
        most = min(sum(spread >= math.log(least) for least in SPREADS), len(rates) // A_COLUMN)
        begins = [ordered[int(share * len(ordered))] for share in BENDS[: max(most - 1, 0)]]
        return cls(ordered[0], most > 0, tuple(begins))

    def row(self, rate: float) -> list[float]:
        """(q,) the columns at a rate."""
        x = math.log(rate)
        return [*([x - self.origin] if self.line else []), *(max(x - begin, 0.0) ** 2 for begin in self.begins)]

"""Student's t distribution for whole degrees of freedom, as needed for an interval."""

from __future__ import annotations

import math
from functools import lru_cache


def probability(t: float, freedom: int) -> float:
    """The probability that |T| stays below `t`, by Abramowitz & Stegun 26.7.3 and 26.7.4."""
    angle = math.atan(t / math.sqrt(freedom))
    sine, cosine = math.sin(angle), math.cos(angle)
    odd = freedom % 2 == 1
    term = total = (cosine if freedom > 1 else 0.0) if odd else 1.0
    for i in range(2 if odd else 1, freedom - 1, 2):
        term *= cosine * cosine * i / (i + 1)
        total += term
    return 2 / math.pi * (angle + sine * total) if odd else sine * total


@lru_cache(maxsize=1024)
def quantile(tail: float, freedom: int) -> float:
    """The t above which a share `tail` (below a half) of the distribution lies, by bisection."""
    low, high = 0.0, 1.0
    while probability(high, freedom) < 1 - 2 * tail:
        high *= 2
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if probability(middle, freedom) < 1 - 2 * tail else (low, middle)
    return high

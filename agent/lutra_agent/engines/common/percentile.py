"""Percentiles of a histogram: counts per range of durations."""

from __future__ import annotations

import math
from collections.abc import Sequence

P99 = 0.99
MOST = 2**64


def percentile(bounds: Sequence[tuple[float, float]], counts: Sequence[int], share: float = P99) -> float | None:
    """A percentile, interpolated within its range, on a logarithmic scale if the range begins above zero.

    `bounds` are the ranges' ends. None if nothing was counted, if the percentile lies in an open range, or if these are
    not counts per range of durations.
    """
    if not counted(bounds, counts):
        return None
    wanted, below = share * sum(counts), 0
    for (low, high), count in zip(bounds, counts, strict=True):
        if count and below + count >= wanted:
            part = (wanted - below) / count
            if math.isinf(high):
                return None
            return low * (high / low) ** part if low > 0 else high * part
        below += count
    return None


def counted(bounds: Sequence[tuple[float, float]], counts: Sequence[int]) -> bool:
    """Whether these are counts per range of durations."""
    return all(0 <= low <= high for low, high in bounds) and all(0 <= count < MOST for count in counts)

"""p99 of all statements, from the server's own histogram: MySQL's is always there, MariaDB's is a plugin.

The agent's statements are in it too: each is subtracted from the range of its duration as the agent measured it, or
from the nearest lower one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from lutra_agent.engines.common.telemetry import counted, percentile

PS_PER_MS = 1e9
MS_PER_S = 1000.0


@dataclass(frozen=True)
class Histogram:
    """Statements per range of durations since the server started. `bounds` are the ranges' ends, in ms."""

    bounds: tuple[tuple[float, float], ...]
    counts: tuple[int, ...]
    own_ms: tuple[float, ...] = ()
    """The agent's own statements since the histogram before this one."""

    def __post_init__(self) -> None:
        if not counted(self.bounds, self.counts):
            raise ValueError("expected counts per range of durations")


def from_picoseconds(rows: Sequence[tuple[int, int, int]]) -> Histogram:
    """(from, to, count) in ps, ascending; the last range is open."""
    bounds = [(int(low) / PS_PER_MS, int(high) / PS_PER_MS) for low, high, _ in rows]
    if bounds:
        bounds[-1] = (bounds[-1][0], math.inf)
    return Histogram(tuple(bounds), tuple(int(r[2]) for r in rows))


def from_upper_ends(rows: Sequence[tuple[str, int]]) -> Histogram:
    """(upper end in s as text, count), ascending; an end that is not a number is the open range."""
    ends = [0.0]
    for text, _ in rows:
        try:
            ends.append(float(text) * MS_PER_S)
        except ValueError:
            ends.append(math.inf)
    return Histogram(tuple(pairwise(ends)), tuple(int(r[1]) for r in rows))


def p99_ms(before: Histogram, after: Histogram) -> float | None:
    """The 99th percentile of other sessions' statements between two readings.

    None if nothing ran, if the histogram was emptied or its ranges changed, or if the percentile lies in the open
    range.
    """
    if before.bounds != after.bounds:
        return None
    counts = [new - old for new, old in zip(after.counts, before.counts, strict=True)]
    if min(counts, default=-1) < 0:
        return None
    for duration in sorted(after.own_ms, reverse=True):
        _take_out(after.bounds, counts, duration)
    return percentile(after.bounds, counts)


def _take_out(bounds: Sequence[tuple[float, float]], counts: list[int], duration_ms: float) -> None:
    # The agent measures more than the server does: the network and its own Python. So look downwards first.
    below = [i for i, (low, _) in enumerate(bounds) if low <= duration_ms and counts[i]]
    if below:
        counts[below[-1]] -= 1

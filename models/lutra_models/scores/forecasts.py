"""Forecasts and their readings: the coverage and the width of the intervals, and the accuracy of the predictions."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist, fmean
from typing import Any

LEVEL = 0.9
"""The interval that a forecast always has; the density is taken from it."""
LEAST_DEVIATION = 1e-6
WORST = -50.0
"""The least log score: one impossible reading must not outweigh all others."""
LEAST_RANKED = 4


@dataclass(frozen=True)
class Forecast:
    """The median and central intervals of one reading by their levels, and the measured value."""

    median: float
    intervals: Mapping[float, tuple[float, float]]
    measured: float

    def held(self, level: float) -> bool:
        low, high = self.intervals[level]
        return low <= self.measured <= high

    def width(self, level: float) -> float:
        """As a share of the median."""
        low, high = self.intervals[level]
        return (high - low) / max(abs(self.median), 1e-300)

    @property
    def error(self) -> float:
        """The error of the median, as a share of the reading."""
        return abs(self.median - self.measured) / max(abs(self.measured), 1e-300)

    @property
    def log_score(self) -> float:
        """The log density of the reading; more is better.

        The density has the median and the 90 % interval of the forecast: half a normal one on each side, over the
        logarithm where all of them are positive (a share's log density, so that units do not matter).
        """
        low, high = self.intervals[LEVEL]
        positive = min(low, self.median, self.measured) > 0
        lower, middle, upper, seen = (_scaled(v, positive) for v in (low, self.median, high, self.measured))
        z = NormalDist().inv_cdf(0.5 + LEVEL / 2)
        deviation = max((middle - lower if seen < middle else upper - middle) / z, LEAST_DEVIATION)
        off = (seen - middle) / deviation
        return max(-0.5 * off * off - math.log(deviation) - 0.5 * math.log(2 * math.pi), WORST)


def _scaled(value: float, positive: bool) -> float:
    return math.log(value) if positive else value


def tally(forecasts: Sequence[Forecast]) -> dict[str, Any]:
    """`n` forecasts, and over them the means; none without forecasts."""
    told: dict[str, Any] = {"n": len(forecasts)}
    levels = sorted(set.intersection(*(set(f.intervals) for f in forecasts))) if forecasts else [LEVEL]
    for level in levels:
        name = f"{100 * level:.0f}"
        told[f"held_{name}"] = _mean([float(f.held(level)) for f in forecasts])
        told[f"width_{name}"] = _mean([f.width(level) for f in forecasts])
    told["log_score"] = _mean([f.log_score for f in forecasts])
    told["error"] = _mean([f.error for f in forecasts])
    return told


def _mean(values: Sequence[float]) -> float | None:
    return fmean(values) if values else None


def rank_correlation(one: Sequence[float], other: Sequence[float]) -> float | None:
    """Spearman's, from -1 to 1; None for fewer than four values, or if all values of one series are equal."""
    if len(one) < LEAST_RANKED:
        return None
    here, there = _ranks(one), _ranks(other)
    middle = (len(one) - 1) / 2
    together = sum((a - middle) * (b - middle) for a, b in zip(here, there, strict=True))
    spread = math.prod(sum((r - middle) ** 2 for r in ranks) for ranks in (here, there))
    return together / math.sqrt(spread) if spread > 0 else None


def _ranks(values: Sequence[float]) -> list[float]:
    """From 0 on; equal values share the mean of their ranks."""
    order = sorted(values)
    first = {v: i for i, v in reversed(list(enumerate(order)))}
    count = {v: order.count(v) for v in first}
    return [first[v] + (count[v] - 1) / 2 for v in values]

"""A difference between two levels of a series with correlated neighbours, with further columns.

Model: y = X b + s + e, where s is a stationary process that forgets exponentially (slow changes of the server and its
load) and e is each window's own noise. The share of s in the variance and its decay are averaged by their restricted
likelihood, so that an interval includes the uncertainty of a few windows. The Kalman filter makes the rows independent
(Harvey, Forecasting, Structural Time Series Models and the Kalman Filter, 1989, section 3.4); outlying windows count
less, as under Student's t (Lange, Little & Taylor, JASA 84, 1989). Standard library only.

Shapes: n windows, p columns.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from operator import mul
from statistics import median

from lutra_models.student import probability

Mood = tuple[float, float, float]
MOODS: tuple[Mood, ...] = (
    (0.0, 0.0, 0.4),
    (0.4, 0.3, 0.2),
    (0.4, 0.6, 0.1),
    (0.7, 0.3, 0.15),
    (0.7, 0.6, 0.1),
    (0.9, 0.4, 0.05),
    (0.98, 0.5, 0.03),
    (0.997, 0.5, 0.03),
)
"""The autocorrelation of s between windows, its share of the variance, and the strength of that prior.

The last two last for hours: a trend (a table that grows, a cache that fills) is not an effect of the change.
"""
TAILS = 4.0
"""Degrees of freedom of the noise in a window: rare windows are far off."""
SAME = 1e-6
"""A column of which the others leave a smaller share carries no information of its own."""
ROUNDS = 2
"""The number of rounds of weighing windows by their distance."""


@dataclass(frozen=True)
class Mixture:
    """The last column's coefficient: Student's t distributions (weight, centre, scale, degrees of freedom)."""

    parts: tuple[tuple[float, float, float, int], ...]

    def below(self, x: float) -> float:
        """The probability that the coefficient is at most `x`."""
        return sum(w * _cumulative((x - centre) / scale, freedom) for w, centre, scale, freedom in self.parts)

    def quantile(self, share: float) -> float:
        """By bisection."""
        reach = max(1e3 * scale for _, _, scale, _ in self.parts)
        low = min(centre for _, centre, _, _ in self.parts) - reach
        high = max(centre for _, centre, _, _ in self.parts) + reach
        for _ in range(45):
            middle = (low + high) / 2
            low, high = (middle, high) if self.below(middle) < share else (low, middle)
        return high


def coefficient(
    y: Sequence[float],
    columns: Sequence[Sequence[float]],
    times: Sequence[float],
    noise: Sequence[float],
    longest: float = math.inf,
) -> Mixture | None:
    """The coefficient of the last of the columns (p, n); None if the others leave nothing of it, or n ≤ p.

    `times` (n,) ascend, in windows; `noise` (n,) is each window's variance in addition to the usual one, in multiples.
    `longest` bounds the time in windows over which s forgets all but a third.
    """
    moods = [m for m in MOODS if m[0] <= math.exp(-1.0 / longest)]
    if len(y) <= len(columns):
        return None
    extra = list(noise)
    for _ in range(ROUNDS):
        fits = _fits(y, columns, times, extra, moods)
        if not fits:
            return None
        best = max(fits, key=lambda f: f.likelihood)
        scale = 1.4826 * median(abs(r) for r in best.residuals)
        if scale <= 0:
            break
        far = [max((TAILS + (r / scale) ** 2) / (TAILS + 1) - 1.0, 0.0) for r in best.residuals]
        extra = [n + f * (1 + n) for n, f in zip(noise, far, strict=True)]
    fits = _fits(y, columns, times, extra, moods)
    top = max(f.likelihood for f in fits)
    weights = [f.belief * math.exp(f.likelihood - top) for f in fits]
    freedom = len(y) - len(columns)
    parts = [(w / sum(weights), f.centre, f.scale, freedom) for w, f in zip(weights, fits, strict=True)]
    return Mixture(tuple(parts))


@dataclass(frozen=True)
class _Fit:
    belief: float
    likelihood: float
    centre: float
    scale: float
    residuals: list[float]


def _fits(
    y: Sequence[float],
    columns: Sequence[Sequence[float]],
    times: Sequence[float],
    extra: Sequence[float],
    moods: Sequence[Mood],
) -> list[_Fit]:
    found = (_fit(y, columns, times, extra, *mood) for mood in moods)
    return [f for f in found if f is not None]


def _fit(
    y: Sequence[float],
    columns: Sequence[Sequence[float]],
    times: Sequence[float],
    extra: Sequence[float],
    kept: float,
    share: float,
    belief: float,
) -> _Fit | None:
    """Least squares over independent rows, by modified Gram-Schmidt."""
    rows, log_scale = _whitened([*columns, y], times, extra, kept, share)
    basis: list[list[float]] = []
    norms: list[float] = []
    for place, column in enumerate(rows[:-1], 1):
        left = _without(column, basis)
        norm = math.sqrt(_dot(left, left))
        if norm > SAME * math.sqrt(_dot(column, column)):
            basis.append([v / norm for v in left])
            norms.append(norm)
        elif place == len(columns):
            return None
    residuals = _without(rows[-1], basis)
    freedom = len(y) - len(columns)
    squares = max(_dot(residuals, residuals), 1e-12)
    likelihood = -0.5 * (freedom * math.log(squares) + 2 * log_scale + 2 * sum(map(math.log, norms)))
    unexplained = _without(rows[-1], basis[:-1])
    scale = math.sqrt(squares / freedom) / norms[-1]
    return _Fit(belief, likelihood, _dot(basis[-1], unexplained) / norms[-1], scale, residuals)


def _whitened(
    series: Sequence[Sequence[float]], times: Sequence[float], extra: Sequence[float], kept: float, share: float
) -> tuple[list[list[float]], float]:
    """Each series' innovations in units of their deviation, and the sum of the logarithms of those."""
    steps: list[tuple[float, float, float]] = []
    variance, log_scale = share, 0.0
    for i, time in enumerate(times):
        forgets = kept ** max(time - times[i - 1], 0.0) if kept and i else 0.0
        if i:
            variance = forgets**2 * variance + share * (1 - forgets**2)
        total = variance + (1 - share) + extra[i]
        gain, deviation = variance / total, math.sqrt(total)
        log_scale += math.log(deviation)
        steps.append((forgets, gain, deviation))
        variance *= 1 - gain
    return [_innovations(one, steps) for one in series], log_scale


def _innovations(series: Sequence[float], steps: Sequence[tuple[float, float, float]]) -> list[float]:
    """In units of their deviation; a step is what is kept of the mean, the filter's gain, and the deviation."""
    mean, found = 0.0, list[float]()
    for value, (forgets, gain, deviation) in zip(series, steps, strict=True):
        mean *= forgets
        innovation = value - mean
        found.append(innovation / deviation)
        mean += gain * innovation
    return found


def _without(column: Sequence[float], basis: Sequence[Sequence[float]]) -> list[float]:
    left = list(column)
    for unit in basis:
        part = _dot(unit, left)
        left = [v - part * u for v, u in zip(left, unit, strict=True)]
    return left


def _dot(one: Sequence[float], other: Sequence[float]) -> float:
    return float(sum(map(mul, one, other)))


def _cumulative(t: float, freedom: int) -> float:
    inside = probability(abs(t), freedom)
    return 0.5 + math.copysign(0.5 * inside, t)

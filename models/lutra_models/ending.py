"""May a window end early? A prediction of the whole window's reading from its seconds so far. Pure functions.

The seconds of a window are modelled as a level with a slope and scatter around it. Neighbouring seconds are correlated,
so the model uses batches of them. A load drifts over its window by a share with a prior, which the seconds correct: a
load that begins slowly is expected to go on rising. Effects that nothing inside the window can show (a cache that fills
at once, a checkpoint that ends) are an uncertainty that stays until the window is over. The rest's mean is then
Student's t (conjugate linear regression: Gelman et al., Bayesian Data Analysis, chapter 14).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from lutra_models.metrics import Goal, Objective
from lutra_models.student import probability, quantile

LEAST_READINGS = 8
"""The least number of readings inside the window for a prediction."""
LEAST_SHARE = 1 / 6
"""The least share of the window that is over before a prediction."""
MOST_BATCHES = 10
SLOPE = 0.2
"""The change of the level from the start of a window to its end: the deviation of the prior, relative to the level."""
SCATTER = 0.08
"""The prior of the relative scatter of a batch."""
SCATTER_WEIGHT = 2
"""The weight of that prior, in degrees of freedom."""
DOUBT = 0.05
"""The relative deviation of the rest of the window that its start cannot predict."""
CHANCE = 0.03
"""A window ends when the probability of reaching its level is below this."""
BOUND_CHANCE = 0.1
"""The probability that the whole window would have read beyond the bound of a window that was ended early."""
_NOTHING = 1e-100
"""A load that does nothing may be about to begin."""


@dataclass(frozen=True)
class Level:
    """The reading that a window has to reach to be worth its time: `value` of `metric`, or better by `goal`."""

    metric: str
    goal: Goal
    value: float

    def __post_init__(self) -> None:
        if not (math.isfinite(self.value) and self.value > 0):
            raise ValueError(f"{self.metric}: a level is a number above 0, got {self.value}")


@dataclass(frozen=True)
class Outlook:
    """The mean of a whole window, seen from inside it: Student's t of `freedom` around `mean`, scaled by `scale`."""

    mean: float
    scale: float
    freedom: int

    def chance(self, level: Level) -> float:
        """The probability that the whole window reaches the level."""
        ahead = Objective(level.metric, level.goal).gain(self.mean - level.value) / self.scale
        inside = probability(abs(ahead), self.freedom)
        return 0.5 + 0.5 * inside if ahead > 0 else 0.5 - 0.5 * inside

    def bound(self, goal: Goal) -> float:
        """The best reading that the whole window can give: better ones have a probability of at most `BOUND_CHANCE`.
        Never below 0.
        """
        margin = quantile(BOUND_CHANCE, self.freedom) * self.scale
        return max(0.0, self.mean + margin if goal == "maximize" else self.mean - margin)


def ended(readings: Sequence[float], whole: int, level: Level) -> float | None:
    """The bound of a window that may end now; None if it continues.

    `readings` are those so far of equal parts of the window, of which the whole one has `whole`; none is of a warm-up.
    """
    seen = outlook(readings, whole, level.goal)
    if seen is None or seen.chance(level) >= CHANCE or _shown(readings, whole, level):
        return None
    return seen.bound(level.goal)


def outlook(readings: Sequence[float], whole: int, goal: Goal) -> Outlook | None:
    """The prediction of the whole window from the readings so far; None while there are too few, or once it is over.

    Seconds that improve are expected to go on improving; those that get worse are expected to stay at their level.
    """
    count, rest = len(readings), whole - len(readings)
    if count < max(LEAST_READINGS, whole * LEAST_SHARE) or rest <= 0 or not sum(readings) < math.inf:
        return None
    rates, size = _batches(readings)
    level = sum(rates) / len(rates)
    if level < _NOTHING:
        return None
    batches = [rate / level for rate in rates]
    places = [(i - (len(batches) - 1) / 2) * size for i in range(len(batches))]
    known = sum(p * p for p in places)
    shown = sum(p * b for p, b in zip(places, batches, strict=True)) / known
    variance, freedom = _scatter(batches, places, shown)
    rising = max(0.0, Objective("", goal).gain(shown))
    precision = known / variance + 1 / ((SLOPE / whole) ** 2 + rising**2)
    ahead = whole / 2 - (count - len(batches) * size) / 2
    later = 1 + math.copysign(rising, shown) * known / variance / precision * ahead
    far = variance * (1 / len(batches) + size / rest) + ahead**2 / precision + (DOUBT * max(1, abs(later))) ** 2
    return Outlook((sum(readings) + rest * later * level) / whole, rest / whole * math.sqrt(far) * level, freedom)


def _batches(readings: Sequence[float]) -> tuple[list[float], int]:
    """Means of neighbours, and of how many: the oldest readings that fill no batch are left out."""
    size = max(2, math.ceil(len(readings) / MOST_BATCHES))
    skipped = len(readings) % size
    starts = range(skipped, len(readings), size)
    return [sum(readings[i : i + size]) / size for i in starts], size


def _scatter(batches: Sequence[float], places: Sequence[float], slope: float) -> tuple[float, int]:
    """The variance of a batch, relative to the level, around its line, and the degrees of freedom behind it."""
    squares = sum((b - 1 - slope * p) ** 2 for p, b in zip(places, batches, strict=True))
    freedom = SCATTER_WEIGHT + len(batches) - 2
    return (SCATTER_WEIGHT * SCATTER**2 + squares) / freedom, freedom


def _shown(readings: Sequence[float], whole: int, level: Level) -> bool:
    """Whether some batch was already as good as the rest has to be on average for the window to come to its level."""
    gain = Objective(level.metric, level.goal).gain
    wanted = (whole * level.value - sum(readings)) / (whole - len(readings))
    return any(gain(batch) >= gain(wanted) for batch in _batches(readings)[0])

"""The ratio of one configuration to another, from alternate readings.

Both sides of a round were measured shortly one after the other, so their ratio is free of the drift that moves both.
The logarithms of the rounds' ratios are averaged without the lowest and the highest of them (from five rounds on), and
the interval is Yuen's (1974). One stalled window, or a server that changes in the middle of a round, is therefore not
decisive. A test after each round that stops at the first good result errs more often than a single test. Early tests
therefore require more (Lan & DeMets 1983), and each interval contains the true gain with 90 % after every round.
`python -m benchmarks verification` measures both.

Decisions use that interval. A repeated measurement scatters by itself, so the report has an interval that also contains
the mean of three later rounds.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from lutra_models.metrics import Goal
from lutra_models.student import quantile

LEAST_ROUNDS = 3
FORECAST_FROM = 4
TRIMMED_FROM = 5
TAIL = 0.03
"""The error of the last look; earlier looks have a share of it in proportion to their rounds."""
LEAST_NOISE = 0.03
"""The least scatter of the rounds' logarithms of ratios: three readings that agree by chance are not a certainty."""
LATER = 3
"""The rounds of a person who measures again."""
LATER_TAIL = 0.05
OPTIMISM = 1.5
"""The standard errors that a forecast of the last look adds in favour of a challenger."""


@dataclass(frozen=True)
class Gain:
    """The gain over a reference, as a share of the reference's reading (.08: 8 % better).

    `low` to `high` holds the true gain, and with 90 % what three later rounds come to.
    """

    median: float
    low: float
    high: float


@dataclass(frozen=True)
class Comparison:
    """A challenger against a reference over `rounds` rounds, on the log scale: 0 is equal, above is better.

    `low` and `high` bound the true gain; they are infinite before there is an interval. `hope` is the low end that may
    at best be expected after the last round. `room` is the largest distance of three later rounds' mean from `middle`.
    """

    rounds: int
    middle: float
    low: float
    high: float
    hope: float
    room: float

    def told(self, goal: Goal) -> Gain | None:
        """None before there is an interval."""
        if self.rounds < LEAST_ROUNDS:
            return None
        ends = min(self.low, self.middle - self.room), max(self.high, self.middle + self.room)
        return Gain(*(_relative(x, goal) for x in (self.middle, *ends)))


def compared(
    challenger: Sequence[float], reference: Sequence[float], goal: Goal, budget: int, loads: int = 1
) -> Comparison:
    """The comparison of readings by round; rounds that only one of them has do not count. `budget` is rounds at most.

    `loads` is of how many such comparisons `worst_of` takes the least: the upper end shares its tail with the others.
    """
    rounds = min(len(challenger), len(reference))
    ratios = log_ratios(challenger[:rounds], reference[:rounds], goal)
    if rounds < LEAST_ROUNDS:
        return Comparison(rounds, fmean(ratios) if ratios else 0.0, -math.inf, math.inf, math.inf, math.inf)
    middle, error, freedom = _estimated(ratios)
    tail = TAIL * min(rounds / budget, 1.0)
    below, above = (quantile(share, freedom) * error for share in (tail, tail / loads))
    hope = _hope(middle, error, rounds, budget) if rounds >= FORECAST_FROM else math.inf
    room = quantile(LATER_TAIL, freedom) * error * math.sqrt(1 + rounds / LATER)
    return Comparison(rounds, middle, middle - below, middle + above, hope, room)


def worst_of(comparisons: Sequence[Comparison]) -> Comparison:
    """The least gain over several loads. It is above a bound with certainty if each of them is (Berger 1982)."""
    middle, low, high, hope = (min(getattr(c, end) for c in comparisons) for end in ("middle", "low", "high", "hope"))
    rounds, room = min(c.rounds for c in comparisons), max(c.room for c in comparisons)
    return Comparison(rounds, middle, low, high, hope, room)


def _hope(middle: float, error: float, rounds: int, budget: int) -> float:
    last = max(rounds, budget)
    return middle + OPTIMISM * error - quantile(TAIL, last - 1) * error * math.sqrt(rounds / last)


def log_ratios(challenger: Sequence[float], reference: Sequence[float], goal: Goal) -> list[float]:
    """Above 0 if the challenger is better. No reading of a pair counts as less than a thousandth of the other."""
    sign = 1.0 if goal == "maximize" else -1.0
    return [sign * _log_ratio(c, r) for c, r in zip(challenger, reference, strict=True)]


def _log_ratio(one: float, other: float) -> float:
    if one == other:
        return 0.0
    floor = max(one, other) / 1000
    return math.log(max(one, floor) / max(other, floor))


def _estimated(ratios: Sequence[float]) -> tuple[float, float, int]:
    """The trimmed mean, its standard error and the degrees of freedom."""
    count = len(ratios)
    cut = 1 if count >= TRIMMED_FROM else 0
    inner = sorted(ratios)[cut : count - cut]
    drawn_in = [inner[0]] * cut + inner + [inner[-1]] * cut
    centre = fmean(drawn_in)
    squares = sum((x - centre) ** 2 for x in drawn_in)
    variance = squares / (len(inner) * (len(inner) - 1)) + LEAST_NOISE**2 / count
    return fmean(inner), math.sqrt(variance), len(inner) - 1


def _relative(log_ratio: float, goal: Goal) -> float:
    """The change of the metric as a share of the reference's, for the better."""
    bounded = min(max(log_ratio, -50.0), 50.0)
    return math.expm1(bounded) if goal == "maximize" else -math.expm1(-bounded)

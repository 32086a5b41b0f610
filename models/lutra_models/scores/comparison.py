"""One candidate compared with the serving version, over sessions on which both were judged.

A session gives one difference. The interval of their mean is a confidence sequence: it contains the true mean at every
number of sessions at once, so that a test after each session errs no more often than a single test. It inverts the
t-test with a normal prior on the effect size (Lai 1976; Wang and Ramdas, "Anytime-valid t-tests and confidence
sequences for Gaussian means with unknown variance", 2024). Above zero is better for the candidate.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist, fmean
from typing import Literal

Verdict = Literal["better", "worse", "undecided"]

LEVEL = 0.975
"""The probability that an interval contains the true mean. Two sources that may promote a version share the 5 %."""
LEAST_SPREAD = 0.02
"""The least scatter of differences between sessions: a difference in the last digits on which all sessions agree does
not count.
"""
PRIOR_SESSIONS = 1.0
"""The weight of the prior on the effect size, whose variance is 1/this."""
LIKELY = NormalDist().inv_cdf(0.8)
"""The pessimism about mean and spread in the reported number of sessions, so that it suffices in nine of ten
comparisons (`python -m benchmarks promotion`).
"""
LEAST_TOLD = 5
"""The least number of sessions from which the necessary number is estimated."""
MOST_NEEDED = 1000
"""The largest number of necessary sessions that is reported: more are not worth the wait."""


@dataclass(frozen=True)
class Comparison:
    """`sessions` paired differences: their mean, its interval, and the number of further sessions that would exclude
    zero.

    `mean` is None without a session; `low` and `high` are None while there are too few sessions for any interval.
    `needed` is 0 if the interval excludes zero, and None if `MOST_NEEDED` sessions more might not, and before
    `LEAST_TOLD` sessions.
    """

    sessions: int
    mean: float | None
    low: float | None
    high: float | None
    level: float
    needed: int | None

    @property
    def verdict(self) -> Verdict:
        if self.low is not None and self.low > 0:
            return "better"
        return "worse" if self.high is not None and self.high < 0 else "undecided"


def compared(differences: Sequence[float], level: float = LEVEL) -> Comparison:
    """The candidate's value of each session less that of the serving version."""
    count = len(differences)
    if not count:
        return Comparison(0, None, None, None, level, None)
    mean = fmean(differences)
    # One difference has no spread of its own.
    squares = sum((d - mean) ** 2 for d in differences)
    spread = math.sqrt(squares / max(count - 1, 1) + LEAST_SPREAD**2)
    half = half_width(count, level) * spread
    bounded = math.isfinite(half)
    low, high = (mean - half, mean + half) if bounded else (None, None)
    needed = _needed(count, mean, spread, level) if count >= LEAST_TOLD else None
    return Comparison(count, mean, low, high, level, needed)


def half_width(sessions: int, level: float) -> float:
    """The interval's, in deviations of the differences; infinite for too few sessions.

    With the sum S and the sum of squares V of the differences less a mean m, the evidence against m is
    √(c/(n + c)) · (1 - S²/((n + c) V))^(-n/2); m is in the interval while that is below 1/(1 - level).
    """
    n, c = sessions, PRIOR_SESSIONS
    share = 1.0 - ((1.0 - level) * math.sqrt(c / (n + c))) ** (2.0 / n)
    room = n - share * (n + c)
    return math.sqrt(share * (n + c) / room * (n - 1) / n) if room > 0 and n > 1 else math.inf


def _needed(count: int, mean: float, spread: float, level: float) -> int | None:
    """Sessions more after which the interval excludes zero.

    What is still to come scatters around a mean and by a spread that are themselves known to `count` sessions only: of
    both the unfavourable bound counts.
    """
    freedom = count - 1
    wide = spread * math.sqrt(freedom / _least_chi_square(freedom))

    def enough(more: int) -> bool:
        off = _t(freedom) * spread * math.sqrt(more / (count * (count + more)))
        return abs(mean) - off > half_width(count + more, level) * wide

    if abs(mean) > half_width(count, level) * spread:
        return 0
    more = 1 + bisect_left(range(1, MOST_NEEDED + 1), True, key=enough)
    return more if more <= MOST_NEEDED else None


def _t(freedom: int) -> float:
    """The quantile of Student's t for `LIKELY`, by its first terms (Abramowitz and Stegun, 26.7.5)."""
    z = LIKELY
    first, second = (z**3 + z) / 4, (5 * z**5 + 16 * z**3 + 3 * z) / 96
    return z + first / freedom + second / freedom**2


def _least_chi_square(freedom: int) -> float:
    """The lower quantile of chi-square for `LIKELY` (Wilson and Hilferty, 1931)."""
    part = 2 / (9 * freedom)
    return freedom * (1 - part - LIKELY * math.sqrt(part)) ** 3

"""The distribution of durations, reconstructed from samples at moments.

At a random moment the number of transactions in flight at the age a is rate × P(duration > a): so the ages that were
seen at `samples` moments are Poisson counts of an integral of the wanted distribution. Long transactions are seen often
and short ones seldom, in proportion to their durations. A connection that is idle shows how long its last transaction
took: exact durations, but of those alone whose connection had nothing to do when the agent looked. Where a long
transaction leaves its connection less idle time, such durations are seen less often the longer they are. Both kinds are
fitted together by expectation maximisation over ranges of durations, and with a share seen that falls exponentially
with the duration as fast as the ages say. It begins with the log-normals that explain what was seen, and is smoothed
towards them at each step (after Silverman et al. 1990, who smooth towards a flat line: that widens what is narrow).
"""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from lutra_agent.engines.postgresql.telemetry.ages.bins import (
    ENDS_MS,
    MIDDLES_MS,
    RANGES,
    RATIO,
    WIDTHS_MS,
    Counts,
    quantile_ms,
    range_of,
)

STEPS = 40
GIVEN = 0.02
"""The share of the counts of two neighbours that each step moves towards their starting shares: enough to smooth the
peaks of few observations.
"""
FEWEST = 100
"""The least number of transactions in a window: of fewer, a hundredth is less than one."""
FEWEST_SEEN = 10
P99 = 0.99
BEYOND = 3.0
"""The longest duration that is considered possible, as a multiple of the longest observed one."""
SIGMAS = (0.1, 0.18, 0.3, 0.5, 0.75, 1.1)
"""The standard deviations that are tried for the logarithm of a duration."""
USUAL_SIGMA, DOUBT = 0.5, 0.7
"""The prior: its logarithm is normal, with this deviation."""
FAR, FAR_SIGMA = 0.002, 1.2
"""A share of the transactions may be anywhere, so that observations there have a mass to grow from."""
COARSE, FINE = 2.0, 1.25
"""The step from one mean to the next: over the whole range, and next to the best of these."""
LOGS = tuple(math.log(middle) for middle in MIDDLES_MS)
LEAST = 1e-12


@dataclass(frozen=True)
class Seen:
    """A window: `ages` of transactions in flight at `samples` moments, durations of `ended` ones, and how many ended.

    `transactions` is the server's own count over `window_ms`.
    """

    ages: Counts
    ended: Counts
    samples: int
    transactions: float
    window_ms: float


@dataclass(frozen=True)
class Percentile:
    """`error_share` is the standard error of `ms`, as a share of it: the sampling error, without bias."""

    ms: float
    error_share: float


def masses(seen: Seen) -> tuple[float, ...] | None:
    """The number of transactions in each range of durations; None if too few were observed."""
    if seen.transactions < FEWEST or seen.ages.total + seen.ended.total < FEWEST_SEEN:
        return None
    used = _used(seen)
    ages, ended = seen.ages.of[:used], seen.ended.of[:used]
    per_transaction = seen.samples / seen.window_ms
    known = min(sum(ended), seen.transactions)
    start = explained(ages, ended, seen.transactions, per_transaction)
    fitted = list(start)
    for _ in range(STEPS):
        chances = _chances(ended, fitted)
        unseen = [f * (1 - c) for f, c in zip(fitted, chances, strict=True)]
        scale = (seen.transactions - known) / max(sum(unseen), 1e-12)
        aged = _back_projected(ages, fitted, per_transaction)
        counts = (
            (e + scale * u + f * a) / (1 + per_transaction * m)
            for e, u, f, a, m in zip(ended, unseen, fitted, aged, MIDDLES_MS, strict=False)
        )
        fitted = _smoothed(list(counts), start)
        total = sum(fitted)
        fitted = [f * seen.transactions / total for f in fitted]
    return (*fitted, *(0.0,) * (RANGES - used))


def together(inside: Sequence[float], outside: Counts) -> tuple[float, ...]:
    """The masses of the sum of two independent durations."""
    if not outside.total:
        return tuple(inside)
    waits = [(m, count / outside.total) for m, count in zip(MIDDLES_MS, outside.of, strict=True) if count]
    sums = [0.0] * RANGES
    for middle, mass in zip(MIDDLES_MS, inside, strict=True):
        if mass > 0:
            for wait, share in waits:
                sums[range_of(middle + wait)] += mass * share
    return tuple(sums)


def percentile(seen: Seen, fitted: Sequence[float]) -> Percentile:
    """The 99th, with its error."""
    ms = quantile_ms(fitted, P99)
    sightings = sum(
        a + e for a, e, end in zip(seen.ages.of, seen.ended.of, ENDS_MS, strict=True) if end / math.sqrt(RATIO) >= ms
    )
    spread = math.log(quantile_ms(fitted, 0.995) / quantile_ms(fitted, 0.97)) / math.log(0.03 / 0.005)
    tail = max(spread, math.log(RATIO) / 2) / math.sqrt(max(sightings, 0.5))
    return Percentile(ms, math.hypot(tail, 1 / math.sqrt(seen.ages.total + seen.ended.total)))


def _used(seen: Seen) -> int:
    """How many ranges are worth a thought."""
    last = max(i for i in range(RANGES) if seen.ages.of[i] or seen.ended.of[i])
    return min(last + round(math.log(BEYOND) / math.log(RATIO)), RANGES)


def _chances(ended: Sequence[int], fitted: Sequence[float]) -> list[float]:
    """For each range, the chance that the end of a transaction was seen: level × exp(-duration / decay).

    The decay is the one at which the durations that were seen have the mean that they should have.
    """
    count = sum(ended)
    if not count:
        return [0.0] * len(fitted)
    mean = sum(e * m for e, m in zip(ended, MIDDLES_MS, strict=False)) / count

    def weights(rate: float) -> list[float]:
        return [f * math.exp(-m * rate) for f, m in zip(fitted, MIDDLES_MS, strict=False)]

    def mean_at(rate: float) -> float:
        weighed = weights(rate)
        return sum(w * m for w, m in zip(weighed, MIDDLES_MS, strict=False)) / max(sum(weighed), 1e-300)

    low, high = 0.0, 1.0 / mean
    if mean_at(low) > mean:
        for _ in range(12):
            middle = (low + high) / 2
            low, high = (middle, high) if mean_at(middle) > mean else (low, middle)
    weighed = weights(low)
    level = count / max(sum(weighed), 1e-300)
    return [min(level * w / f, 1.0) if f > 0 else 0.0 for w, f in zip(weighed, fitted, strict=True)]


def _back_projected(ages: Sequence[int], fitted: Sequence[float], per_transaction: float) -> list[float]:
    """What the ages say of each range: seen over expected, summed over the ages that a duration passes through."""
    would = expected(fitted, per_transaction)
    passed, told = 0.0, []
    for i, age in enumerate(ages):
        ratio = per_transaction * WIDTHS_MS[i] * age / would[i] if would[i] > 0 else 0.0
        told.append(passed + ratio / 2)
        passed += ratio
    return told


def _smoothed(counts: Sequence[float], towards: Sequence[float]) -> list[float]:
    """Neighbours share a part of their counts as `towards` has it: what is like that stays, and none is lost."""
    out = list(counts)
    for i, (first, second) in enumerate(itertools.pairwise(towards)):
        if first + second > 0:
            moved = GIVEN * (counts[i] * second - counts[i + 1] * first) / (first + second)
            out[i] -= moved
            out[i + 1] += moved
    return out


@dataclass(frozen=True)
class Candidate:
    """A log-normal with this mean: its likelihood of the ages, and its number of transactions in each range."""

    mean_ms: float
    likelihood: float
    masses: tuple[float, ...]


def log_normal(mean_ms: float, sigma: float, transactions: float, ranges: int) -> tuple[float, ...]:
    """The number of transactions in each of the first ranges."""
    mu = math.log(mean_ms) - sigma * sigma / 2
    near = [math.exp(-(((at - mu) / sigma) ** 2) / 2) for at in LOGS[:ranges]]
    far = [math.exp(-(((at - mu) / FAR_SIGMA) ** 2) / 2) for at in LOGS[:ranges]]
    a, b = ((1 - FAR) * transactions / max(sum(near), LEAST), FAR * transactions / max(sum(far), LEAST))
    return tuple(a * n + b * f for n, f in zip(near, far, strict=True))


def explained(
    ages: Sequence[int], ended: Sequence[int], transactions: float, samples_per_ms: float
) -> tuple[float, ...]:
    """The number of transactions in each range, by the log-normals weighted by their likelihood."""

    def tried(means_ms: Iterable[float], sigmas: Iterable[float]) -> list[Candidate]:
        pairs = itertools.product(means_ms, sigmas)
        return [_candidate(m, s, ages, ended, transactions, samples_per_ms) for m, s in pairs]

    last_ms = ENDS_MS[len(ages) - 1]
    best = max(tried(_grid(ENDS_MS[0], last_ms, COARSE), (USUAL_SIGMA,)), key=lambda c: c.likelihood)
    fine = tried(_grid(best.mean_ms / COARSE, min(best.mean_ms * COARSE, last_ms), FINE), SIGMAS)
    top = max(c.likelihood for c in fine)
    weights = [math.exp(c.likelihood - top) for c in fine]
    columns = zip(*(c.masses for c in fine), strict=True)
    return tuple(sum(map(operator.mul, weights, column)) / sum(weights) for column in columns)


def expected(masses: Sequence[float], samples_per_ms: float) -> list[float]:
    """The number of ages in each range that transactions with these durations show."""
    longer, found = 0.0, [0.0] * len(masses)
    for i in reversed(range(len(masses))):
        found[i] = samples_per_ms * WIDTHS_MS[i] * (longer + masses[i] / 2)
        longer += masses[i]
    return found


def _candidate(
    mean_ms: float,
    sigma: float,
    ages: Sequence[int],
    ended: Sequence[int],
    transactions: float,
    samples_per_ms: float,
) -> Candidate:
    masses = log_normal(mean_ms, sigma, transactions, len(ages))
    would = expected(masses, samples_per_ms)
    poisson = sum(a * math.log(max(e, LEAST)) for a, e in zip(ages, would, strict=True) if a) - sum(would)
    shown = sum(e * math.log(max(m / transactions, LEAST)) for e, m in zip(ended, masses, strict=True) if e)
    doubt = math.log(sigma / USUAL_SIGMA) ** 2 / (2 * DOUBT**2)
    return Candidate(mean_ms, poisson + shown - doubt, masses)


def _grid(first: float, last: float, ratio: float) -> list[float]:
    steps = max(round(math.log(last / first) / math.log(ratio)), 1)
    return [first * (last / first) ** (i / steps) for i in range(steps + 1)]

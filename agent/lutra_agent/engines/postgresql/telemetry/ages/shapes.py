"""The log-normals that explain the observed ages: the prior of durations before the ages update it.

Ages alone leave much open, because few short transactions are seen. A starting distribution that is too wide stays too
wide with few observations, and so does p99.
"""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from lutra_agent.engines.postgresql.telemetry.ages.bins import ENDS_MS, MIDDLES_MS, WIDTHS_MS

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

"""Target metrics from pg_stat_statements: statements per second, and an estimate of the 99th percentile.

The view keeps calls, mean and standard deviation per statement, never a distribution. Each statement's executions are
taken as log-normal with those two moments; the window's p99 is the 99th percentile of their mixture, weighted by
calls. It sees the server's execution time, not the network and not the client's queue.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

P99 = 0.99
HALVINGS = 60


@dataclass(frozen=True)
class StatementRow:
    """One statement's counters since their start; times in ms. `jit_ms` is None if the server does not report it."""

    calls: int
    total_ms: float
    stddev_ms: float
    jit_ms: float | None = None


@dataclass(frozen=True)
class StatementDelta:
    """One statement's executions within a window; `stddev_ms` is the population's."""

    calls: int
    mean_ms: float
    stddev_ms: float
    jit_ms: float | None = None


def deltas(before: Mapping[object, StatementRow], after: Mapping[object, StatementRow]) -> list[StatementDelta]:
    """The differences between two readings, statement by statement.

    A statement whose counters went back was evicted and reappeared: all its counts are of this window.
    """
    return [d for key, row in after.items() if (d := _delta(before.get(key), row)) is not None]


def estimate_p99_ms(rows: Sequence[StatementDelta]) -> float | None:
    """The 99th percentile of a mixture of log-normals, in ms; None without a single execution."""
    parts = list(_log_normals(rows))
    if not parts:
        return None
    calls = sum(weight for weight, _, _ in parts)
    low = min(mu - 10 * sigma for _, mu, sigma in parts)
    high = max(mu + 10 * sigma for _, mu, sigma in parts)
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        if sum(weight * _below(middle, mu, sigma) for weight, mu, sigma in parts) >= P99 * calls:
            high = middle
        else:
            low = middle
    return math.exp(high)


def _delta(old: StatementRow | None, new: StatementRow) -> StatementDelta | None:
    if old is None or new.calls < old.calls or new.total_ms < old.total_ms:
        old = StatementRow(0, 0.0, 0.0, 0.0)
    calls = new.calls - old.calls
    if calls <= 0:
        return None
    mean = (new.total_ms - old.total_ms) / calls
    # Chan et al.: the squared deviations of a union are those of its parts and the distance between their means.
    apart = mean - (old.total_ms / old.calls if old.calls else mean)
    squares = new.calls * new.stddev_ms**2 - old.calls * old.stddev_ms**2 - apart**2 * old.calls * calls / new.calls
    jit_ms = None if new.jit_ms is None else max(new.jit_ms - (old.jit_ms or 0.0), 0.0)
    return StatementDelta(calls, mean, math.sqrt(max(squares, 0.0) / calls), jit_ms)


def _log_normals(rows: Sequence[StatementDelta]) -> Iterator[tuple[int, float, float]]:
    """(calls, mu, sigma) of each statement that ran."""
    for row in rows:
        if row.calls > 0 and row.mean_ms > 0:
            variance = math.log1p((row.stddev_ms / row.mean_ms) ** 2)
            yield row.calls, math.log(row.mean_ms) - variance / 2, math.sqrt(variance)


def _below(log_ms: float, mu: float, sigma: float) -> float:
    if sigma < 1e-9:
        return 1.0 if log_ms >= mu else 0.0
    return 0.5 * math.erfc((mu - log_ms) / (sigma * math.sqrt(2)))

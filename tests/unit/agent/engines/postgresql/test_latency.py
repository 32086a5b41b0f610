from __future__ import annotations

import math
import random
from statistics import fmean, pstdev

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lutra_agent.engines.postgresql.telemetry.statements import StatementDelta, StatementRow, deltas, estimate_p99_ms

times = st.lists(st.floats(0.01, 1e4), min_size=1, max_size=50)
statements = st.lists(
    st.builds(StatementDelta, st.integers(1, 10**9), st.floats(1e-3, 1e5), st.floats(0, 1e6)), min_size=1, max_size=20
)


def row(values: list[float]) -> StatementRow:
    return StatementRow(len(values), sum(values), pstdev(values)) if values else StatementRow(0, 0.0, 0.0)


def test_one_log_normal_gives_its_own_percentile() -> None:
    sigma = 0.8
    mean, stddev = math.exp(sigma**2 / 2), math.exp(sigma**2 / 2) * math.sqrt(math.expm1(sigma**2))
    estimate = estimate_p99_ms([StatementDelta(1000, mean, stddev)])
    assert estimate == pytest.approx(math.exp(2.3263478740408408 * sigma), rel=1e-6)


def test_a_mixture_gives_the_percentile_of_a_large_sample_of_it() -> None:
    rng = random.Random(7)
    fast = [rng.lognormvariate(0, 0.5) for _ in range(97_000)]
    slow = [rng.lognormvariate(3, 0.3) for _ in range(3_000)]
    estimate = estimate_p99_ms([StatementDelta(len(s), fmean(s), pstdev(s)) for s in (fast, slow)])
    truth = sorted(fast + slow)[99_000]
    assert estimate == pytest.approx(truth, rel=0.03)


def test_a_statement_without_spread_gives_its_mean() -> None:
    assert estimate_p99_ms([StatementDelta(5, 3.0, 0.0)]) == pytest.approx(3.0)


def test_nothing_that_ran_gives_no_estimate() -> None:
    assert estimate_p99_ms([]) is None
    assert estimate_p99_ms([StatementDelta(0, 0.0, 0.0)]) is None


@given(statements)
def test_an_estimate_is_a_positive_finite_time(rows: list[StatementDelta]) -> None:
    estimate = estimate_p99_ms(rows)
    assert estimate is not None
    assert math.isfinite(estimate)
    assert estimate > 0


@given(times, times)
def test_a_delta_has_the_moments_of_what_ran_in_between(earlier: list[float], later: list[float]) -> None:
    [delta] = deltas({1: row(earlier)}, {1: row(earlier + later)})
    assert delta.calls == len(later)
    assert delta.mean_ms == pytest.approx(fmean(later), rel=1e-6, abs=1e-6)
    assert delta.stddev_ms == pytest.approx(pstdev(later), rel=1e-2, abs=1e-3 * max(earlier + later))


def test_a_statement_that_was_evicted_and_came_again_counts_from_nothing() -> None:
    [delta] = deltas({1: StatementRow(100, 500.0, 1.0)}, {1: StatementRow(4, 8.0, 0.5)})
    assert (delta.calls, delta.mean_ms) == (4, 2.0)


def test_a_statement_that_did_not_run_is_left_out() -> None:
    assert deltas({1: StatementRow(5, 5.0, 0.0)}, {1: StatementRow(5, 5.0, 0.0)}) == []

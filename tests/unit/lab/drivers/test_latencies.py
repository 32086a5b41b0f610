from __future__ import annotations

import math
import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lutra_lab.drivers.pgbench import Latencies

pytestmark = pytest.mark.slow

MICROSECONDS = st.lists(st.integers(0, 10**9), min_size=1, max_size=300)


@given(MICROSECONDS, st.integers(1, 100))
def test_a_percentile_is_the_nearest_rank_of_the_sorted_latencies(latencies_us: list[int], percent: int) -> None:
    rank = math.ceil(percent * len(latencies_us) / 100)
    assert Latencies(latencies_us).percentile_ms(percent) == sorted(latencies_us)[rank - 1] / 1000


@given(MICROSECONDS)
def test_percentiles_never_fall_as_the_percentage_rises(latencies_us: list[int]) -> None:
    latencies = Latencies(latencies_us)
    percentiles = [latencies.percentile_ms(p) for p in range(1, 101)]
    assert percentiles == sorted(percentiles)
    assert percentiles[-1] == max(latencies_us) / 1000


@given(MICROSECONDS)
def test_mean_and_deviation_are_those_of_the_population(latencies_us: list[int]) -> None:
    latencies = Latencies(latencies_us)
    assert latencies.mean_ms() == pytest.approx(statistics.fmean(latencies_us) / 1000)
    assert latencies.stddev_ms() == pytest.approx(statistics.pstdev(latencies_us) / 1000, abs=1e-6)


def test_of_nothing_there_is_no_percentile() -> None:
    with pytest.raises(ValueError, match="of 0 latencies"):
        Latencies().percentile_ms(99)

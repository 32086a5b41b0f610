from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lutra_agent.engines.postgresql.telemetry.histogram import Histogram, p99_ms, parse_bounds, percentile

TIMINGS = "{{0.000 - 1.000}, (1.000 - 2.778}, (2.778 - 4.162}, (4.162 - 6.623}, (6.623 - ...}}"
BOUNDS = parse_bounds(TIMINGS)


def test_the_ranges_are_read_as_the_extension_prints_them() -> None:
    assert list(parse_bounds(TIMINGS)) == [(0, 1), (1, 2.778), (2.778, 4.162), (4.162, 6.623), (6.623, math.inf)]


def test_a_long_text_costs_no_more_than_its_length() -> None:
    """Where each digit read those after it again, this would not end."""
    assert parse_bounds("1" * 1_000_000) == ()
    assert parse_bounds("1.5" + " " * 1_000_000 + "- 2") == ((1.5, 2.0),)


def test_two_readings_give_what_ran_between_them_across_time_buckets() -> None:
    before = Histogram(BOUNDS, {"08:00": (500, 0, 0, 0, 100)})
    after = Histogram(BOUNDS, {"08:00": (560, 0, 0, 0, 100), "08:01": (30, 0, 0, 10, 0)})
    found = p99_ms(before, after)
    assert found == pytest.approx(4.162 * (6.623 / 4.162) ** 0.9)


def test_a_reset_an_empty_window_and_the_open_range_give_no_p99() -> None:
    one, more = Histogram(BOUNDS, {"08:00": (5, 0, 0, 0, 0)}), Histogram(BOUNDS, {"08:00": (5, 0, 0, 0, 9)})
    assert p99_ms(more, one) is None
    assert p99_ms(one, one) is None
    assert p99_ms(one, more) is None


@given(st.lists(st.integers(0, 10**6), min_size=4, max_size=4))
def test_a_percentile_lies_in_a_range_that_holds_something(counts: list[int]) -> None:
    found = percentile(BOUNDS, [*counts, 0])
    if not any(counts):
        assert found is None
        return
    assert found is not None
    assert any(low <= found <= high * (1 + 1e-9) for (low, high), c in zip(BOUNDS, counts, strict=False) if c)

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lutra_agent.engines.mysql.telemetry.histogram import Histogram, from_picoseconds, from_upper_ends, p99_ms

BOUNDS = ((0.0, 1.0), (1.0, 2.0), (2.0, 4.0), (4.0, math.inf))
EMPTY = Histogram(BOUNDS, (0, 0, 0, 0))


def test_mysqls_ranges_are_picoseconds_and_the_last_is_open() -> None:
    found = from_picoseconds([(0, 10_000_000, 5), (10_000_000, 10_471_285, 1), (10_471_285, 2**63, 0)])
    assert found.bounds[0] == (0.0, 0.01)
    assert found.bounds[-1] == (0.010471285, math.inf)
    assert found.counts == (5, 1, 0)


def test_mariadbs_ranges_are_upper_ends_in_seconds_and_too_long_is_open() -> None:
    found = from_upper_ends([("      0.000001", 3), ("      0.000003", 4), ("TOO LONG", 0)])
    assert found.bounds == (
        (0.0, pytest.approx(0.001)),
        (pytest.approx(0.001), pytest.approx(0.003)),
        (0.003, math.inf),
    )
    assert found.counts == (3, 4, 0)


def test_the_percentile_lies_within_the_range_that_holds_it() -> None:
    after = replace(EMPTY, counts=(980, 0, 20, 0))
    p99 = p99_ms(EMPTY, after)
    assert p99 == pytest.approx(2 * 2**0.5)


def test_the_agents_own_statements_are_taken_out_again() -> None:
    # One statement of the agent's took 3 ms, and it alone lies so high.
    after = Histogram(BOUNDS, (50, 0, 1, 0), own_ms=(3.2,))
    assert p99_ms(EMPTY, after) == pytest.approx(0.99)
    assert p99_ms(EMPTY, replace(after, own_ms=())) > 2.0  # type: ignore[operator]


def test_an_own_statement_that_the_agent_saw_longer_than_the_server_is_looked_for_below() -> None:
    after = Histogram(BOUNDS, (50, 1, 0, 0), own_ms=(2.7,))
    assert p99_ms(EMPTY, after) == pytest.approx(0.99)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (EMPTY, EMPTY),
        (replace(EMPTY, counts=(5, 0, 0, 0)), EMPTY),
        (EMPTY, Histogram(BOUNDS[:2], (5, 5))),
        (EMPTY, replace(EMPTY, counts=(1, 0, 0, 9))),
        (Histogram((), ()), Histogram((), ())),
    ],
    ids=["nothing ran", "emptied", "cut otherwise", "in the open range", "no ranges"],
)
def test_there_is_no_percentile_rather_than_a_guess(before: Histogram, after: Histogram) -> None:
    assert p99_ms(before, after) is None


@given(
    st.lists(st.integers(0, 1000), min_size=4, max_size=4),
    st.lists(st.integers(0, 1000), min_size=4, max_size=4),
    st.lists(st.floats(0, 10), max_size=20),
)
def test_the_percentile_is_never_negative_and_never_beyond_the_ranges(
    old: list[int], more: list[int], own: list[float]
) -> None:
    before = Histogram(BOUNDS, tuple(old))
    after = Histogram(BOUNDS, tuple(a + b for a, b in zip(old, more, strict=True)), tuple(own))
    p99 = p99_ms(before, after)
    assert p99 is None or 0 <= p99 <= 4.0

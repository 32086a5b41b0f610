"""When a window may end early, and what is told of one that was."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lutra_models.ending import LEAST_READINGS, LEAST_SHARE, Level, ended, outlook
from lutra_models.metrics import Goal

WHOLE = 60
TPS = Level("tps", "maximize", 1000.0)

rates = st.lists(st.floats(0, 1e6), max_size=WHOLE + 5)
levels = st.builds(Level, st.just("tps"), st.sampled_from(["maximize", "minimize"]), st.floats(1e-3, 1e6))


def seconds(mean: float, seed: int, slow: float = 0.0, memory: float = 0.6, scatter: float = 0.12) -> list[float]:
    """A window of rates around a mean, each like its neighbour; a slow one begins so far below its end."""
    draw = random.Random(seed)
    noise, course = 0.0, []
    for i in range(WHOLE):
        noise = memory * noise + math.sqrt(1 - memory**2) * scatter * draw.gauss(0, 1)
        course.append(math.exp(noise) * (1 - slow * math.exp(-i / 10)))
    return [mean * rate * WHOLE / sum(course) for rate in course]


def over_at(window: Sequence[float], level: Level) -> tuple[int, float] | None:
    """When the rule ends it, looking each second, and with what bound."""
    for count in range(1, WHOLE):
        bound = ended(window[:count], WHOLE, level)
        if bound is not None:
            return count, bound
    return None


@given(rates, levels)
def test_it_is_total_and_a_bound_is_a_number_worse_than_the_level(window: list[float], level: Level) -> None:
    bound = ended(window, WHOLE, level)
    if bound is not None:
        assert math.isfinite(bound)
        assert bound >= 0
        assert bound <= level.value if level.goal == "maximize" else bound >= level.value


@given(st.lists(st.floats(0, 1e6), max_size=WHOLE), levels)
def test_nothing_is_told_from_few_readings_nor_of_a_window_that_is_over(window: list[float], level: Level) -> None:
    few = window[: max(LEAST_READINGS, math.ceil(WHOLE * LEAST_SHARE)) - 1]
    assert ended(few, WHOLE, level) is None
    assert ended(window, len(window), level) is None


@pytest.mark.parametrize("bad", [math.inf, math.nan])
def test_what_is_no_number_ends_nothing(bad: float) -> None:
    assert ended([*[1.0] * 20, bad], WHOLE, TPS) is None


@given(st.floats(0.01, 1e6), st.integers(10, 59), st.sampled_from(["maximize", "minimize"]))
def test_a_steady_window_at_its_level_or_better_goes_on(value: float, count: int, goal: Goal) -> None:
    assert ended([value] * count, WHOLE, Level("tps", goal, value)) is None


@given(st.integers(10, 50), st.floats(0.5, 2.0), st.floats(10, 1e5))
def test_the_unit_does_not_matter(count: int, ratio: float, unit: float) -> None:
    window = seconds(1000.0 * ratio, 1)[:count]
    here = ended(window, WHOLE, TPS)
    there = ended([unit * rate for rate in window], WHOLE, Level("qps", "maximize", 1000.0 * unit))
    assert (here is None) is (there is None)
    if here is not None and there is not None:
        assert there == pytest.approx(unit * here)


def test_a_window_that_shows_what_it_would_need_goes_on() -> None:
    """A stall of thirty seconds says nothing of the rest where the rates before it were as good as the rest must be."""
    level = Level("tps", "maximize", 900.0)
    assert over_at([1500.0] * 10 + [100.0] * 20 + [1500.0] * 30, level) is None


@pytest.mark.parametrize("slow", [0.0, 0.4, 0.7])
@pytest.mark.parametrize("memory", [0.0, 0.6, 0.9])
def test_of_windows_that_come_to_their_level_hardly_one_is_ended(slow: float, memory: float) -> None:
    """Whatever the noise is like, and also where the load begins slowly."""
    wrong = [over_at(seconds(1100.0, seed, slow, memory), TPS) for seed in range(100)]
    assert sum(found is not None for found in wrong) <= 5


@pytest.mark.parametrize("goal", ["maximize", "minimize"])
def test_a_window_far_from_its_level_is_over_soon_and_one_near_it_later(goal: Goal) -> None:
    def usual(ratio: float) -> float:
        worse = 1000.0 * ratio if goal == "maximize" else 1000.0 / ratio
        counts = [found[0] if found else WHOLE for found in (over_at(seconds(worse, s), level) for s in range(40))]
        return sum(counts) / len(counts)

    level = Level("p99_ms" if goal == "minimize" else "tps", goal, 1000.0)
    far, nearer, near = usual(0.4), usual(0.8), usual(0.95)
    assert far < WHOLE / 4 < near
    assert far <= nearer <= near


@pytest.mark.parametrize("slow", [0.0, 0.5])
@pytest.mark.parametrize("ratio", [0.3, 0.6, 0.85])
def test_the_bound_of_an_ended_window_holds(ratio: float, slow: float) -> None:
    windows = [seconds(1000.0 * ratio, seed, slow) for seed in range(100)]
    found = [(window, over) for window in windows if (over := over_at(window, TPS)) is not None]
    assert len(found) >= 95
    assert sum(sum(window) / WHOLE <= bound for window, (_, bound) in found) >= 0.9 * len(found)


def test_the_longer_the_window_lasts_the_surer_it_is() -> None:
    window = seconds(800.0, 3)
    outlooks = [outlook(window[:count], WHOLE, "maximize") for count in (12, 24, 36, 48)]
    scales = [seen.scale for seen in outlooks if seen is not None]
    assert scales == sorted(scales, reverse=True)
    assert len(scales) == 4


@pytest.mark.parametrize("value", [0.0, -1.0, math.inf, math.nan])
def test_a_level_is_a_number_above_zero(value: float) -> None:
    with pytest.raises(ValueError, match="level"):
        Level("tps", "maximize", value)

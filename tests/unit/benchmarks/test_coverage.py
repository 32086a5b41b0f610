from __future__ import annotations

import numpy as np
import pytest
from sklearn.ensemble import RandomForestRegressor

from benchmarks.tuning.coverage import POINTS, forest_quantiles, judge, observed, targets
from benchmarks.tuning.tasks import Task
from tests.support.service.small_task import small_task

pytestmark = pytest.mark.thorough


@pytest.fixture(scope="module")
def task() -> Task:
    return small_task()


def test_coverage_is_the_share_of_readings_inside_told_apart_by_half() -> None:
    readings = np.array([10.0, 10.0, 10.0, 10.0])
    low, high = np.array([9.0, 11.0, 9.0, 10.0]), np.array([11.0, 12.0, 11.0, 10.0])
    judged = judge(np.array([low, (low + high) / 2, high]), readings, spread=4.0)
    assert (judged["held"], judged["held_uniform"], judged["held_near"]) == (0.75, 0.5, 1.0)
    assert judged["width"] == 1.5 / 4.0
    assert judged["error"] == 0.0


def test_the_error_is_relative_to_the_reading() -> None:
    median = np.array([11.0, 22.0])
    assert judge(np.array([median, median, median]), np.array([10.0, 20.0]), 1.0)["error"] == 0.1


def test_every_configuration_to_predict_runs_and_half_lie_near_the_best_reading(task: Task) -> None:
    observations = observed(task, "uniform", seed=0, count=20)
    matrix = targets(task, observations, np.random.default_rng(0))
    assert len(matrix) == POINTS
    assert not task.fail(matrix).any()
    best = max((o for o in observations if o.completed), key=lambda o: o.metrics["objective"]).configuration
    same = (matrix == task.matrix([best])).mean(axis=1)
    assert same[POINTS // 2 :].mean() > 0.5 > same[: POINTS // 2].mean()


def test_observations_of_a_seed_are_the_same_however_many_follow(task: Task) -> None:
    few, many = (observed(task, "uniform", seed=1, count=count) for count in (5, 9))
    assert [(o.configuration, dict(o.metrics)) for o in few] == [(o.configuration, dict(o.metrics)) for o in many[:5]]


def test_a_forest_of_one_leaf_gives_the_readings_own_quantiles() -> None:
    rng = np.random.default_rng(0)
    x, y = rng.random((40, 2)), np.arange(40.0)
    forest = RandomForestRegressor(10, min_samples_leaf=40, random_state=0).fit(x, y)
    found = forest_quantiles(forest, x, y, x[:3], [0.05, 0.5, 0.95])
    assert found.tolist() == [[1.0] * 3, [19.0] * 3, [37.0] * 3]

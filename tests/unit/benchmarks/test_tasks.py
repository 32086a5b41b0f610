from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lutra_models import Choice, Knob, Number

from benchmarks.tuning import cube
from benchmarks.tuning.tasks import Task, forest_task
from tests.support.service.small_task import small_table, small_task

pytestmark = pytest.mark.thorough

KNOBS = (
    Knob("wide", Number(16, 1 << 40, log=True, integer=True)),
    Knob("share", Number(0.0, 1.0)),
    Knob("count", Number(-1, 12, integer=True)),
    Knob("method", Choice(("a", "b", "c"))),
)


@pytest.fixture(scope="module")
def task() -> Task:
    return small_task()


def test_a_task_takes_its_knobs_from_the_columns_that_vary(task: Task) -> None:
    assert task.space.names == ("buffers", "ratio", "method")
    assert isinstance(task.space["method"].domain, Choice)
    buffers = task.space["buffers"].domain
    assert isinstance(buffers, Number)
    assert buffers.log
    assert buffers.integer


def test_the_default_scores_0_and_the_best_known_1(task: Task) -> None:
    assert task.score(task.truth(task.default)) == 0.0
    assert task.score(task.best_truth) == 1.0
    assert task.best_truth > task.default_truth


def test_a_task_is_the_same_when_it_is_built_again(task: Task) -> None:
    again = small_task()
    points = np.random.default_rng(0).random((30, len(task.space)))
    matrix = cube.from_unit(task.space.knobs, points)
    assert (again.default_truth, again.best_truth) == (task.default_truth, task.best_truth)
    assert np.array_equal(again.truths(matrix), task.truths(matrix))
    assert np.array_equal(again.fail(matrix), task.fail(matrix))


def test_readings_depend_on_the_generator_alone(task: Task) -> None:
    first, second = (
        [task.measure(task.default, rng) for _ in range(5)]
        for rng in (np.random.default_rng(1), np.random.default_rng(1))
    )
    assert first == second
    assert len(set(first)) == 5


def test_a_configuration_that_failed_in_the_table_gives_no_reading(task: Task) -> None:
    assert task.measure(task.default.replace({"buffers": 60_000}), np.random.default_rng(0)) is None
    assert not task.fails(task.default)


def test_a_failure_takes_as_much_from_the_generator_as_a_reading(task: Task) -> None:
    failing, running = np.random.default_rng(2), np.random.default_rng(2)
    task.measure(task.default.replace({"buffers": 60_000}), failing)
    task.measure(task.default, running)
    assert failing.random() == running.random()


def test_a_lower_run_time_scores_higher() -> None:
    table = dataclasses.replace(small_table(), goal="minimize")
    task = forest_task(table)
    assert task.best_truth < task.default_truth
    assert task.score(task.best_truth) == 1.0


def test_a_table_with_columns_of_different_lengths_is_refused() -> None:
    with pytest.raises(ValueError, match="differ in length"):
        dataclasses.replace(small_table(), values=np.ones(3))


@given(st.lists(st.floats(0, 1), min_size=4, max_size=4))
def test_every_point_of_the_cube_is_a_configuration_inside_its_domains(point: list[float]) -> None:
    (configuration,) = cube.configurations(KNOBS, cube.from_unit(KNOBS, np.array([point])))
    assert all(configuration[k.name] in k.domain for k in KNOBS)


@given(st.integers(16, 1 << 40), st.floats(0, 1), st.integers(-1, 12), st.sampled_from(["a", "b", "c"]))
def test_a_configuration_survives_the_way_through_the_cube(wide: int, share: float, count: int, method: str) -> None:
    asked = {"wide": wide, "share": share, "count": count, "method": method}
    back = cube.from_unit(KNOBS, cube.to_unit(KNOBS, cube.matrix(KNOBS, [asked])))
    (configuration,) = cube.configurations(KNOBS, back)
    assert configuration["method"] == method
    assert configuration["wide"] == pytest.approx(wide, rel=1e-4, abs=1)
    assert configuration["share"] == pytest.approx(share, abs=1e-5)
    assert configuration["count"] == count

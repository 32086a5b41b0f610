from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from lutra_models.errors import InvalidOptions

from benchmarks.tuning import race
from benchmarks.tuning.contenders import RANDOM, Contender
from benchmarks.tuning.optimisers import OURS, of_document, variant
from benchmarks.tuning.race import Course
from benchmarks.tuning.tasks import Task
from benchmarks.tuning.warm_tasks import OBJECTIVE
from tests.support.service.small_task import small_task

pytestmark = pytest.mark.thorough


@pytest.fixture(scope="module")
def task() -> Task:
    return small_task()


class Scripted:
    """Asks for what it was given and keeps what it is told."""

    told: list[Mapping[str, float] | None]

    def __init__(self, *asked: Mapping[str, Any]) -> None:
        self._asked, self.told = list(asked), []

    def ask(self) -> Mapping[str, Any]:
        return self._asked.pop(0)

    def tell(self, configuration: Mapping[str, Any], metrics: Mapping[str, float] | None) -> None:
        self.told.append(metrics)


def raced(task: Task, readings: list[float | None], *, knows_failures: bool = False) -> tuple[dict[str, Any], Scripted]:
    """A race over given readings: the default, then a good, a poor and a failing configuration, as far as they go."""
    ways = [{"buffers": 8_000, "method": "fast"}, {"buffers": 20, "ratio": 1.0}, {"buffers": 60_000}]
    optimiser = Scripted(*(task.default.replace(change) for change in ways))
    left = iter(readings)

    def measure(_: Mapping[str, Any], __: np.random.Generator) -> dict[str, float] | None:
        value = next(left)
        return None if value is None else {OBJECTIVE: value}

    contender = Contender("scripted", lambda *_: optimiser, "", knows_failures=knows_failures)
    row = race.run(task, contender, optimiser, measure, np.random.default_rng(0), len(readings))
    return row, optimiser


def test_the_first_trial_is_the_default_and_scores_0(task: Task) -> None:
    assert raced(task, [100.0])[0]["scores"] == [0.0]


def test_the_configuration_with_the_best_reading_counts_at_its_true_value(task: Task) -> None:
    row, _ = raced(task, [100.0, 150.0, 120.0])
    good = round(task.score(task.truth(task.default.replace({"buffers": 8_000, "method": "fast"}))), 4)
    assert good > 0
    assert row["scores"] == [0.0, good, good]


def test_a_lucky_reading_of_a_poor_configuration_costs_score(task: Task) -> None:
    row, _ = raced(task, [100.0, 150.0, 900.0])
    assert row["scores"][2] < 0 < row["scores"][1]


def test_before_anything_was_measured_the_default_counts(task: Task) -> None:
    assert raced(task, [None, None])[0]["scores"] == [0.0, 0.0]


def test_who_knows_failures_is_told_none(task: Task) -> None:
    _, optimiser = raced(task, [100.0, None], knows_failures=True)
    assert optimiser.told[1] is None


def test_who_does_not_is_told_a_value_twice_as_bad_as_the_worst(task: Task) -> None:
    _, optimiser = raced(task, [100.0, 80.0, None])
    assert optimiser.told[2] == {OBJECTIVE: 40.0}


def test_failures_and_trials_much_worse_than_the_default_are_unsafe(task: Task) -> None:
    row, _ = raced(task, [100.0, 150.0, 60.0, None])
    assert (row["failures"], row["unsafe"]) == (1, 2)


def test_a_trial_slightly_worse_than_the_default_is_safe(task: Task) -> None:
    course = Course(task, gains=[100.0], truths=[task.default_truth * 0.91])
    assert course.unsafe() == 0


@pytest.mark.slow
def test_the_same_seed_gives_the_same_run(task: Task) -> None:
    first, second = ({**race.play(task, RANDOM, 3, 12), "ask_s": 0} for _ in range(2))
    assert first == second
    assert first["scores"] != race.play(task, RANDOM, 4, 12)["scores"]


@pytest.mark.slow
def test_this_projects_recommender_takes_part_and_names_what_it_would_hand_over(task: Task) -> None:
    row = race.play(task, OURS[0], 0, 4)
    assert len(row["scores"]) == len(row["handed"]) == 4
    assert row["handed"][0] == 0.0


@pytest.mark.slow
def test_two_variants_of_the_recommender_meet_in_one_race(task: Task) -> None:
    same, other = variant("search.opening_trials=6"), variant("search.opening_trials=2, surrogate.name=numpy")
    rows = [race.play(task, contender, 0, 5) for contender in (OURS[0], same, other)]
    scores = [row["scores"] for row in rows]
    assert scores[0] == scores[1] != scores[2]


@pytest.mark.slow
def test_an_options_document_takes_part_with_a_surrogate_that_a_package_brings(task: Task, tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text('[surrogate]\nname = "toygp"\n\n[search]\nopening_trials = 2\n')
    contender = of_document(file)
    assert contender.name.startswith("lutra[mine.toml ")
    plain = variant("search.opening_trials=2, surrogate.name=numpy")
    scores = [race.play(task, one, 0, 5)["scores"] for one in (contender, plain)]
    assert len(scores[0]) == 5
    file.write_text('[surrogate]\nname = "gone"\n')
    with pytest.raises(InvalidOptions, match="no surrogate 'gone'"):
        of_document(file)


@pytest.mark.parametrize("text", ["search.opening_trials", "search.opening=2", "search.opening_trials=many"])
def test_a_variant_of_what_is_no_option_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="opening"):
        variant(text)

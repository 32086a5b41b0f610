"""Optimisers raced from the default configuration. Trial 1 is the default for everybody, as it is for a user.

One rule of scoring for everybody: after each trial the configuration with the best reading so far counts, at its
noiseless value. Beside it stands what an optimiser itself would hand over, where it says so.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from lutra_models import Configuration

from benchmarks.tuning.contenders import Contender, Optimiser
from benchmarks.tuning.tasks import Task
from benchmarks.tuning.warm_tasks import OBJECTIVE

Measure = Callable[[Mapping[str, Any], np.random.Generator], dict[str, float] | None]
TOLERATED = 0.1
"""A trial is unsafe where it fails or its true value is worse than the default's by more than this share."""


@dataclass
class Course:
    """What happened on the way; lists have one entry per trial."""

    task: Task
    gains: list[float] = field(default_factory=list)
    truths: list[float] = field(default_factory=list)
    handed: list[float] = field(default_factory=list)
    ask_s: list[float] = field(default_factory=list)

    def add(self, configuration: Mapping[str, Any], metrics: Mapping[str, float] | None) -> None:
        self.gains.append(-np.inf if metrics is None else self.task.sign * metrics[OBJECTIVE])
        self.truths.append(self.task.truth(configuration))

    @property
    def penalty(self) -> float:
        """Twice as bad as the worst reading so far (or as the default, before there is one)."""
        finite = [g for g in self.gains if np.isfinite(g)]
        worst = self.task.sign * min(finite) if finite else self.task.default_truth
        return worst / 2 if self.task.goal == "maximize" else worst * 2

    def scores(self) -> list[float]:
        """After each trial, the score of the configuration with the best reading so far."""
        best = [int(np.argmax(self.gains[: i + 1])) for i in range(len(self.gains))]
        return [
            round(self.task.score(self.truths[i] if np.isfinite(self.gains[i]) else self.task.default_truth), 4)
            for i in best
        ]

    def unsafe(self) -> int:
        floor = self.task.sign * self.task.default_truth - TOLERATED * abs(self.task.default_truth)
        pairs = zip(self.gains, self.truths, strict=True)
        return sum(not np.isfinite(gain) or self.task.sign * truth < floor for gain, truth in pairs)

    def row(self) -> dict[str, Any]:
        return {
            "scores": self.scores(),
            "handed": [round(self.task.score(truth), 4) for truth in self.handed],
            "ask_s": round(float(np.mean(self.ask_s)), 4) if self.ask_s else 0.0,
            "failures": sum(not np.isfinite(g) for g in self.gains),
            "unsafe": self.unsafe(),
        }


def play(task: Task, contender: Contender, seed: int, budget: int) -> dict[str, Any]:
    """One run on a cold task. The noise depends on the seed alone: all contenders meet the same."""

    def measure(configuration: Mapping[str, Any], rng: np.random.Generator) -> dict[str, float] | None:
        value = task.measure(configuration, rng)
        return None if value is None else {OBJECTIVE: value}

    rng = np.random.default_rng(10_000 + seed)
    return run(task, contender, contender.make(task, seed, budget), measure, rng, budget)


def run(
    task: Task,
    contender: Contender,
    optimiser: Optimiser,
    measure: Measure,
    rng: np.random.Generator,
    budget: int,
) -> dict[str, Any]:
    """`budget` trials, the default's first."""
    course = Course(task)
    for trial in range(budget):
        configuration = task.default if trial == 0 else _asked(optimiser, task, course)
        metrics = measure(configuration, rng)
        told = metrics if metrics or contender.knows_failures else {OBJECTIVE: course.penalty}
        if trial > 0 or contender.learns_default:
            optimiser.tell(configuration, told)
        course.add(configuration, metrics)
        if hasattr(optimiser, "deploy"):
            deployed = optimiser.deploy()
            course.handed.append(task.default_truth if task.fails(deployed) else task.truth(deployed))
    return course.row()


def _asked(optimiser: Optimiser, task: Task, course: Course) -> Configuration:
    began = time.perf_counter()
    asked = optimiser.ask()
    course.ask_s.append(time.perf_counter() - began)
    return task.space.normalise(asked)

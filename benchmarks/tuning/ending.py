"""`ending`: what a session's seconds come to where windows that cannot become interesting are ended early.

A table has one number for a window. Its seconds are drawn around that: neighbours resemble each other, some windows
begin slowly, some hold a checkpoint; their mean is the number. Two arms meet the same noise: one measures every window
to its end, the other ends what the rule of `lutra_models.ending` ends and learns its bound. A score of 0 is the
default's true value, 1 the best known.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click
import numpy as np
from lutra_models import Configuration, History, Objective, Observation
from lutra_models.ending import LEAST_READINGS, Level, ended
from lutra_models.gp import fit
from lutra_models.metrics import Goal

from benchmarks.tuning import named
from benchmarks.tuning.options import Progress, results_option, seeds_option, tasks_option
from benchmarks.tuning.rows import CODE, Results
from benchmarks.tuning.tasks import Task
from benchmarks.tuning.warm_tasks import OBJECTIVE

KEY = ("task", "arm", "seed", "trials", "code")
ARMS = ("whole", "ended")
CHANGE_S, WARMUP_S, WINDOW_S = 5, 10, 60
"""A trial's seconds until the load begins, of its warm-up, and of a whole window: those of the drivers' defaults."""
FAILED_S = 10
"""Those of a trial under which the server does not run."""
SCATTER, MEMORY = 0.1, 0.5
"""The relative scatter of a second, and how much of it the next one shares."""
SLOW_START, CHECKPOINT = 0.4, 0.2
"""The shares of windows that begin slowly, and of those that hold a checkpoint."""


@click.command("ending")
@tasks_option()
@seeds_option(5)
@click.option("--trials", type=click.IntRange(2), default=25, show_default=True, help="Trials per run.")
@results_option
def ending_command(tasks: Sequence[str], seeds: int, trials: int, results: Path) -> None:
    """Compare sessions' seconds and scores with and without early ending.

    Seconds are a trial's change, warm-up and window; thinking is not counted. The score is that of what is handed over.
    """
    kept = Results(results / "ending.jsonl", KEY)
    progress = Progress("ending", len(tasks) * seeds * len(ARMS))
    for name, seed, arm in itertools.product(tasks, range(seeds), ARMS):
        identity = {"task": name, "arm": arm, "seed": seed, "trials": trials, "code": CODE}
        if identity in kept:
            progress.skip()
            continue
        row = play(named.task(name), seed, trials, early=arm == "ended")
        kept.add({**identity, **row})
        progress.done(
            f"{name} seed {seed} {arm}: {row['score']:.3f} in {row['seconds'][-1]:.0f} s, "
            f"{row['ended']} of {trials} ended, {row['missed']} of them wrongly"
        )
    progress.close()


@dataclass
class Course:
    """A session under way; `seconds` counts from its begin to the end of each trial."""

    task: Task
    seed: int
    early: bool
    seen: list[Observation] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    missed: int = 0
    held: int = 0

    @property
    def history(self) -> History:
        objective = Objective(OBJECTIVE, self.task.goal)
        return History(self.task.space, objective, observations=self.seen, current=self.task.default)

    @property
    def rng(self) -> np.random.Generator:
        return np.random.default_rng([self.seed, len(self.seen)])

    def trial(self, noise: np.random.Generator) -> None:
        advice = fit(self.history, rng=self.rng).recommend() if self.seen else None
        configuration = advice.configuration if advice else self.task.default
        value = self.task.measure(configuration, noise)
        inside = np.random.default_rng([self.seed, len(self.seen), 1])
        if value is None:
            self._add(Observation.failed(configuration, "did_not_start"), FAILED_S)
            return
        must_reach = advice.abandon_below if advice and self.early else None
        over = None if must_reach is None else self._over(value, must_reach, inside)
        if must_reach is None or over is None:
            self._add(Observation(configuration, {OBJECTIVE: value}), CHANGE_S + WARMUP_S + WINDOW_S)
            return
        after, bound = over
        gain = self.history.objective.gain
        self.missed += gain(value) >= gain(must_reach)
        self.held += gain(value) <= gain(bound)
        self._add(Observation(configuration, {}, bounds={OBJECTIVE: bound}), CHANGE_S + WARMUP_S + after)

    def _over(self, value: float, must_reach: float, rng: np.random.Generator) -> tuple[int, float] | None:
        """After how many seconds the window is ended, and with what bound."""
        seconds = window(value, self.task.goal, rng).tolist()
        level = Level(OBJECTIVE, self.task.goal, must_reach)
        for after in range(LEAST_READINGS, WINDOW_S):
            bound = ended(seconds[:after], WINDOW_S, level)
            if bound is not None:
                return after, bound
        return None

    def _add(self, observation: Observation, seconds: float) -> None:
        self.seen.append(observation)
        self.seconds.append((self.seconds[-1] if self.seconds else 0.0) + seconds)

    def best(self) -> float:
        """The score of the best reading so far, as races have it."""
        gain = self.history.objective.gain
        leading = max(self.history.values(OBJECTIVE), key=lambda pair: gain(pair[1]), default=(self.task.default, 0.0))
        return scored(self.task, leading[0])

    def score(self) -> float:
        """That of what is handed over."""
        best = fit(self.history, rng=self.rng).best(self.task.default)
        return scored(self.task, best.configuration)


def play(task: Task, seed: int, trials: int, early: bool) -> dict[str, Any]:
    """One session. The noise depends on the seed alone."""
    course, noise = Course(task, seed, early), np.random.default_rng(10_000 + seed)
    for _ in range(trials):
        course.trial(noise)
    return {
        "score": course.score(),
        "best": course.best(),
        "seconds": course.seconds,
        "ended": sum(bool(o.bounds) for o in course.seen),
        "missed": course.missed,
        "held": course.held,
    }


def scored(task: Task, configuration: Configuration) -> float:
    return 0.0 if task.fails(configuration) else round(task.score(task.truth(configuration)), 4)


def window(value: float, goal: Goal, rng: np.random.Generator) -> np.ndarray:
    """(s,) the seconds of a window whose mean is `value`: of a rate, or of a latency where less is better."""
    shocks = rng.standard_normal(WINDOW_S) * SCATTER * np.sqrt(1 - MEMORY**2)
    noise = np.zeros(WINDOW_S)
    noise[0] = rng.standard_normal() * SCATTER
    for i in range(1, WINDOW_S):
        noise[i] = MEMORY * noise[i - 1] + shocks[i]
    rate = np.exp(noise)
    kind, place = rng.random(), np.arange(WINDOW_S)
    if kind < SLOW_START:
        rate *= 1 - rng.uniform(0.1, 0.6) * np.exp(-place / rng.uniform(3, 20))
    elif kind < SLOW_START + CHECKPOINT:
        begin = rng.integers(0, WINDOW_S - 10)
        rate[begin : begin + 10] *= rng.uniform(0.4, 0.9)
    shape = rate if goal == "maximize" else 1 / rate
    return np.asarray(value * shape / np.mean(shape))

"""`coverage`: do the 90 % intervals hold 90 % of readings under configurations that were not measured yet?

Beside them stand those of a quantile regression forest (Meinshausen, JMLR 2006) on the same observations.
Shapes: n observations, m configurations to predict, k knobs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

import click
import numpy as np
from lutra_models import Configuration, Observation
from lutra_models.gp import fit
from lutra_models.gp.learning.fit import ENOUGH
from sklearn.ensemble import RandomForestRegressor

from benchmarks.tuning import cube, named
from benchmarks.tuning.contenders import Optimiser, Random
from benchmarks.tuning.optimisers import Lutra
from benchmarks.tuning.options import Progress, results_option, seeds_option, tasks_option
from benchmarks.tuning.rows import CODE, Results
from benchmarks.tuning.tasks import Task
from benchmarks.tuning.warm_tasks import OBJECTIVE

KEY = ("task", "design", "seed", "observations", "code")
AFTER = (15, 30, 60)
POINTS = 200
LEVEL = 0.9
Design = Literal["tuning", "uniform"]
DESIGNS: tuple[Design, ...] = ("tuning", "uniform")
_MOVED, _STEP = 0.2, 0.15
"""Near the incumbent: each knob moves with this probability, by a normal step of this deviation in the unit cube."""


@click.command("coverage")
@tasks_option()
@seeds_option(20)
@results_option
def coverage_command(tasks: Sequence[str], seeds: int, results: Path) -> None:
    """Check the 90 % intervals of readings.

    Observations come from a tuning run (as in use) and from uniformly random configurations; after 15, 30 and 60 of
    them, 200 configurations that run are predicted, half uniform, half near the best reading so far, and each is read
    once.
    """
    kept = Results(results / "coverage.jsonl", KEY)
    progress, code = Progress("coverage", len(tasks) * len(DESIGNS) * seeds), CODE
    for name in tasks:
        for design in DESIGNS:
            for seed in range(seeds):
                identity = {"task": name, "design": design, "seed": seed, "code": code}
                if {**identity, "observations": AFTER[-1]} in kept:
                    progress.skip()
                    continue
                rows = check(named.task(name), design, seed)
                for row in rows:
                    kept.add({**identity, **row})
                shown = ", ".join(f"{r['lutra']['held']:.0%} after {r['observations']}" for r in rows)
                progress.done(f"{name} {design} seed {seed}: holds {shown}")
    progress.close()


def check(task: Task, design: Design, seed: int) -> list[dict[str, Any]]:
    """What both models' intervals hold after each number of observations that is enough for a model.

    Where most configurations fail, as few as one of fifteen uniform ones may run.
    """
    observations = observed(task, design, seed, AFTER[-1])
    enough = [n for n in AFTER if sum(o.completed for o in observations[:n]) >= ENOUGH]
    return [_checked(task, observations[:count], seed) for count in enough]


def observed(task: Task, design: Design, seed: int, count: int) -> list[Observation]:
    """The first trials of a tuning run, or uniformly random ones after the default."""
    optimiser = Lutra(task, seed, count) if design == "tuning" else Random(task, seed, count)
    return list(watched(task, optimiser, seed, count))


def watched(task: Task, optimiser: Optimiser, seed: int, count: int) -> Iterator[Observation]:
    """The trials of an optimiser, the default first, each once the optimiser was told of it."""
    rng = np.random.default_rng(10_000 + seed)
    for trial in range(count):
        configuration = task.default if trial == 0 else task.space.normalise(optimiser.ask())
        value = task.measure(configuration, rng)
        metrics = None if value is None else {OBJECTIVE: value}
        optimiser.tell(configuration, metrics)
        if metrics is None:
            yield Observation.failed(configuration, "did_not_start")
        else:
            yield Observation(configuration, metrics)


def targets(task: Task, observations: Sequence[Observation], rng: np.random.Generator) -> np.ndarray:
    """(m, k) numbers of configurations that run: half uniform, half near the best reading."""
    knobs = task.space.knobs
    ran = [o for o in observations if o.completed]
    best = max(ran, key=lambda o: task.sign * o.metrics[OBJECTIVE]).configuration
    centre = cube.to_unit(knobs, task.matrix([best]))[0]

    def near(count: int) -> np.ndarray:
        moved = rng.random((count, len(knobs))) < _MOVED
        drawn: np.ndarray = centre + moved * rng.normal(0, _STEP, moved.shape)
        return drawn

    uniform = _running(task, lambda count: rng.random((count, len(knobs))))
    return np.vstack([uniform, _running(task, near)])


def _running(task: Task, draw: Callable[[int], np.ndarray]) -> np.ndarray:
    found = np.empty((0, len(task.space)))
    while len(found) < POINTS // 2:
        drawn = cube.from_unit(task.space.knobs, draw(POINTS))
        found = np.vstack([found, drawn[~task.fail(drawn)]])
    return found[: POINTS // 2]


def _checked(task: Task, observations: Sequence[Observation], seed: int) -> dict[str, Any]:
    rng = np.random.default_rng([30_000 + seed, len(observations)])
    matrix = targets(task, observations, rng)
    readings = task.truths(matrix) * np.exp(task.noise * rng.standard_normal(len(matrix)))
    spread = float(np.subtract(*np.quantile(readings, [0.95, 0.05])))
    asked = cube.configurations(task.space.knobs, matrix)
    row: dict[str, Any] = {"observations": len(observations), "ran": sum(o.completed for o in observations)}
    row["lutra"] = judge(_lutra(task, observations, asked, seed), readings, spread)
    row["forest"] = judge(_forest(task, observations, matrix), readings, spread)
    return row


def judge(predicted: np.ndarray, readings: np.ndarray, spread: float) -> dict[str, float]:
    """Of (3, m) lower ends, medians and upper ends: the share of (m,) readings held, in all, uniform and near.

    `width` is the median width over the readings' own 5–95 % range; `error` the median absolute error over the reading.
    """
    low, median, high = predicted
    held = (low <= readings) & (readings <= high)
    half = len(readings) // 2
    return {
        "held": round(float(held.mean()), 4),
        "held_uniform": round(float(held[:half].mean()), 4),
        "held_near": round(float(held[half:].mean()), 4),
        "width": round(float(np.median(high - low) / spread), 4),
        "error": round(float(np.median(np.abs(median - readings) / readings)), 4),
    }


def _lutra(task: Task, observations: Sequence[Observation], asked: Sequence[Configuration], seed: int) -> np.ndarray:
    optimiser = Lutra(task, seed, len(observations))
    for o in observations:
        optimiser.tell(o.configuration, o.metrics if o.completed else None)
    snapshot = fit(optimiser.history, rng=np.random.default_rng([seed, len(observations)]))
    predictions = [p[OBJECTIVE] for p in snapshot.predict(asked, LEVEL)]
    return np.array([[p.low, p.median, p.high] for p in predictions]).T


def _forest(task: Task, observations: Sequence[Observation], matrix: np.ndarray) -> np.ndarray:
    ran = [o for o in observations if o.completed]
    x = task.matrix([o.configuration for o in ran])
    y = np.array([o.metrics[OBJECTIVE] for o in ran])
    forest = RandomForestRegressor(200, min_samples_leaf=3, random_state=0).fit(x, y)
    return forest_quantiles(forest, x, y, matrix, [(1 - LEVEL) / 2, 0.5, (1 + LEVEL) / 2])


def forest_quantiles(
    forest: RandomForestRegressor, x: np.ndarray, y: np.ndarray, matrix: np.ndarray, levels: Sequence[float]
) -> np.ndarray:
    """(levels, m) quantiles of the (n,) readings, weighted by how often they share a leaf with each of (m, k)."""
    together = forest.apply(matrix)[:, None, :] == forest.apply(x)[None, :, :]
    weight = (together / together.sum(axis=1, keepdims=True)).mean(axis=2)
    order = np.argsort(y)
    reached = np.cumsum(weight[:, order], axis=1)
    at = [np.minimum((reached < level - 1e-12).sum(axis=1), len(y) - 1) for level in levels]
    return np.array([y[order][i] for i in at])

"""Tasks with runtime counters and past workloads, from tuning histories.

The target is a forest over one history, its counters a second forest; the past is other histories as they were
measured, each with its own, overlapping set of knobs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from lutra_models import Configuration, History, KnobSpace, Objective, Observation
from sklearn.ensemble import ExtraTreesRegressor

from benchmarks.tuning import cube, tables
from benchmarks.tuning.tasks import Task, forest_task

OBJECTIVE = "objective"
_COUNTER_NOISE = 0.03
_NOISE = {"sysbench": 0.15, "twitter": 0.05}
"""One reading's relative deviation, as the repeats of the default show it."""

HISTORIES = ("twitter__task11", "twitter__task23", "sysbench_rw__task33", "sysbench_rw__task18")


@dataclass(frozen=True, eq=False)
class WarmTask:
    """A task and a forest for its runtime counters."""

    task: Task
    counters: tuple[str, ...]
    forest: ExtraTreesRegressor

    def measure(self, configuration: Mapping[str, Any], rng: np.random.Generator) -> dict[str, float] | None:
        """The objective and the counters of one window, or None where the server would not have run."""
        value = self.task.measure(configuration, rng)
        if value is None:
            return None
        typical = self.forest.predict(self.task.matrix([configuration]))[0]
        read = typical * np.exp(_COUNTER_NOISE * rng.standard_normal(len(self.counters)))
        return {OBJECTIVE: value, **dict(zip(self.counters, read.tolist(), strict=True))}


def warm_task(name: str) -> WarmTask:
    """The history of this name as a task. Raises ValueError where there is none."""
    if name not in HISTORIES:
        raise ValueError(f"no history {name!r}; there are: {', '.join(HISTORIES)}")
    task = forest_task(tables.from_history(name, _NOISE[name.split("_")[0]]))
    frame = tables.history(name)
    ran = frame[~frame["failed"]]
    counters = tables.counters_of(frame)
    matrix = cube.matrix(task.space.knobs, [_configuration(row, task.space) for _, row in ran.iterrows()])
    forest = ExtraTreesRegressor(40, min_samples_leaf=3, random_state=0).fit(matrix, ran[counters].fillna(0.0))
    return WarmTask(task, tuple(c[2:] for c in counters), forest)


def past_workload(name: str, space: KnobSpace, rows: int = 200, seed: int = 0) -> History:
    """`rows` measured trials of a history over its own knobs, the default's first, failures as failures."""
    frame = tables.history(name)
    later = frame[frame["iter"] > 0].sample(rows - 1, random_state=seed)
    drawn = pd.concat([frame[frame["iter"] == 0].iloc[:1], later])
    counters = tables.counters_of(frame)
    observations = [_observation(row, space, counters) for _, row in drawn.iterrows()]
    return History(space, Objective(OBJECTIVE, "maximize"), observations=observations)


def _observation(row: pd.Series, space: KnobSpace, counters: list[str]) -> Observation:
    configuration = _configuration(row, space)
    if row["failed"]:
        return Observation.failed(configuration, "did_not_start")
    measured = {c[2:]: float(row[c]) for c in counters if np.isfinite(row[c])}
    return Observation(configuration, {OBJECTIVE: float(row["tps"]), **measured})


def _configuration(row: pd.Series, space: KnobSpace) -> Configuration:
    return Configuration({k.name: cube.as_read(k, row[f"k.{k.name}"]) for k in space})

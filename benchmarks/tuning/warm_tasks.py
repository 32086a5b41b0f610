"""Targets with past workloads: what a target shows while it is tuned, and what a past workload left behind.

A target is a forest over a measured table, its counters (where the table has any) a second forest. A past workload is
rows of another table as they were measured, over its own, overlapping set of knobs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from lutra_models import Configuration, History, KnobSpace, Objective, Observation
from sklearn.ensemble import ExtraTreesRegressor

from benchmarks.tuning import cube
from benchmarks.tuning.tables import Table
from benchmarks.tuning.tasks import Task, default_of, forest_task, numbered

OBJECTIVE = "objective"
_COUNTER_NOISE = 0.03
_ROWS = 200
"""Trials that a past workload is remembered by."""


@dataclass(frozen=True, eq=False)
class WarmTask:
    """A task, and a forest for its runtime counters where it has any."""

    task: Task
    counters: tuple[str, ...] = ()
    forest: ExtraTreesRegressor | None = None

    def measure(self, configuration: Mapping[str, Any], rng: np.random.Generator) -> dict[str, float] | None:
        """The objective and the counters of one window, or None where the server would not have run."""
        value = self.task.measure(configuration, rng)
        if value is None:
            return None
        if self.forest is None:
            return {OBJECTIVE: value}
        typical = self.forest.predict(self.task.matrix([configuration]))[0]
        read = typical * np.exp(_COUNTER_NOISE * rng.standard_normal(len(self.counters)))
        return {OBJECTIVE: value, **dict(zip(self.counters, read.tolist(), strict=True))}


def warm_task(table: Table) -> WarmTask:
    """The table as a target."""
    task = forest_task(table)
    if table.counters is None:
        return WarmTask(task)
    ran = ~table.failed
    matrix = numbered(table)[1][ran]
    forest = ExtraTreesRegressor(40, min_samples_leaf=3, random_state=0).fit(matrix, table.counters[ran])
    return WarmTask(task, tuple(map(str, table.counters)), forest)


def past_workload(table: Table, rows: int = _ROWS, seed: int = 0) -> History:
    """`rows` measured trials of a table over its own knobs, its first row first, failures as failures."""
    knobs, matrix = numbered(table)
    later = np.random.default_rng(seed).permutation(len(table.values) - 1)[: rows - 1] + 1
    drawn = [0, *later.tolist()]
    observations = [
        _observation(table, row, configuration)
        for row, configuration in zip(drawn, cube.configurations(knobs, matrix[drawn]), strict=True)
    ]
    objective, current = Objective(OBJECTIVE, table.goal), default_of(table, knobs)
    return History(KnobSpace(knobs), objective, observations=observations, current=current)


def _observation(table: Table, row: int, configuration: Configuration) -> Observation:
    if table.failed[row]:
        return Observation.failed(configuration, "did_not_start")
    counted = {} if table.counters is None else {str(n): v for n, v in table.counters.iloc[row].to_dict().items()}
    return Observation(configuration, {OBJECTIVE: float(table.values[row]), **counted})

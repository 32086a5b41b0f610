"""Tuning tasks: a forest over a measured table stands in for the database, so that a trial costs milliseconds.

A task shows what a database shows: `measure` gives one noisy reading, or None where the server would not have run. The
noiseless `truth` is for scoring alone. Forests extrapolate badly and favour nobody by design, so what counts is the
same order on many tables. Shapes: m configurations, k knobs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from lutra_models import Choice, Configuration, Knob, KnobSpace, Number
from lutra_models.metrics import Goal
from sklearn.ensemble import ExtraTreesClassifier, ExtraTreesRegressor

from benchmarks.tuning import cube
from benchmarks.tuning.tables import Table

_WIDEST = 2.0**62
_MOST_OPTIONS = 12
_DECADES = 100


@dataclass(frozen=True, eq=False)
class Task:
    """What an optimiser is raced on. `default_truth` scores 0 and `best_truth` 1."""

    name: str
    space: KnobSpace
    goal: Goal
    noise: float
    default: Configuration
    values: ExtraTreesRegressor
    failures: ExtraTreesClassifier | None
    default_truth: float = 0.0
    best_truth: float = 1.0

    @property
    def sign(self) -> int:
        return 1 if self.goal == "maximize" else -1

    def matrix(self, configurations: Sequence[Mapping[str, Any]]) -> np.ndarray:
        """(m, k) numbers of m configurations."""
        return cube.matrix(self.space.knobs, configurations)

    def truths(self, matrix: np.ndarray) -> np.ndarray:
        """(m,) noiseless values."""
        predicted: np.ndarray = self.values.predict(matrix)
        return predicted

    def truth(self, configuration: Mapping[str, Any]) -> float:
        return float(self.truths(self.matrix([configuration]))[0])

    def fail(self, matrix: np.ndarray) -> np.ndarray:
        """(m,) whether the server would not have run."""
        if self.failures is None:
            return np.zeros(len(matrix), dtype=bool)
        failed: np.ndarray = self.failures.predict_proba(matrix)[:, 1] > 0.5
        return failed

    def fails(self, configuration: Mapping[str, Any]) -> bool:
        return bool(self.fail(self.matrix([configuration]))[0])

    def measure(self, configuration: Mapping[str, Any], rng: np.random.Generator) -> float | None:
        """One reading. The generator moves on by one draw whether or not the server ran."""
        factor = float(np.exp(self.noise * rng.standard_normal()))
        return None if self.fails(configuration) else self.truth(configuration) * factor

    def score(self, truth: float) -> float:
        """0 at the default's truth, 1 at the best known."""
        return (truth - self.default_truth) / (self.best_truth - self.default_truth)


def forest_task(table: Table) -> Task:
    """Knobs and their domains from the table's columns, forests over its rows, the default and the best known."""
    knobs, matrix = numbered(table)
    ran = ~table.failed
    values = ExtraTreesRegressor(60, min_samples_leaf=2, random_state=0).fit(matrix[ran], table.values[ran])
    failures = None
    if table.failed.any():
        failures = ExtraTreesClassifier(60, min_samples_leaf=2, random_state=0).fit(matrix, table.failed)
    default = default_of(table, knobs)
    task = Task(table.name, KnobSpace(knobs), table.goal, table.noise, default, values, failures)
    task = replace(task, default_truth=task.truth(default))
    return replace(task, best_truth=_best_known(task, matrix, table.failed))


def numbered(table: Table) -> tuple[list[Knob], np.ndarray]:
    """The table's knobs and their (n, k) numbers; the most telling ones, where not all are wanted."""
    knobs, matrix = _knobs(table)
    kept = _most_telling(table, matrix)
    return [knobs[i] for i in kept], matrix[:, kept]


def default_of(table: Table, knobs: Sequence[Knob]) -> Configuration:
    """The default, within the domains."""
    return Configuration({k.name: _default(k, table) for k in knobs})


def _knobs(table: Table) -> tuple[list[Knob], np.ndarray]:
    """Columns that vary, as knobs, and their (n, k) numbers: text and small codes are choices, decades logarithmic."""
    knobs, columns = [], []
    for name, column in table.settings.items():
        if column.nunique() < 2:
            continue
        knob = _knob(str(name), column)
        if knob is None:
            continue
        knobs.append(knob)
        if isinstance(knob.domain, Choice):
            columns.append(column.map(str).map(knob.domain.options.index).to_numpy(float))
        else:
            columns.append(np.minimum(column.to_numpy(float), knob.domain.high))
    return knobs, np.column_stack(columns)


def _knob(name: str, column: pd.Series) -> Knob | None:
    coded = column.nunique() <= 4 and column.dtype.kind in "iuf" and float(column.max()) <= 4
    if column.dtype.kind not in "iuf" or coded:
        options = tuple(sorted(column.map(str).unique()))
        return Knob(name, Choice(options)) if len(options) <= _MOST_OPTIONS else None
    low, high = float(column.min()), float(min(column.max(), _WIDEST))
    whole = bool((column == column.round()).all())
    return Knob(name, Number(low, high, log=low > 0 and high / low >= _DECADES, integer=whole))


def _most_telling(table: Table, matrix: np.ndarray) -> list[int]:
    """The columns that matter most to the value and to failing, where a table has more than are wanted."""
    if not table.most_knobs or matrix.shape[1] <= table.most_knobs:
        return list(range(matrix.shape[1]))
    ran = ~table.failed
    values = np.log(table.values[ran]) if table.spans_decades else table.values[ran]
    weight = ExtraTreesRegressor(100, min_samples_leaf=2, random_state=0).fit(matrix[ran], values).feature_importances_
    if table.failed.any():
        forest = ExtraTreesClassifier(100, min_samples_leaf=2, random_state=0).fit(matrix, table.failed)
        weight = weight + forest.feature_importances_
    return sorted(np.argsort(-weight)[: table.most_knobs].tolist())


def _default(knob: Knob, table: Table) -> Any:
    if isinstance(knob.domain, Choice):
        option = str(table.default.get(knob.name, knob.domain.options[0]))
        return option if option in knob.domain.options else knob.domain.options[0]
    raw = float(table.default.get(knob.name, table.settings[knob.name].median()))
    return cube.value(knob, float(np.clip(raw, knob.domain.low, knob.domain.high)))


def _best_known(task: Task, rows: np.ndarray, failed: np.ndarray) -> float:
    """The best truth that a local search from the best rows finds: it depends on none of the optimisers."""
    rng, knobs, k = np.random.default_rng(99), task.space.knobs, len(task.space)
    order = np.argsort(-np.where(failed, -np.inf, task.sign * task.truths(rows)))
    elite = cube.to_unit(knobs, rows[order[:20]])
    best = -np.inf
    for _ in range(25):
        parents = elite[rng.integers(len(elite), size=400)]
        steps = rng.normal(0, 0.15, (400, k)) * (rng.random((400, k)) < 0.2)
        points = np.vstack([np.clip(parents + steps, 0, 0.999999), elite])
        matrix = cube.from_unit(knobs, points)
        gains = np.where(task.fail(matrix), -np.inf, task.sign * task.truths(matrix))
        elite, best = points[np.argsort(-gains)[:20]], float(gains.max())
    return task.sign * best

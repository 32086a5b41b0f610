"""One metric's lessons of many workloads as arrays: their levels, and the strongest effects of each.

Shapes: w workloads, s effects of one, g places of an effect, n configurations measured here.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from lutra_models.gp.memory.circumstances import TEXT
from lutra_models.gp.memory.columns import Columns, Names
from lutra_models.gp.memory.effects import PLACES, Effect
from lutra_models.gp.memory.question import Question
from lutra_models.gp.memory.workload import Lesson
from lutra_models.gp.space.encoding import Array
from lutra_models.knobs import Value

EFFECTS = 8
ASKED = 12
"""Configurations that the effects are asked of, evenly among those measured."""


class Strongest:
    """Special values lie on the line here, at its nearer end: the few that are chosen from are asked exactly."""

    def __init__(self, names: Names) -> None:
        self._names = names
        self._rows = Columns(
            levels=((2,), np.float32, np.nan),
            settings=((EFFECTS,), np.int32, -1),
            log=((EFFECTS,), np.bool_, False),
            values=((EFFECTS, PLACES), np.float64, np.nan),
            gains=((EFFECTS, PLACES), np.float32, 0.0),
        )

    def put(self, row: int, lesson: Lesson | None) -> None:
        self._rows.hold(row)
        self._rows.clear(row)
        if lesson is None:
            return
        self._rows["levels"][row] = lesson.low, lesson.high
        for i, effect in enumerate(lesson.effects[:EFFECTS]):
            self._put_effect(row, i, effect)

    def known(self, size: int) -> npt.NDArray[np.bool_]:
        """Of the first rows, whether they know the metric."""
        self._rows.hold(size - 1)
        return np.asarray(~np.isnan(self._rows["levels"][:size, 0]))

    def gaps(self, rows: npt.NDArray[np.intp], level: float | None) -> Array:
        """(w,) how far the level of the readings lies outside the past one's."""
        if level is None:
            return np.zeros(len(rows))
        levels = self._rows["levels"][rows]
        return np.asarray(np.maximum(np.maximum(levels[:, 0] - level, level - levels[:, 1]), 0.0), dtype=float)

    def agreement(self, rows: npt.NDArray[np.intp], asked: Question) -> Array:
        """(w,) the correlation of the effects' sum with what was measured: 0 where either says nothing."""
        if len(asked.values) < 2 or not len(rows):
            return np.zeros(len(rows))
        kept = np.unique(np.linspace(0, len(asked.values) - 1, ASKED).round().astype(int))
        values = asked.values[kept]
        z = np.log(values) if np.all(values > 0) else values
        said = self._total(rows, [asked.configurations[i] for i in kept])
        z, said = z - z.mean(), said - said.mean(axis=1, keepdims=True)
        sizes = np.sqrt(np.sum(said * said, axis=1) * np.sum(z * z))
        return np.asarray(np.where(sizes > 1e-12, said @ z / np.maximum(sizes, 1e-12), 0.0))

    def _total(self, rows: npt.NDArray[np.intp], configurations: Sequence[dict[str, Value]]) -> Array:
        """(w, n) the sums of the effects."""
        here = np.full((len(self._names) + 1, len(configurations)), np.nan)
        for name in configurations[0]:
            if (number := self._names.known(f"setting {name}")) is not None:
                here[number] = [self._value(c[name]) for c in configurations]
        values, gains = self._rows["values"][rows], self._rows["gains"][rows]
        asked = here[self._rows["settings"][rows]]
        text = asked >= TEXT
        with np.errstate(invalid="ignore", divide="ignore"):
            scaled = np.where(self._rows["log"][rows][:, :, None], np.log(np.maximum(asked, 1e-300)), asked)
            low, high = values[:, :, :1], values[:, :, -1:]
            share = np.clip((scaled - low) / np.maximum(high - low, 1e-12), 0.0, 1.0) * (PLACES - 1)
        share = np.where(np.isnan(share), 0.0, share)
        i = np.minimum(share.astype(np.int64), PLACES - 2)
        left, right = np.take_along_axis(gains, i, 2), np.take_along_axis(gains, i + 1, 2)
        told = left + (right - left) * (share - i)
        if np.any(text):
            met = values[:, :, :, None] == asked[:, :, None, :]
            told = np.where(text, np.sum(np.where(met, gains[:, :, :, None], 0.0), axis=2), told)
        return np.asarray(np.where(np.isnan(asked), 0.0, told).sum(axis=1))

    def _put_effect(self, row: int, i: int, effect: Effect) -> None:
        line = [*zip(effect.values, effect.gains, strict=True)][: len(effect.values) - effect.special]
        if not effect.choice and len(line) != PLACES:
            return
        told = line[:PLACES]
        self._rows["settings"][row, i] = self._names.number(f"setting {effect.setting}")
        self._rows["log"][row, i] = effect.log
        values = np.array([TEXT + self._names.number(f"text {v}") if isinstance(v, str) else v for v, _ in told])
        self._rows["values"][row, i, : len(told)] = np.log(np.maximum(values, 1e-300)) if effect.log else values
        self._rows["gains"][row, i, : len(told)] = [gain for _, gain in told]

    def _value(self, value: Value) -> float:
        if not isinstance(value, str):
            return float(value)
        number = self._names.known(f"text {value}")
        return 2.0 * TEXT if number is None else TEXT + number

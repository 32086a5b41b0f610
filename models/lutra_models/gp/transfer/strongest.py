"""One metric's lessons of many workloads as arrays: their levels, and the strongest effects of each.

Shapes: w workloads, s effects of one, g places of an effect, n configurations measured here.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from lutra_models.gp.options import Options
from lutra_models.gp.space.encoding import Array
from lutra_models.gp.transfer.circumstances import TEXT
from lutra_models.gp.transfer.columns import Columns, Names
from lutra_models.gp.transfer.effects import PLACES, Effect
from lutra_models.gp.transfer.question import Question
from lutra_models.gp.transfer.similarity import ranking
from lutra_models.gp.transfer.workload import Lesson
from lutra_models.knobs import Value

EFFECTS = 12
SPECIALS = 2
Rows = npt.NDArray[np.intp]


class Strongest:
    """The arrays of one metric. A workload has the same row in all of an index."""

    def __init__(self, names: Names) -> None:
        self._names = names
        self._rows = Columns(
            levels=((2,), np.float32, np.nan),
            on_log=((), np.bool_, False),
            doubt=((), np.float32, np.nan),
            settings=((EFFECTS,), np.int32, -1),
            log=((EFFECTS,), np.bool_, False),
            values=((EFFECTS, PLACES), np.float64, np.nan),
            gains=((EFFECTS, PLACES), np.float32, 0.0),
            specials=((EFFECTS, SPECIALS), np.float64, np.nan),
            special_gains=((EFFECTS, SPECIALS), np.float32, 0.0),
        )

    def put(self, row: int, lesson: Lesson | None) -> None:
        self._rows.hold(row)
        self._rows.clear(row)
        if lesson is None:
            return
        self._rows["levels"][row] = lesson.low, lesson.high
        self._rows["on_log"][row], self._rows["doubt"][row] = lesson.log, lesson.doubt
        widest = sorted(lesson.effects, key=lambda e: min(e.gains) - max(e.gains))
        for i, effect in enumerate(widest[:EFFECTS]):
            self._put_effect(row, i, effect, lesson.good)

    def known(self, size: int) -> npt.NDArray[np.bool_]:
        """Whether the first rows have the metric."""
        self._rows.hold(size - 1)
        return np.asarray(~np.isnan(self._rows["levels"][:size, 0]))

    def gaps(self, rows: Rows, level: float | None) -> Array:
        """(w,) the distance of the level of the readings from the past one's."""
        if level is None:
            return np.zeros(len(rows))
        levels = self._rows["levels"][rows]
        return np.asarray(np.maximum(np.maximum(levels[:, 0] - level, level - levels[:, 1]), 0.0), dtype=float)

    def agreement(self, rows: Rows, asked: Question, most: int) -> Array:
        """(w,) the correlation of the effects' sum with `most` of the readings: 0 if either is constant."""
        if len(asked.values) < 2 or not len(rows):
            return np.zeros(len(rows))
        asked = asked.thinned(most)
        z, said = asked.scaled, self._total(rows, asked.configurations)
        z, said = z - z.mean(), said - said.mean(axis=1, keepdims=True)
        sizes = np.sqrt(np.sum(said * said, axis=1) * np.sum(z * z))
        return np.asarray(np.where(sizes > 1e-12, said @ z / np.maximum(sizes, 1e-12), 0.0))

    def claims(self, rows: Rows, asked: Question, most: int, options: Options) -> Array:
        """(w,) the log probability of the measured ranking under each; `most` configurations are compared.

        That of silence for one that knows the metric on another scale.
        """
        pairs = len(asked.values) - 1
        if pairs < 1 or not len(rows):
            return np.zeros(len(rows))
        asked = asked.thinned(most)
        z, said = asked.scaled, self._total(rows, asked.configurations)
        noise = np.full(len(z), (options.targets.noise * asked.unit) ** 2)
        doubt = np.repeat(self._rows["doubt"][rows][:, None].astype(float), len(z), axis=1)
        told = ranking(z, noise, said, doubt, options.transfer)
        silent = -(len(z) - 1) * math.log(2.0)
        return np.where(self._rows["on_log"][rows] == asked.on_log, told, silent) * (pairs / (len(z) - 1))

    def _total(self, rows: Rows, configurations: Sequence[Mapping[str, Value]]) -> Array:
        """(w, n) the sums of the effects."""
        here = np.full((len(self._names) + 1, len(configurations)), np.nan)
        for name in configurations[0]:
            if (number := self._names.known(f"setting {name}")) is not None:
                here[number] = [self._value(c[name]) for c in configurations]
        with np.errstate(invalid="ignore", divide="ignore"):
            logs = np.log(np.maximum(here, 1e-300))
        settings = self._rows["settings"][rows]
        asked = here[settings]
        scaled = np.where(self._rows["log"][rows][:, :, None], logs[settings], asked)
        told = self._on_line(rows, asked, scaled)
        for place in range(SPECIALS):
            met = asked == self._rows["specials"][rows][:, :, place, None]
            told = np.where(met, self._rows["special_gains"][rows][:, :, place, None], told)
        return np.asarray(np.where(np.isnan(asked), 0.0, told).sum(axis=1), dtype=float)

    def _on_line(self, rows: Rows, asked: Array, scaled: Array) -> Array:
        """(w, s, n) gains at values: between two places of a number by its `scaled` value, or at a text."""
        values, gains = self._rows["values"][rows], self._rows["gains"][rows]
        with np.errstate(invalid="ignore", divide="ignore"):
            low, high = values[:, :, :1], values[:, :, -1:]
            share = np.clip((scaled - low) / np.maximum(high - low, 1e-12), 0.0, 1.0) * (PLACES - 1)
        share = np.where(np.isnan(share), 0.0, share)
        i = np.minimum(share.astype(np.int64), PLACES - 2)
        left, right = np.take_along_axis(gains, i, 2), np.take_along_axis(gains, i + 1, 2)
        told = left + (right - left) * (share - i)
        some = np.nonzero(np.any(asked >= TEXT, axis=2))
        met = values[some][:, :, None] == asked[some][:, None, :]
        at_text = np.sum(np.where(met, gains[some][:, :, None], 0.0), axis=1)
        told[some] = np.where(asked[some] >= TEXT, at_text, told[some])
        return np.asarray(told)

    def _put_effect(self, row: int, i: int, effect: Effect, good: float) -> None:
        """The line at places that are evenly apart; of a choice's options the first ones. As changes of the metric from
        the curve's mean, which is what a value counts as that the curve does not have."""
        line, columns = len(effect.values) - effect.special, self._rows
        columns["settings"][row, i] = self._names.number(f"setting {effect.setting}")
        values = np.array([self._value(v, new=True) for v in effect.values])
        gains = good * np.array(effect.gains)
        places, kept = values[:line], gains[:line]
        if not effect.choice and line > 1:
            known = np.log(np.maximum(places, 1e-300)) if effect.log else places
            places = np.linspace(known[0], known[-1], PLACES)
            kept = np.interp(places, known, kept)
        mean = float(np.mean([*kept, *gains[line:]]))
        if effect.choice or line > 1:
            columns["log"][row, i] = effect.log
            columns["values"][row, i, : len(places[:PLACES])] = places[:PLACES]
            columns["gains"][row, i, : len(places[:PLACES])] = kept[:PLACES] - mean
        for j, place in enumerate(range(line, len(values))[:SPECIALS]):
            columns["specials"][row, i, j], columns["special_gains"][row, i, j] = values[place], gains[place] - mean

    def _value(self, value: Value, new: bool = False) -> float:
        if not isinstance(value, str):
            return float(value)
        number = self._names.number(f"text {value}") if new else self._names.known(f"text {value}")
        return 2.0 * TEXT if number is None else TEXT + number

"""Maximise an acquisition over a knob space: everywhere, and around the best configurations.

Shapes: m candidates, k knobs.

Local candidates move few knobs at a time (Regis & Shoemaker 2013; TuRBO, NeurIPS 2019). Rules are checked late and
rarely: they are Python, and most candidates never reach them. Candidates are drawn inside a budget over several
settings (of memory). A candidate that another rule refuses is drawn towards an allowed configuration until it passes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt
from scipy.stats import qmc

from lutra_models.gp.options import DEFAULT, Effort, Search
from lutra_models.gp.space.budget import Budget, budget
from lutra_models.gp.space.encoding import SPECIAL, Array, Encoding
from lutra_models.knobs import Choice, Configuration, Knob, KnobSpace, Number, Value

Score = Callable[[Array], Array]
"""(m, k) codes → (m,) scores; larger is better."""


@dataclass(frozen=True, eq=False)
class Field:
    """The region to search: the encoding, the rules, and an allowed configuration towards which others are drawn."""

    encoding: Encoding
    allowed: Callable[[Configuration], bool]
    anchors: Array
    """(a, k) codes of allowed configurations, the best first."""
    pinned: Array | None = None
    """(k,) codes of the knobs that stay, NaN if a knob may move; None if all may."""
    standing: Mapping[str, Sequence[Value]] = field(default_factory=dict)
    """Values that were set before: they are kept, while new ones are rounded."""
    answers: Mapping[str, Sequence[tuple[Value, Value]]] = field(default_factory=dict)
    """Requested numbers, and the values that the server made of them: numbers in between would give the same values."""

    options: Search = DEFAULT.search
    held: Mapping[str, Value] = field(default_factory=dict)
    """The covariates: every configuration has their current values."""
    space: KnobSpace | None = None
    """The rules that bound sums over several settings: candidates are drawn inside the region that they allow."""

    @cached_property
    def budget(self) -> Budget | None:
        return None if self.space is None else budget(self.space, self.encoding, self.read, self.pinned)

    def filling(self, codes: Array) -> Array:
        """Codes (m, k) that fill the space, moved so that they fill the allowed part."""
        return codes if self.budget is None else self.budget.squeezed(codes)

    def inside(self, codes: Array) -> Array:
        """Codes (m, k), with those outside drawn to the edge."""
        return codes if self.budget is None else self.budget.clipped(codes)

    def read(self, codes: Array) -> Configuration:
        """The configuration of one row of codes (k,), new numbers rounded to what people can read."""
        exact = self.encoding.decode(codes)
        return exact.replace({**{k.name: self._readable(k, exact[k.name]) for k in self.encoding.knobs}, **self.held})

    def _readable(self, knob: Knob, value: Value) -> Value:
        if isinstance(knob.domain, Choice) or isinstance(value, str):
            return value
        numbers = [v for v in self.standing.get(knob.name, ()) if not isinstance(v, str)]
        stands = next((v for v in numbers if math.isclose(v, value, rel_tol=1e-9)), None)
        if stands is not None or value in knob.domain.special:
            return value if stands is None else stands
        return self._answered(knob.domain, knob.domain.rounded(value), self.answers.get(knob.name, ()), numbers)

    @staticmethod
    def _answered(
        domain: Number, value: float, answers: Iterable[tuple[Value, Value]], numbers: Sequence[float]
    ) -> float:
        """`value`, or what the server is known to make of it: nothing else was ever active in between."""
        for asked, made in answers:
            if isinstance(asked, str) or isinstance(made, str) or asked in domain.special:
                continue
            low, high = sorted((asked, made))
            if low <= value <= high and made in domain and not any(low < n < high for n in numbers):
                return made
        return value

    def pinning(self, codes: Array | None) -> Field:
        """With knobs that stay at these codes (k,), in addition to the covariates; NaN if one may move."""
        if codes is None or self.pinned is None:
            return replace(self, pinned=self.pinned if codes is None else codes)
        return replace(self, pinned=np.where(np.isnan(self.pinned), codes, self.pinned))

    def pin(self, codes: Array) -> Array:
        """Codes (m, k) with the knobs that stay in their place."""
        return codes if self.pinned is None else np.where(np.isnan(self.pinned), codes, self.pinned)


def maximise(
    score: Score, field: Field, incumbents: Array, rng: np.random.Generator, effort: Effort = DEFAULT.search.thorough
) -> list[Configuration]:
    """Allowed configurations, the best first; `incumbents` (i, k) codes to search around. Empty if none passes."""
    encoding, options = field.encoding, field.options
    pool = [field.filling(field.pin(everywhere(encoding, options.everywhere, rng)))]
    if len(incumbents):
        near = around(encoding, incumbents[rng.integers(len(incumbents), size=options.near)], 0.25, rng)
        pool.append(field.inside(field.pin(near)))
    codes = np.vstack(pool)
    values = score(codes)
    codes, values = climb(score, field, codes, values, rng, effort)
    return passing(score, field, codes, values)


def everywhere(encoding: Encoding, m: int, rng: np.random.Generator) -> Array:
    """(m, k) codes that fill the space, every second one evenly in the value on logarithmic axes."""
    unit = qmc.Sobol(len(encoding.knobs), scramble=True, rng=rng).random(m)
    return encoding.cube(unit, linear=np.arange(m) % 2 == 1)


def around(encoding: Encoding, centres: Array, step: float, rng: np.random.Generator) -> Array:
    """(m, k) codes: each of the centres (m, k) with a few knobs moved."""
    m, k = centres.shape
    moved = rng.random((m, k)) < rng.choice([1.5, 3.0, 6.0], size=(m, 1)) / k
    moved[np.arange(m), rng.integers(k, size=m)] = True
    steps = step * np.exp(rng.normal(-0.5, 0.7, (m, 1)))
    numbers = np.where(centres >= SPECIAL, rng.random((m, k)), centres + steps * rng.standard_normal((m, k)))
    jumps = _jumps(encoding, numbers, rng)
    return encoding.snap(np.where(moved, jumps, centres))


def _jumps(encoding: Encoding, numbers: Array, rng: np.random.Generator) -> Array:
    """Where a moved knob goes: a number by its step and at times to a special value, a choice to any option."""
    out = numbers.copy()
    m = len(numbers)
    for j, knob in enumerate(encoding.knobs):
        if isinstance(knob.domain, Choice):
            out[:, j] = rng.integers(len(knob.domain.options), size=m)
        elif isinstance(knob.domain, Number) and knob.domain.special:
            chosen = rng.random(m) < 0.2
            out[:, j] = np.where(chosen, SPECIAL + rng.integers(len(knob.domain.special), size=m), out[:, j])
    return out


def single_moves(
    encoding: Encoding, centres: Array, moves: Sequence[float] = DEFAULT.search.moves
) -> tuple[Array, npt.NDArray[np.intp]]:
    """(m, k) codes, each one of the centres (i, k) with one knob elsewhere, and (m,) which knob that is.

    A number's place changes by each of `moves`.
    """
    rows, knobs = [], []
    for centre in encoding.snap(centres):
        for j, knob in enumerate(encoding.knobs):
            block = np.tile(centre, (len(places := _places(knob, centre[j], np.array(moves))), 1))
            block[:, j] = places
            block = encoding.snap(block)
            rows.append(block[block[:, j] != centre[j]])
            knobs.append(np.full(len(rows[-1]), j))
    return np.vstack(rows), np.concatenate(knobs)


def _places(knob: Knob, code: float, moves: Array) -> Array:
    if isinstance(knob.domain, Choice):
        return np.arange(len(knob.domain.options), dtype=float)
    numbers = np.linspace(0.0, 1.0, len(moves)) if code >= SPECIAL else np.clip(code + moves, 0.0, 1.0)
    return np.concatenate([numbers, SPECIAL + np.arange(len(knob.domain.special), dtype=float)])


def climb(
    score: Score, field: Field, codes: Array, values: Array, rng: np.random.Generator, effort: Effort
) -> tuple[Array, Array]:
    """The pool with the best of it improved by shrinking local steps."""
    best = np.argsort(-values, kind="stable")[: field.options.climbers]
    tops, heights = codes[best], values[best]
    for turn in range(effort.rounds):
        near = field.pin(around(field.encoding, np.repeat(tops, effort.steps, axis=0), 0.2 * effort.shrink**turn, rng))
        found = score(near).reshape(len(tops), effort.steps)
        at = np.argmax(found, axis=1)
        steps = near.reshape(len(tops), effort.steps, -1)[np.arange(len(tops)), at]
        reached = found[np.arange(len(tops)), at]
        if field.budget is not None:
            steps = field.inside(steps)
            reached = score(steps)
        better = reached > heights
        tops = np.where(better[:, None], steps, tops)
        heights = np.maximum(heights, reached)
    return np.vstack([tops, codes]), np.concatenate([heights, values])


def passing(score: Score, field: Field, codes: Array, values: Array) -> list[Configuration]:
    """The best codes as configurations, the best first; those that rules refuse are drawn in until they pass."""
    encoding = field.encoding
    kept: dict[Configuration, float] = {}
    for i in np.argsort(-values, kind="stable")[: field.options.asked]:
        configuration = field.read(codes[i])
        if field.allowed(configuration):
            kept.setdefault(configuration, float(values[i]))
            if len(kept) >= field.options.climbers:
                break
            continue
        drawn = _drawn(field, codes[i])
        if drawn is not None and drawn not in kept:
            kept[drawn] = float(score(encoding.codes([drawn]))[0])
    return sorted(kept, key=lambda c: -kept[c])


def _drawn(field: Field, codes: Array) -> Configuration | None:
    """The farthest allowed point on the way from the nearest anchor to `codes` (k,)."""
    if not len(field.anchors):
        return None
    anchor = field.anchors[np.argmin(np.sum(np.minimum(np.abs(field.anchors - codes), 1.0), axis=1))]
    low, high, best = 0.0, 1.0, None
    for _ in range(field.options.halvings):
        share = 0.5 * (low + high)
        configuration = field.read(field.encoding.snap(_between(field.encoding, anchor, codes, share)[None])[0])
        if field.allowed(configuration):
            low, best = share, configuration
        else:
            high = share
    return best


def _between(encoding: Encoding, anchor: Array, codes: Array, share: float) -> Array:
    """From one row of codes (k,) towards another; what is no place on an axis goes over at once, at the half."""
    choice = np.array([isinstance(k.domain, Choice) for k in encoding.knobs])
    apart = choice | (anchor >= SPECIAL) | (codes >= SPECIAL)
    return np.asarray(np.where(apart, np.where(share > 0.5, codes, anchor), anchor + share * (codes - anchor)))

"""KnobSpace <-> numbers. A search moves codes; a surrogate sees features.

Shapes: m configurations, k knobs, d features.

A code is one number per knob: the place in [0, 1] of a numeric value (on the logarithm where the domain says so),
`SPECIAL + i` for the i-th special value, the index of a choice's option. Features hold one column per number, an
indicator per special value, and one column per option (one for both where there are two).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from lutra_models.knobs import Choice, Configuration, Knob, Number, Value

Array = npt.NDArray[np.float64]

SPECIAL = 10.0
"""Codes from here on are special values; an observed value outside its domain stays far below."""
OUTSIDE = 0.5
"""The distance beyond the unit interval at which an observed value outside its domain may lie."""


class Encoding:
    """The knobs' codes and features. `d` features in all."""

    def __init__(self, knobs: Sequence[Knob]) -> None:
        self.knobs = tuple(knobs)
        self.widths = [_width(k) for k in self.knobs]
        self.d = sum(self.widths)
        self._starts = np.cumsum([0, *self.widths])

    def columns(self, knob: int) -> slice:
        """The features of one knob."""
        return slice(int(self._starts[knob]), int(self._starts[knob + 1]))

    def codes(self, configurations: Sequence[Mapping[str, Value]]) -> Array:
        """(m, k) codes of configurations; values outside a domain lie outside [0, 1], unknown options at -1."""
        out = np.empty((len(configurations), len(self.knobs)))
        for j, knob in enumerate(self.knobs):
            out[:, j] = _codes(knob, [c[knob.name] for c in configurations])
        return out

    def features(self, codes: Array) -> Array:
        """(m, d) features of (m, k) codes."""
        out = np.zeros((len(codes), self.d))
        for j, knob in enumerate(self.knobs):
            block = out[:, self.columns(j)]
            if isinstance(knob.domain, Choice):
                _options(block, codes[:, j], len(knob.domain.options))
            else:
                _number(block, codes[:, j], len(knob.domain.special))
        return out

    def encode(self, configurations: Sequence[Mapping[str, Value]]) -> Array:
        """(m, d) features of configurations."""
        return self.features(self.codes(configurations))

    def snap(self, codes: Array) -> Array:
        """The nearest codes of legal values: inside the cube, integers on integers."""
        out = codes.copy()
        for j, knob in enumerate(self.knobs):
            column = out[:, j]
            if isinstance(knob.domain, Choice):
                out[:, j] = np.clip(np.round(column), 0, len(knob.domain.options) - 1)
                continue
            inside = np.clip(column, 0.0, 1.0)
            if knob.domain.integer:
                step = knob.domain.step
                inside = place_of(knob.domain, np.round(value_of(knob.domain, inside) / step) * step)
            special = column >= SPECIAL
            out[:, j] = np.where(special, column, np.clip(inside, 0.0, 1.0))
        return out

    def decode(self, codes: Array) -> Configuration:
        """The legal configuration nearest to one row of codes (k,)."""
        return Configuration({k.name: _decoded(k, float(c)) for k, c in zip(self.knobs, codes, strict=True)})

    def cube(self, unit: Array, special_share: float = 0.1, linear: Array | None = None) -> Array:
        """Codes of points (m, k) of the unit cube: the lowest part of each axis that has special values is theirs.

        Where `linear` (m,) is true a logarithmic axis is filled evenly in the value instead of in its logarithm.
        """
        out = unit.copy()
        for j, knob in enumerate(self.knobs):
            u = unit[:, j]
            if isinstance(knob.domain, Choice):
                n = len(knob.domain.options)
                out[:, j] = np.minimum(np.floor(u * n), n - 1)
                continue
            share = special_share if knob.domain.special else 0.0
            inside = (u - share) / (1.0 - share)
            if knob.domain.log and linear is not None:
                span = knob.domain.low + np.clip(inside, 0, 1) * (knob.domain.high - knob.domain.low)
                inside = np.where(linear, place_of(knob.domain, span), inside)
            special = SPECIAL + np.floor(u / max(share, 1e-12) * len(knob.domain.special))
            out[:, j] = np.where(u < share, special, inside)
        return self.snap(out)


def _width(knob: Knob) -> int:
    if isinstance(knob.domain, Choice):
        return 1 if len(knob.domain.options) == 2 else len(knob.domain.options)
    return 1 + len(knob.domain.special)


def _codes(knob: Knob, values: Sequence[Value]) -> Array:
    """(m,) of one knob's values."""
    if isinstance(knob.domain, Choice):
        options = knob.domain.options
        return np.array([options.index(v) if isinstance(v, str) and v in options else -1 for v in values], dtype=float)
    numbers = np.array(values, dtype=float)
    out = np.clip(place_of(knob.domain, numbers), -OUTSIDE, 1.0 + OUTSIDE)
    for i, special in enumerate(knob.domain.special):
        out[numbers == special] = SPECIAL + i
    return np.asarray(out)


def place_of(domain: Number, value: Array) -> Array:
    if domain.log:
        span = np.log(domain.high) - np.log(domain.low)
        return np.asarray((np.log(np.maximum(value, 1e-300)) - np.log(domain.low)) / span)
    return np.asarray((value - domain.low) / (domain.high - domain.low))


def value_of(domain: Number, place: Array) -> Array:
    if domain.log:
        return np.asarray(np.exp(np.log(domain.low) + place * (np.log(domain.high) - np.log(domain.low))))
    return np.asarray(domain.low + place * (domain.high - domain.low))


def _decoded(knob: Knob, code: float) -> Value:
    if isinstance(knob.domain, Choice):
        return knob.domain.options[min(max(round(code), 0), len(knob.domain.options) - 1)]
    if code >= SPECIAL:
        special = knob.domain.special[min(round(code - SPECIAL), len(knob.domain.special) - 1)]
        return int(special) if knob.domain.integer and float(special).is_integer() else float(special)
    inside = knob.domain.clip(float(value_of(knob.domain, np.array(min(max(code, 0.0), 1.0)))))
    return int(inside) if knob.domain.integer else float(inside)


def _options(block: Array, codes: Array, options: int) -> None:
    if options == 2:
        block[:, 0] = np.where(codes < 0, 0.5, codes)
        return
    for i in range(options):
        block[:, i] = (codes == i) / np.sqrt(2.0)


def _number(block: Array, codes: Array, specials: int) -> None:
    special = codes >= SPECIAL
    block[:, 0] = np.where(special, 0.5, codes)
    for i in range(specials):
        block[:, 1 + i] = codes == SPECIAL + i

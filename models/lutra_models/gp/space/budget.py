"""The part of a space that a budget over several settings allows, and the drawing of candidates inside it.

Rules that bound a sum (of memory) name the values from which it is least. Towards that corner the sum only falls, so
the allowed part is a star around it: on each ray from there, all points up to one end. Shapes: m candidates, k knobs.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from lutra_models.gp.space.encoding import SPECIAL, Array, Encoding, place_of
from lutra_models.knobs import Bound, Configuration, KnobSpace, Number, Value

_HALVINGS = 6
_ROUNDED = 0.95
"""The factor by which a rounded value moves back when rounding for people brings it above the limit."""
_NEARER = 6
"""The most moves of that kind."""


@dataclass(frozen=True, eq=False)
class Budget:
    """`corner` holds, by knob, the place from which the sum is least. `read` gives the configuration of codes (k,)."""

    encoding: Encoding
    bounds: tuple[Bound, ...]
    corner: dict[int, float]
    read: Callable[[Array], Configuration]

    @cached_property
    def _summed(self) -> list[int]:
        names = {name for bound in self.bounds for name in bound.names}
        return [j for j, knob in enumerate(self.encoding.knobs) if knob.name in names]

    def squeezed(self, codes: Array) -> Array:
        """Codes (m, k), each ray from the corner shortened by the share of it that lies outside.

        Points that filled the whole space fill the allowed part, and do not gather at its edge. A ray that lies inside
        stays as it is, to the bit.
        """
        return np.array([self._squeezed(row) for row in codes], dtype=float).reshape(codes.shape)

    def clipped(self, codes: Array) -> Array:
        """Codes (m, k), with those outside at the end of the allowed part of their ray. Others stay, to the bit."""
        return np.array([self._clipped(row) for row in codes], dtype=float).reshape(codes.shape)

    def _squeezed(self, row: Array) -> Array:
        ray = _Ray(self, row)
        whole = ray.whole
        if whole is None or ray.inside(whole):
            return row
        return self._at(ray, whole, 1.0 / whole)

    def _clipped(self, row: Array) -> Array:
        ray = _Ray(self, row)
        return row if ray.inside(1.0) else self._at(ray, 1.0, 1.0)

    def _at(self, ray: _Ray, outside: float, share: float) -> Array:
        """The ray's row at `share` of the end of what is inside; as it is, where nothing on its ray is inside."""
        if not ray.inside(0.0):
            return ray.row
        inside = 0.0
        for _ in range(_HALVINGS):
            middle = 0.5 * (inside + outside)
            inside, outside = (middle, outside) if ray.inside(middle) else (inside, middle)
        reach = inside * share
        for _ in range(_NEARER):
            found: Array = self.encoding.snap(ray.at(reach)[None])[0]
            if all(bound.allows(self.read(found)) for bound in self.bounds):
                return found
            reach *= _ROUNDED
        return np.asarray(self.encoding.snap(ray.at(0.0)[None])[0])


class _Ray:
    """From the corner through one row of codes (k,): the row lies at 1, the corner at 0."""

    def __init__(self, budget: Budget, row: Array) -> None:
        self.row = row
        self._budget = budget
        knobs = budget.encoding.knobs
        self._ways = {j: (at, float(row[j]) - at) for j, at in budget.corner.items() if row[j] < SPECIAL}
        whole = budget.encoding.decode(row)
        self._stays: dict[str, Value] = {knobs[j].name: whole[knobs[j].name] for j in budget._summed}

    @property
    def whole(self) -> float | None:
        """Where the ray leaves the space; None if it does not leave the corner."""
        ends = [(1.0 - at if way > 0 else -at) / way for at, way in self._ways.values() if way != 0.0]
        return min(ends, default=None)

    def at(self, share: float) -> Array:
        """The codes (k,) there."""
        codes = self.row.copy()
        for j, (at, way) in self._ways.items():
            codes[j] = min(max(at + share * way, 0.0), 1.0)
        return codes

    def inside(self, share: float) -> bool:
        values = dict(self._stays)
        for j, (at, way) in self._ways.items():
            knob = self._budget.encoding.knobs[j]
            assert isinstance(knob.domain, Number)
            values[knob.name] = knob.domain.clip(_value(knob.domain, min(max(at + share * way, 0.0), 1.0)))
        return all(bound.allows(values) for bound in self._budget.bounds)


def budget(
    space: KnobSpace, encoding: Encoding, read: Callable[[Array], Configuration], pinned: Array | None
) -> Budget | None:
    """What the rules of `space` that bound a sum leave, where knobs `pinned` (k,) stay; None without such a rule."""
    bounds = tuple(rule for rule in space.rules if isinstance(rule, Bound) and rule.least)
    if not bounds:
        return None
    least = {name: value for bound in bounds for name, value in bound.least.items()}
    corner: dict[int, float] = {}
    for j, knob in enumerate(encoding.knobs):
        if knob.name in least and (pinned is None or np.isnan(pinned[j])):
            assert isinstance(knob.domain, Number)
            corner[j] = float(np.clip(place_of(knob.domain, np.array(least[knob.name])), 0.0, 1.0))
    return Budget(encoding, bounds, corner, read)


def _value(domain: Number, place: float) -> float:
    if domain.log:
        return domain.low * math.exp(place * math.log(domain.high / domain.low))
    return domain.low + place * (domain.high - domain.low)

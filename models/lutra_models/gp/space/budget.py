"""The part of a space that a budget over several settings leaves, and how candidates are drawn inside it.

Rules that bound a sum (of memory) name the values from which it is least. Towards them together the sum only falls, so
what such rules leave is a star around that corner: on each ray from there, all points up to one end.
Shapes: m candidates, k knobs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from lutra_models.gp.space.encoding import SPECIAL, Array, Encoding, place_of
from lutra_models.knobs import Configuration, KnobSpace, Number, Rule

_HALVINGS = 8


@dataclass(frozen=True, eq=False)
class Budget:
    """`corner` (k,) holds the codes from which the sum is least, NaN for knobs that are no part of it."""

    encoding: Encoding
    rules: tuple[Rule, ...]
    corner: Array
    read: Callable[[Array], Configuration]
    """The configuration that one row of codes (k,) stands for."""

    def squeezed(self, codes: Array) -> Array:
        """Codes (m, k), each ray from the corner shortened by the share of it that lies outside.

        Points that filled the whole space fill what is left of it, and do not gather at its edge. A ray that lies
        inside stays as it is, to the bit.
        """
        return self._each(codes, lambda row: self._squeezed(row))

    def clipped(self, codes: Array) -> Array:
        """Codes (m, k), those outside at the end of what is inside on their ray. Others stay, to the bit."""
        return self._each(codes, lambda row: row if self._inside(row) else self._at_end(row, 1.0, 1.0))

    def _each(self, codes: Array, moved: Callable[[Array], Array]) -> Array:
        return np.array([moved(row) for row in codes]) if len(codes) else codes

    def _squeezed(self, row: Array) -> Array:
        way = self._way(row)
        with np.errstate(divide="ignore", invalid="ignore"):
            ends = np.where(way > 0, (1.0 - self.corner) / way, np.where(way < 0, -self.corner / way, np.inf))
        exit_ = float(np.min(ends))
        if not np.isfinite(exit_) or self._inside(self._on_ray(row, way, exit_)):
            return row
        return self._at_end(row, exit_, 1.0 / exit_)

    def _at_end(self, row: Array, outside: float, share: float) -> Array:
        """The row at `share` of the end of what is inside on its ray; as it is, where nothing there is inside."""
        way = self._way(row)
        if not self._inside(self._on_ray(row, way, 0.0)):
            return row
        inside = 0.0
        for _ in range(_HALVINGS):
            middle = 0.5 * (inside + outside)
            inside, outside = (middle, outside) if self._inside(self._on_ray(row, way, middle)) else (inside, middle)
        found = self._on_ray(row, way, inside * share)
        return found if self._inside(found) else self._on_ray(row, way, 0.0)

    def _way(self, row: Array) -> Array:
        """(k,) from the corner to the row; 0 for what is no part of the sum, and for special values."""
        return np.where(np.isnan(self.corner) | (row >= SPECIAL), 0.0, row - self.corner)

    def _on_ray(self, row: Array, way: Array, share: float) -> Array:
        stays = np.isnan(self.corner) | (row >= SPECIAL)
        return self.encoding.snap(np.where(stays, row, self.corner + share * way)[None])[0]

    def _inside(self, row: Array) -> bool:
        configuration = self.read(row)
        return all(rule(configuration) is None for rule in self.rules)


def budget(
    space: KnobSpace, encoding: Encoding, read: Callable[[Array], Configuration], pinned: Array | None
) -> Budget | None:
    """What the rules of `space` that bound a sum leave, where knobs `pinned` (k,) stay; None without such a rule."""
    rules = tuple(rule for rule in space.rules if getattr(rule, "least", None))
    least = space.least
    if not least:
        return None
    corner = np.full(len(encoding.knobs), np.nan)
    for j, knob in enumerate(encoding.knobs):
        if knob.name in least and (pinned is None or np.isnan(pinned[j])):
            assert isinstance(knob.domain, Number)
            corner[j] = float(np.clip(place_of(knob.domain, np.array(least[knob.name])), 0.0, 1.0))
    return Budget(encoding, rules, corner, read)

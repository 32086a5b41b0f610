"""One knob space seen from another: knob spaces of workloads overlap, they are not equal.

Shapes: m configurations, k knobs here, l knobs there, d features there.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lutra_models.gp.space.encoding import (
    OUTSIDE,
    SPECIAL,
    Array,
    Encoding,
    place_of,
    value_of,
)
from lutra_models.knobs import Choice, Domain, Number


@dataclass(frozen=True, eq=False)
class Bridge:
    """Codes of one encoding as codes of another. Knobs that only the other has stay at `home` (l,)."""

    here: Encoding
    there: Encoding
    home: Array

    @property
    def shared(self) -> tuple[str, ...]:
        """Knobs of both spaces and of one kind."""
        known = {k.name: k.domain for k in self.here.knobs}
        return tuple(k.name for k in self.there.knobs if k.name in known and _same_kind(known[k.name], k.domain))

    def codes(self, codes: Array) -> Array:
        """(m, l) codes there of (m, k) codes here."""
        out = np.tile(self.home, (len(codes), 1))
        at = {k.name: j for j, k in enumerate(self.here.knobs)}
        shared = set(self.shared)
        for j, knob in enumerate(self.there.knobs):
            if knob.name in shared:
                i = at[knob.name]
                out[:, j] = _across(codes[:, i], self.here.knobs[i].domain, knob.domain, self.home[j])
        return out

    def features(self, codes: Array) -> Array:
        """(m, d) features there of (m, k) codes here."""
        return self.there.features(self.codes(codes))


def _same_kind(one: Domain, other: Domain) -> bool:
    return isinstance(one, Choice) == isinstance(other, Choice)


def _across(codes: Array, here: Domain, there: Domain, home: float) -> Array:
    if isinstance(here, Choice) and isinstance(there, Choice):
        known = [float(there.options.index(o)) if o in there.options else home for o in here.options]
        return np.where(codes < 0, home, np.array(known)[np.maximum(codes, 0).astype(int)])
    assert isinstance(here, Number)
    assert isinstance(there, Number)
    special = codes >= SPECIAL
    values = value_of(here, np.where(special, 0.5, codes))
    if here.special:
        index = np.clip(codes - SPECIAL, 0, len(here.special) - 1).astype(int)
        values = np.where(special, np.array(here.special, dtype=float)[index], values)
    out = np.clip(place_of(there, values), -OUTSIDE, 1.0 + OUTSIDE)
    for i, meaning in enumerate(there.special):
        out = np.where(values == meaning, SPECIAL + i, out)
    return np.asarray(out)

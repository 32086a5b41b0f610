"""Which settings of a configuration are unlike all that was measured, one setting at a time.

The variance of a posterior does not show it: a long length-scale says that a setting has little effect, even if that
setting was never varied. The distances of the data show it. Shapes: m configurations, n readings, k knobs, d features.
"""

from __future__ import annotations

import numpy as np

from lutra_models.gp.space.encoding import SPECIAL, Array, Encoding
from lutra_models.knobs import Choice

MATERIAL = 0.05
"""The distance beyond the measured values, as a share of the setting's range, that still counts as measured."""
BEYOND = 0.5
"""The same distance, as a share of the measured range."""


def unlike(encoding: Encoding, codes: Array, measured: Array) -> set[str]:
    """The knobs that at codes (1, k) have an option or a special value that none of the features (n, d) has, or a place
    well beyond theirs."""
    features = encoding.features(codes)[0]
    found: set[str] = set()
    for j, knob in enumerate(encoding.knobs):
        columns = encoding.columns(j)
        here, there = features[columns], measured[:, columns]
        apart = isinstance(knob.domain, Choice) or codes[0, j] >= SPECIAL
        if not _alike(here, there) if apart else _beyond(here, there):
            found.add(knob.name)
    return found


def _alike(here: Array, there: Array) -> bool:
    return bool(np.any(np.all(np.isclose(there, here), axis=1)))


def _beyond(here: Array, there: Array) -> bool:
    """Whether a place is well outside the range of those measured, special values left out."""
    places = there[np.all(there[:, 1:] == 0.0, axis=1), 0]
    if not len(places):
        return True
    low, high = float(np.min(places)), float(np.max(places))
    room = MATERIAL + BEYOND * (high - low)
    return not low - room <= float(here[0]) <= high + room

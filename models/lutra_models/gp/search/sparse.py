"""Settings that do not matter stay as they are.

A recommendation that changes forty settings for the sake of three is neither read nor trusted. After the search, each
change whose undoing costs next to nothing is undone, the cheapest first (Ax calls this pruning towards a target).
Shapes: k knobs, c changes.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from lutra_models.gp.space.encoding import Array


def simplified(score: Callable[[Array], Array], codes: Array, reference: Array, slack: float) -> Array:
    """Codes (k,) with settings back at `reference` (k,) as long as the score misses no more than `slack` in all."""
    best = float(score(codes[None])[0])
    current = codes.copy()
    while True:
        changed = np.flatnonzero(current != reference)
        if not len(changed):
            return current
        trials = np.tile(current, (len(changed), 1))
        trials[np.arange(len(changed)), changed] = reference[changed]
        values = score(trials)
        top = int(np.argmax(values))
        if values[top] < best - slack:
            return current
        current = trials[top]

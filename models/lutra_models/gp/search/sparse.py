"""Settings that do not matter keep their values.

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
    least = float(score(codes[None])[0]) - slack
    current = codes.copy()
    while np.any(current != reference):
        shorter, value = _one_fewer(score, current, reference)
        if value < least:
            break
        current = shorter
    return current


def reduced(score: Callable[[Array], Array], codes: Array, reference: Array, most: int) -> Array:
    """Codes (k,) with settings back at `reference` (k,) until no more than `most` differ, the cheapest first."""
    current = codes.copy()
    while np.count_nonzero(current != reference) > most:
        current, _ = _one_fewer(score, current, reference)
    return current


def _one_fewer(score: Callable[[Array], Array], codes: Array, reference: Array) -> tuple[Array, float]:
    """The best of the codes (k,) that have one more setting back at `reference` (k,), and its score."""
    changed = np.flatnonzero(codes != reference)
    trials = np.tile(codes, (len(changed), 1))
    trials[np.arange(len(changed)), changed] = reference[changed]
    values = score(trials)
    top = int(np.argmax(values))
    return trials[top], float(values[top])

"""A configuration beside the best, when the search makes no progress: the middle of the values that were never tried
there.

A model of one dominant setting joins two distant readings by a straight line, is overconfident between them, and lets
the search stay at one end. Only a reading shows the error. Shapes: k knobs, n distinct configurations.
"""

from __future__ import annotations

import numpy as np

from lutra_models.gp.learning.learned import Learned
from lutra_models.gp.search.scoring import field_of
from lutra_models.gp.search.strategy import tried
from lutra_models.gp.space.encoding import SPECIAL, Array
from lutra_models.history import History
from lutra_models.knobs import Choice, Configuration

ALONG = 17
"""Points at which the model is asked along a setting's range."""


def beside_best(history: History, learned: Learned) -> Configuration | None:
    """The best configuration with one setting moved into the widest stretch beside it that no trial has been in.

    Of the settings that matter by the model, it moves the one with the largest product of stretch and effect. None
    while the search advances, in every other trial, and where each stretch is narrow or its middle is refused, or will
    rather not run or not keep the limits.
    """
    options = learned.options.search
    trials = len(history.completed)
    if trials % 2 or standing_still(history, learned) < options.stalled_after:
        return None
    encoding = learned.encoding
    known = encoding.snap(encoding.codes(tried(history)))
    best = encoding.snap(encoding.codes(learned.ranked()[:1]))[0]
    least = options.least_effect * np.sqrt(learned.usual_noise)
    worth, moved = np.zeros(len(best)), np.tile(best, (len(best), 1))
    for j, knob in enumerate(encoding.knobs):
        if isinstance(knob.domain, Choice) or best[j] >= SPECIAL:
            continue
        width, moved[j, j] = _stretch(known[:, j], best[j])
        effect = _effect(learned, best, j)
        if width >= options.untried_stretch and effect > least:
            worth[j] = width * effect
    moved = encoding.snap(moved)
    worth[learned.log_running(moved) + learned.log_limits(moved) < np.log(0.5)] = 0.0
    field = field_of(history, encoding, options)
    for j in np.argsort(-worth):
        if worth[j] <= 0.0:
            return None
        found = field.read(moved[j])
        if field.allowed(found):
            return found
    return None


def standing_still(history: History, learned: Learned) -> int:
    """The number of trials since the first one that was as good as the current best, to half a reading's noise."""
    first: dict[Configuration, int] = {}
    for place, (configuration, _) in enumerate(history.values(history.objective.metric)):
        first.setdefault(configuration, place)
    codes = learned.encoding.codes(list(first))
    level = learned.sign * learned.wary.latent(learned.wary_inputs(codes))[0]
    good = level >= level.max() - 0.5 * np.sqrt(learned.wary.noise)
    advanced = min(place for place, as_good in zip(first.values(), good, strict=True) if as_good)
    return len(history.completed) - 1 - advanced


def _stretch(places: Array, at: float) -> tuple[float, float]:
    """The wider of the two untried stretches that end at `at`: its width and its middle. `places` (n,) were tried."""
    ends = np.unique(np.concatenate([[0.0, 1.0], places[places < SPECIAL]]))
    below, above = ends[ends < at - 1e-9], ends[ends > at + 1e-9]
    down = at - below[-1] if len(below) else 0.0
    up = above[0] - at if len(above) else 0.0
    return (down, at - down / 2.0) if down > up else (up, at + up / 2.0)


def _effect(learned: Learned, best: Array, knob: int) -> float:
    """By how much the model's target differs over the whole range of one setting, the others as in `best` (k,)."""
    line = np.tile(best, (ALONG, 1))
    line[:, knob] = np.linspace(0.0, 1.0, ALONG)
    codes = learned.encoding.snap(line)
    return float(np.ptp(learned.searching.latent(learned.inputs(codes))[0]))

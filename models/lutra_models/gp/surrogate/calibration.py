"""Are the intervals true? What a posterior's interval of a reading has to be widened by, and how often it held.

A Gaussian process at its hyperparameters' mode is too sure of itself away from the data, and the data of a search lie
where readings are good: leaving one out does not show it. The errors have a shape that tables of measured
configurations share: the bad side is longer than the good one, longer still where some configurations do not run at
all (what stands near a cliff often falls), and nothing is much better than the best that a search has found. The
constants were set on four tables of measurements of two engines so that nine of ten readings lie inside.
"""

from __future__ import annotations

import math
from dataclasses import replace
from statistics import NormalDist

import numpy as np

from lutra_models.advice import Record
from lutra_models.gp.space.encoding import Array
from lutra_models.gp.surrogate.posterior import GaussianProcess, Spread
from lutra_models.history import History

_WORSE, _WORSE_BY_CLIFF = 1.4, 1.9
_BETTER, _BETTER_BY_CLIFF = 1.1, 1.25
_NOISE = 1.3
_HEADROOM, _EARLY_HEADROOM = 0.04, 0.8
"""Relative to the best reading so far: the first, and the second over n^1.5, n being the configurations measured."""
_FEW_ROWS, _ENOUGH_ROWS = 2.0, 12.0
"""From fewer rows than the second, hyperparameters are a guess (as in Student's t): half again as wide from three."""
_FAILURES = 6.0
"""Failed trials after which cliffs are taken for granted (by 1 - 1/e)."""


def stretch(history: History) -> tuple[float, float]:
    """What the latent deviation is widened by on the bad side, and on the good one."""
    failures = sum(not o.completed for o in history.observations)
    cliff = 1.0 - math.exp(-failures / _FAILURES)
    return _WORSE + _WORSE_BY_CLIFF * cliff, _BETTER + _BETTER_BY_CLIFF * cliff


def calibrated(gp: GaussianProcess, history: History, good: float) -> GaussianProcess:
    """The posterior with the spread of its readings corrected; `good` is +1 where larger is better, else -1."""
    worse, better = stretch(history)
    few = 1.0 + _FEW_ROWS * max(0.0, 1.0 / len(gp.z) - 1.0 / _ENOUGH_ROWS)
    relative = _HEADROOM + _EARLY_HEADROOM / len(gp.z) ** 1.5
    headroom = relative / gp.transform.scale if gp.transform.log else math.inf
    return replace(gp, spread=Spread(good, few * worse, few * better, few**2 * _NOISE, headroom))


def record(gp: GaussianProcess, left_out: tuple[Array, Array], level: float = 0.9) -> Record:
    """How the corrected interval at `level` fares on rows left out one at a time: their means and variances (n,)."""
    mean, variance = left_out
    latent = np.maximum(variance - gp.noise * gp.share, 0.0)
    s, z = gp.spread, NormalDist().inv_cdf(0.5 + level / 2.0)
    off = s.good * (gp.z - mean)
    side = np.where(off < 0, s.worse, s.better)
    held = np.abs(off) <= z * np.sqrt(s.noise * gp.noise * gp.share + side**2 * latent)
    return Record(len(gp.z), int(np.sum(held)))

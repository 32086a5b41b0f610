"""Are the intervals true? What a posterior's interval of a reading has to be widened by, and how often it held.

A Gaussian process at its hyperparameters' mode is too sure of itself away from the data, and the data of a search lie
where readings are good: leaving one out does not show it. The errors have a shape that tables of measured
configurations share: the bad side is longer than the good one, longer still where some configurations do not run at
all (what stands near a cliff often falls), and of the objective, nothing is much better than the best that a search has
found. The defaults were set so that nine of ten readings lie inside: on four tables of measurements of two engines, and
the noise's on readings of real servers. There two readings of one configuration mostly differ by little and at times by
much: nine of ten lie within what a deviation of 14 to 16 % would give, where a model fits 5 to 7 %.
"""

from __future__ import annotations

import math
from dataclasses import replace
from statistics import NormalDist

import numpy as np

from lutra_models.advice import Record
from lutra_models.gp.options import DEFAULT, Calibration
from lutra_models.gp.space.encoding import Array
from lutra_models.gp.surrogate.posterior import GaussianProcess, Spread
from lutra_models.history import History


def stretch(history: History, options: Calibration) -> tuple[float, float]:
    """What the latent deviation is widened by on the bad side, and on the good one."""
    failures = sum(not o.completed for o in history.observations)
    cliff = 1.0 - math.exp(-failures / options.failures)
    return options.worse + options.worse_by_cliff * cliff, options.better + options.better_by_cliff * cliff


def calibrated(
    gp: GaussianProcess, history: History, good: float, searched: bool, options: Calibration = DEFAULT.calibration
) -> GaussianProcess:
    """The posterior with the spread of its readings corrected; `good` is +1 where larger is better, else -1.

    `searched`: the readings are the objective's, of which the search has found the best so far.
    """
    worse, better = stretch(history, options)
    few = 1.0 + options.few_rows * max(0.0, 1.0 / gp.read - 1.0 / options.enough_rows)
    relative = options.headroom + options.early_headroom / gp.read**1.5
    headroom = relative / gp.transform.scale if searched and gp.transform.log else math.inf
    return replace(gp, spread=Spread(good, few * worse, few * better, few**2 * options.noise, headroom))


def record(gp: GaussianProcess, left_out: tuple[Array, Array], level: float = 0.9) -> Record:
    """How the corrected interval at `level` fares on rows left out one at a time: their means and variances (n,)."""
    mean, variance = left_out
    noise = gp.noise * gp.share[: gp.read]
    latent = np.maximum(variance - noise, 0.0)
    s, z = gp.spread, NormalDist().inv_cdf(0.5 + level / 2.0)
    off = s.good * (gp.z[: gp.read] - mean)
    side = np.where(off < 0, s.worse, s.better)
    held = np.abs(off) <= z * np.sqrt(s.noise * noise + side**2 * latent)
    return Record(gp.read, int(np.sum(held)))

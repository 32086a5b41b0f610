"""The calibration of intervals: the factor by which a posterior's interval of a reading has to be widened, and how
often it contained the reading.

A Gaussian process at its hyperparameters' mode is overconfident away from the data. The errors have a shape that tables
of measured configurations share: the bad side is longer than the good one, and longer still if some configurations do
not run at all. For the objective, no reading is much better than the best that a search has found. These widths suit
noisy servers, on which two readings of one configuration mostly differ by little and at times by much. Nine of ten lie
within the interval of a deviation of 14 to 16 %, while a model fits 5 to 7 %.

The workload's own readings show how noisy and how rugged it is. Each is predicted by a model that was fitted without
it, after jackknife+ (Barber, Candès, Ramdas and Tibshirani, Annals of Statistics 2021). Its hyperparameters must not
know the reading either: the mode of few readings explains these too well. The errors are compared with the intervals of
the posterior of all readings, and one factor scales the whole interval so that it contains nine of ten. A handful of
readings changes it little. `python -m benchmarks tuning calibration` shows what the intervals hold, from readings
without noise to heavy tails.
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

LEVEL = 0.9
"""The level at which the widths are set; others follow by a Gaussian's quantiles."""


def stretch(history: History, options: Calibration) -> tuple[float, float]:
    """The factors of the latent deviation, on the bad side and on the good one."""
    failures = sum(not o.completed for o in history.observations)
    cliff = 1.0 - math.exp(-failures / options.failures)
    return options.worse + options.worse_by_cliff * cliff, options.better + options.better_by_cliff * cliff


def calibrated(
    gp: GaussianProcess,
    history: History,
    good: float,
    searched: bool,
    predicted: Array,
    options: Calibration = DEFAULT.calibration,
) -> GaussianProcess:
    """The posterior with the spread of its readings corrected; `good` is +1 if larger is better, else -1.

    `searched`: the readings are the objective's, of which the search has found the best so far. `predicted` (n,) is the
    mean of each reading's target by a model that was fitted without it.
    """
    worse, better = stretch(history, options)
    relative = options.headroom + options.early_headroom / gp.read**1.5
    headroom = relative / gp.transform.scale if searched and gp.transform.log else math.inf
    usual = replace(gp, spread=Spread(good, worse, better, options.noise, headroom))
    few = 1.0 + options.few_rows * max(0.0, 1.0 / gp.read - 1.0 / options.enough_rows)
    return replace(gp, spread=usual.spread.scaled(few * own_scale(usual, predicted, options)))


def own_scale(gp: GaussianProcess, predicted: Array, options: Calibration = DEFAULT.calibration) -> float:
    """The factor by which the errors of what was `predicted` (n,) multiply the posterior's corrected deviations."""
    n = gp.read
    errors = _off(gp, predicted, gp.left_out()[1])
    widths = np.quantile(errors, min(1.0, LEVEL * (1.0 + 1.0 / n))) / _deviations(LEVEL)
    return float(np.sqrt((options.own_readings + n * widths**2) / (options.own_readings + n)))


def record(gp: GaussianProcess, left_out: tuple[Array, Array], level: float = LEVEL) -> Record:
    """The accuracy of the corrected interval at `level` on rows left out one at a time: their means and variances (n,).

    The same rows scaled the interval: if many fall outside, the model does not suit them.
    """
    return Record(gp.read, int(np.sum(_off(gp, *left_out) <= _deviations(level))))


def _off(gp: GaussianProcess, mean: Array, variance: Array) -> Array:
    """(n,) by how many corrected deviations of its side each reading is off its mean, for these variances (n,)."""
    noise = gp.noise * gp.share[: gp.read]
    off, s = gp.spread.good * (gp.z[: gp.read] - mean), gp.spread
    side = np.where(off < 0, s.worse, s.better)
    return np.asarray(np.abs(off) / np.sqrt(s.noise * noise + side**2 * np.maximum(variance - noise, 0.0)))


def _deviations(level: float) -> float:
    return NormalDist().inv_cdf(0.5 + level / 2.0)

"""The information of a bound for a posterior: a reading there would have been at most, or at least, this value.

The likelihood of the latent target f under a reading's bound is Φ((bound - f) / noise), which is not Gaussian.
Expectation propagation finds, for each bound, the Gaussian row that moves the posterior of f to the mean and variance
that this likelihood gives it next to all the others (Minka, UAI 2001; Rasmussen & Williams, section 3.6). A bound far
above the prediction contains no information and gives no row; a bound below it pulls the mean under it, with a noise
that shows how little it knows. Such rows also contribute to the hyperparameters, once: if only good configurations were
read to the end, readings alone would suggest that none is bad. After that the rows are computed again. Shapes: n rows
of the posterior, b bounds, d features, p trends.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from scipy.special import log_ndtr

from lutra_models.errors import FitFailed
from lutra_models.gp.space.encoding import Array
from lutra_models.gp.surrogate.base import posterior_at
from lutra_models.gp.surrogate.dataset import Readings
from lutra_models.gp.surrogate.posterior import JITTER, GaussianProcess

SWEEPS = 60
_ENOUGH = 1e-8
"""The change of a mean, in standard units, below which the sweeps end."""
_HALF = 0.5
"""All rows move at once, and each only so far: neighbours with the same information must not count twice."""
_SILENT = 1e-4
"""A row whose precision is less than this share of the prior's carries no information."""


def fit_within(
    fit: Callable[[Readings], GaussianProcess], readings: Readings, x: Array, good: float
) -> GaussianProcess:
    """The fit of the readings, and of their bounds at (b, d + p). Raises FitFailed."""
    try:
        gp = within_bounds(fit(readings), x, readings.bounds, good)
        if not gp.imagined:
            return gp
        again = fit(_with_rows(readings, gp))
        alone = posterior_at(readings, again.covariance, again.noise)
        return within_bounds(alone, x, readings.bounds, good)
    except np.linalg.LinAlgError as e:
        raise FitFailed(
            f"{len(readings.bounds)} bounds beside {len(readings.z)} readings do not have a posterior: {e}"
        ) from e


def _with_rows(readings: Readings, gp: GaussianProcess) -> Readings:
    """The readings, and the posterior's rows for bounds as if each were a part of a reading."""
    x = gp.x[gp.read :]
    return replace(
        readings,
        x=np.vstack([readings.x, x[:, : gp.d]]),
        z=np.concatenate([readings.z, gp.z[gp.read :]]),
        repeats=np.concatenate([readings.repeats, 1.0 / gp.share[gp.read :]]),
        trends=np.vstack([readings.trends, x[:, gp.d :]]),
    )


def within_bounds(gp: GaussianProcess, x: Array, bounds: Array, good: float) -> GaussianProcess:
    """The posterior with the bounds (b,) of readings at (b, d + p), both in standard units.

    `good` is +1 if a reading would have been at most its bound, else -1.
    """
    if not len(bounds):
        return gp
    mean, covariance = gp.joint(x)
    precision, pull = _sites(good * mean, covariance + JITTER * np.eye(len(x)), good * bounds, gp.noise)
    telling = precision > _SILENT / gp.variance
    z = good * pull[telling] / precision[telling]
    return replace(
        gp,
        x=np.vstack([gp.x, x[telling]]),
        z=np.concatenate([gp.z, z]),
        share=np.concatenate([gp.share, 1.0 / (precision[telling] * gp.noise)]),
        imagined=gp.imagined + int(np.sum(telling)),
    )


def _sites(prior: Array, covariance: Array, bounds: Array, noise: float) -> tuple[Array, Array]:
    """(b,) precisions of the rows, and these times their targets, where N(prior, covariance) lies below the bounds."""
    precision, pull = np.zeros(len(bounds)), np.zeros(len(bounds))
    mean, variance = prior, np.diag(covariance)
    identity = np.eye(len(bounds))
    for _ in range(SWEEPS):
        alone = 1.0 / np.maximum(1.0 / variance - precision, 1e-10)
        centre = alone * (mean / variance - pull)
        wanted, pulled = _row(centre, alone, bounds, noise)
        precision = precision + _HALF * (wanted - precision)
        pull = pull + _HALF * (pulled - pull)
        gain = np.linalg.solve(identity + covariance * precision, covariance)
        before, mean = mean, prior + gain @ (pull - precision * prior)
        variance = np.maximum(np.diag(gain), 1e-12)
        if float(np.max(np.abs(mean - before))) < _ENOUGH:
            break
    return precision, pull


def _row(centre: Array, variance: Array, bounds: Array, noise: float) -> tuple[Array, Array]:
    """What each likelihood alone makes of N(centre, variance): the row (precision, pull) of the Gaussian it becomes."""
    spread = variance + noise
    room = (bounds - centre) / np.sqrt(spread)
    hazard = np.exp(-0.5 * room * room - 0.5 * np.log(2.0 * np.pi) - log_ndtr(room))
    moved = centre - variance * hazard / np.sqrt(spread)
    left = np.maximum(variance - variance**2 * hazard * (room + hazard) / spread, 1e-12)
    precision = np.maximum(1.0 / left - 1.0 / variance, 0.0)
    return precision, moved * (precision + 1.0 / variance) - centre / variance

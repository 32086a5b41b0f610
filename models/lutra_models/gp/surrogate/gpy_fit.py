"""Gaussian-process surrogates. The only module that imports GPy.

Shapes: n distinct configurations, d features, p trends.

Length-scales get the prior that grows with the dimension of Hvarfner, Hellsten and Nardi (ICML 2024). The noise prior
says what readings of databases are like: they repeat within some 2 to 10 %; repeats of one configuration sharpen it.
"""

from __future__ import annotations

import math
import threading
import warnings
from dataclasses import dataclass
from typing import Any

import GPy
import numpy as np
from GPy.inference.latent_function_inference import ExactGaussianInference
from GPy.likelihoods import Gaussian
from paramz.domains import _POSITIVE
from paramz.transformations import Exponent

from lutra_models.errors import FitFailed
from lutra_models.gp.space.encoding import Array
from lutra_models.gp.surrogate.dataset import Readings
from lutra_models.gp.surrogate.map_estimate import LogNormal, Problem, find_mode
from lutra_models.gp.surrogate.posterior import GaussianProcess


@dataclass(frozen=True)
class Belief:
    """The prior of each length-scale, relative to that of Hvarfner et al.: its median times e^`shift`."""

    shift: float
    sigma: float


BROAD = Belief(0.0, math.sqrt(3.0))
"""For searching: a knob matters little until the data say otherwise."""
WARY = Belief(-2.0, 0.7)
"""For predicting: what was measured says little about what was not, until the data say otherwise."""

_GPY = threading.Lock()
"""GPy keeps parts of its state per process; one fit at a time."""
_STEPS, _LAST_STEPS = 60, 3
_VARIANCE = LogNormal(0.0, 0.5)
_NOISE_SIGMA = 1.2


class _SharedNoise(Gaussian):  # type: ignore[misc]
    """Gaussian noise of one reading, of which each row carries its share."""

    def __init__(self, share: Array, variance: float) -> None:
        super().__init__(variance=variance)
        self.share = share

    def gaussian_variance(self, Y_metadata: Any = None) -> Array:
        return np.asarray(self.variance * self.share)

    def exact_inference_gradients(self, dL_dKdiag: Array, Y_metadata: Any = None) -> float:
        return float(np.sum(dL_dKdiag * self.share))


class _Prior:
    """A log-normal prior as GPy wants it, with what repeated readings say (`scatter`, `freedom`) multiplied in."""

    domain = _POSITIVE

    def __init__(self, prior: LogNormal, scatter: float = 0.0, freedom: int = 0) -> None:
        self.mu, self.sigma, self.scatter, self.freedom = prior.mu, prior.sigma, scatter, freedom

    def lnpdf(self, x: Array) -> Array:
        normal = -0.5 * ((np.log(x) - self.mu) / self.sigma) ** 2 - np.log(x)
        return np.asarray(normal - 0.5 * self.freedom * np.log(x) - 0.5 * self.scatter / x)

    def lnpdf_grad(self, x: Array) -> Array:
        normal = -(np.log(x) - self.mu) / (self.sigma**2 * x) - 1.0 / x
        return np.asarray(normal - 0.5 * self.freedom / x + 0.5 * self.scatter / x**2)


def fit_gp(readings: Readings, belief: Belief = BROAD) -> GaussianProcess:
    """The posterior at the hyperparameters' mode. Raises FitFailed where the numbers admit none."""
    if not (np.all(np.isfinite(readings.x)) and np.all(np.isfinite(readings.z))):
        raise FitFailed("the observations hold numbers that are not finite")
    problem = _problem(readings, belief)
    try:
        with np.errstate(all="ignore"):
            found = find_mode(problem, _STEPS)
        with _GPY, warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            model = gpy_model(readings, problem, found)
            model.optimize("lbfgs", max_iters=_LAST_STEPS, messages=False)
            return _posterior(model, readings)
    except (np.linalg.LinAlgError, FloatingPointError, ValueError) as e:
        raise FitFailed(f"no Gaussian process could be fitted to {len(readings.z)} rows: {e}") from e


def gpy_model(readings: Readings, problem: Problem, point: Array) -> Any:
    """GPy's model with its hyperparameters at the point (d + 2,) of logarithms."""
    d, p = readings.x.shape[1], readings.trends.shape[1]
    scales, variance, noise_variance = np.exp(point[:d]), math.exp(point[d]), math.exp(point[d + 1])
    kernel = GPy.kern.Matern52(d, variance=variance, lengthscale=scales, ARD=True, active_dims=range(d))
    if p:
        kernel = kernel + GPy.kern.Linear(p, variances=readings.doubts**2, ARD=True, active_dims=range(d, d + p))
    noise = _SharedNoise(problem.share, noise_variance)
    x = np.hstack([readings.x, readings.trends])
    model = GPy.core.GP(x, problem.z[:, None], kernel, noise, inference_method=ExactGaussianInference())
    matern = model.kern.parts[0] if p else model.kern
    if p:
        model.kern.parts[1].fix(warning=False)
    matern.lengthscale.set_prior(_Prior(problem.lengthscale), warning=False)
    matern.variance.set_prior(_Prior(problem.variance), warning=False)
    noise.variance.set_prior(_Prior(problem.noise, problem.scatter, problem.freedom), warning=False)
    for parameter in (matern.lengthscale, matern.variance, noise.variance):
        parameter.constrain(Exponent(), warning=False)
    return model


def _problem(readings: Readings, belief: Belief) -> Problem:
    d = readings.x.shape[1]
    return Problem(
        readings.x,
        readings.z - readings.trends @ readings.slopes,
        1.0 / readings.repeats,
        LogNormal(math.sqrt(2.0) + 0.5 * math.log(d) + belief.shift, belief.sigma),
        _VARIANCE,
        LogNormal(2.0 * math.log(readings.noise_guess), _NOISE_SIGMA),
        (readings.trends * readings.doubts**2) @ readings.trends.T,
        readings.scatter,
        readings.freedom,
    )


def _posterior(model: Any, readings: Readings) -> GaussianProcess:
    numbers = np.array(model.param_array)
    if not np.all(np.isfinite(numbers)):
        raise FitFailed(f"the fit ended at hyperparameters that are not finite: {numbers.tolist()}")
    matern = model.kern.parts[0] if readings.trends.shape[1] else model.kern
    return GaussianProcess(
        np.hstack([readings.x, readings.trends]),
        readings.z,
        1.0 / readings.repeats,
        np.array(matern.lengthscale, dtype=float),
        float(matern.variance[0]),
        float(model.likelihood.variance[0]),
        readings.transform,
        readings.slopes,
        readings.doubts,
    )

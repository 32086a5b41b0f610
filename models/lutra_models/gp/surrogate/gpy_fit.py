"""The surrogate that GPy fits. The only module that imports GPy.

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
from lutra_models.gp.options import Belief, Surrogates
from lutra_models.gp.space.encoding import Array
from lutra_models.gp.surrogate.base import posterior_at, verify
from lutra_models.gp.surrogate.dataset import Readings
from lutra_models.gp.surrogate.map_estimate import LogNormal, Problem, find_mode
from lutra_models.gp.surrogate.posterior import GaussianProcess

_GPY = threading.Lock()
"""GPy keeps parts of its state per process; one fit at a time."""


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


@dataclass(frozen=True)
class GPySurrogate:
    """Starts where plain numpy finds the mode, and gives GPy the last word."""

    name: str = "gpy"

    def fit(self, readings: Readings, belief: Belief, options: Surrogates) -> GaussianProcess:
        """The posterior at the hyperparameters' mode. Raises FitFailed where the numbers admit none."""
        verify(readings)
        thinned = readings.thinned(options.fitted_rows)
        problem = Problem.of(thinned, belief, options)
        try:
            with np.errstate(all="ignore"):
                found = find_mode(problem, options.steps)
            with _GPY, warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                model = gpy_model(thinned, problem, found)
                model.optimize("lbfgs", max_iters=options.last_steps, messages=False)
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


def _posterior(model: Any, readings: Readings) -> GaussianProcess:
    matern = model.kern.parts[0] if readings.trends.shape[1] else model.kern
    scales = np.array(matern.lengthscale, dtype=float)
    return posterior_at(readings, scales, float(matern.variance[0]), float(model.likelihood.variance[0]))


GPY = GPySurrogate()

"""The surrogate that GPy fits. The only module that imports GPy.

Shapes: n distinct configurations, d features, p trends.

Length-scales get the prior that grows with the dimension of Hvarfner, Hellsten and Nardi (ICML 2024). The noise prior
reflects readings of databases, which repeat within some 2 to 10 %; repeats of one configuration sharpen it.
"""

from __future__ import annotations

import math
import threading
import warnings
from dataclasses import dataclass
from typing import Any

import GPy
import numpy as np
from GPy.core.parameterization.param import Param
from GPy.inference.latent_function_inference import ExactGaussianInference
from GPy.likelihoods import Gaussian
from paramz.domains import _POSITIVE
from paramz.transformations import Exponent

from lutra_models.errors import FitFailed
from lutra_models.gp.kernels.covariance import Scaled
from lutra_models.gp.kernels.shapes import Kernel
from lutra_models.gp.options import Belief, Surrogates
from lutra_models.gp.space.encoding import Array
from lutra_models.gp.surrogate.base import posterior_at, verify
from lutra_models.gp.surrogate.dataset import Readings
from lutra_models.gp.surrogate.map_estimate import LogNormal, Problem, find_mode, squares_of
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


_KNOWN = {"matern52": GPy.kern.Matern52, "matern32": GPy.kern.Matern32, "rbf": GPy.kern.RBF}


class _Kernel(GPy.kern.Kern):  # type: ignore[misc]
    """A kernel that GPy does not know, over the first features of its inputs."""

    def __init__(self, kernel: Kernel, variance: float, lengthscale: Array) -> None:
        super().__init__(len(lengthscale), range(len(lengthscale)), kernel.name)
        self.kernel = kernel
        self.variance, self.lengthscale = Param("variance", variance), Param("lengthscale", lengthscale)
        self.link_parameters(self.variance, self.lengthscale)

    def K(self, X: Array, X2: Array | None = None) -> Array:  # noqa: N802
        scales = np.asarray(self.lengthscale)
        return float(self.variance[0]) * self.kernel.correlations(X / scales, (X if X2 is None else X2) / scales)

    def Kdiag(self, X: Array) -> Array:  # noqa: N802
        return np.full(len(X), float(self.variance[0]))

    def update_gradients_full(self, dL_dK: Array, X: Array, X2: Array | None = None) -> None:
        scales, weights = np.asarray(self.lengthscale), dL_dK.ravel()
        values, by_scale = self.kernel.terms(squares_of(np.asarray(X)), scales**-2.0)
        self.variance.gradient = float(weights @ values)
        self.lengthscale.gradient = float(self.variance[0]) * by_scale(weights) / scales


@dataclass(frozen=True)
class GPySurrogate:
    """Starts at the mode that plain numpy finds, and lets GPy refine it."""

    name: str = "gpy"

    def fit(self, readings: Readings, belief: Belief, options: Surrogates) -> GaussianProcess:
        """The posterior at the hyperparameters' mode. Raises FitFailed if the numbers admit none."""
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
                return _posterior(model, problem, readings)
        except (np.linalg.LinAlgError, FloatingPointError, ValueError) as e:
            raise FitFailed(f"no Gaussian process could be fitted to {len(readings.z)} rows: {e}") from e


def gpy_model(readings: Readings, problem: Problem, point: Array) -> Any:
    """GPy's model with its hyperparameters at the point (d + 2,) of logarithms."""
    d, p = readings.x.shape[1], readings.trends.shape[1]
    scales, variance, noise_variance = np.exp(point[:d]), math.exp(point[d]), math.exp(point[d + 1])
    kernel = _kernel(problem, variance, scales)
    if p:
        kernel = kernel + GPy.kern.Linear(p, variances=readings.doubts**2, ARD=True, active_dims=range(d, d + p))
    noise = _SharedNoise(problem.share, noise_variance)
    x = np.hstack([readings.x, readings.trends])
    model = GPy.core.GP(x, problem.z[:, None], kernel, noise, inference_method=ExactGaussianInference())
    near = _near(model, p)
    if p:
        model.kern.parts[1].fix(warning=False)
    near.lengthscale.set_prior(_Prior(problem.lengthscale), warning=False)
    near.variance.set_prior(_Prior(problem.variance), warning=False)
    noise.variance.set_prior(_Prior(problem.noise, problem.scatter, problem.freedom), warning=False)
    for parameter in (near.lengthscale, near.variance, noise.variance):
        parameter.constrain(Exponent(), warning=False)
    return model


def _kernel(problem: Problem, variance: float, scales: Array) -> Any:
    d = problem.x.shape[1]
    known = _KNOWN.get(problem.kernel.name)
    if known is not None:
        return known(d, variance=variance, lengthscale=scales, ARD=True, active_dims=range(d))
    return _Kernel(problem.kernel, variance, scales)


def _near(model: Any, trends: int) -> Any:
    """The model's own copy of the kernel: GPy copies the parts of a sum."""
    return model.kern.parts[0] if trends else model.kern


def _posterior(model: Any, problem: Problem, readings: Readings) -> GaussianProcess:
    near = _near(model, readings.trends.shape[1])
    covariance = Scaled(problem.kernel, np.array(near.lengthscale, dtype=float), float(near.variance[0]))
    return posterior_at(readings, covariance, float(model.likelihood.variance[0]))


GPY = GPySurrogate()

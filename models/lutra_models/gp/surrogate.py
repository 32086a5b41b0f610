"""Gaussian-process surrogates. The only module that imports GPy.

Shapes: n distinct configurations, d features.

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

from lutra_models.errors import FitFailed
from lutra_models.gp.encoding import Array
from lutra_models.gp.snapshot import GaussianProcess
from lutra_models.gp.transforms import Transform

_GPY = threading.Lock()
"""GPy keeps parts of its state per process; one fit at a time."""
_STEPS = 60


@dataclass(frozen=True, eq=False)
class Readings:
    """One metric's readings, aggregated per configuration, in standard units.

    `repeats` (n,) counts each row's readings; `scatter` is the sum of squares of the readings around their rows' means
    and `freedom` its degrees of freedom.
    """

    x: Array
    z: Array
    repeats: Array
    scatter: float
    freedom: int
    transform: Transform
    noise_guess: float
    """Median of the prior of the noise's standard deviation, in standard units."""


class _SharedNoise(Gaussian):  # type: ignore[misc]
    """Gaussian noise of one reading, of which each row carries its share."""

    def __init__(self, share: Array, variance: float) -> None:
        super().__init__(variance=variance)
        self.share = share

    def gaussian_variance(self, Y_metadata: Any = None) -> Array:
        return np.asarray(self.variance * self.share)

    def exact_inference_gradients(self, dL_dKdiag: Array, Y_metadata: Any = None) -> float:
        return float(np.sum(dL_dKdiag * self.share))


class _LogNormal:
    """A prior on a positive parameter, with what repeated readings say of it (`scatter`, `freedom`) multiplied in."""

    domain = _POSITIVE

    def __init__(self, mu: float, sigma: float, scatter: float = 0.0, freedom: int = 0) -> None:
        self.mu, self.sigma, self.scatter, self.freedom = mu, sigma, scatter, freedom

    def lnpdf(self, x: Array) -> Array:
        normal = -0.5 * ((np.log(x) - self.mu) / self.sigma) ** 2
        return np.asarray(normal - 0.5 * self.freedom * np.log(x) - 0.5 * self.scatter / x)

    def lnpdf_grad(self, x: Array) -> Array:
        normal = -(np.log(x) - self.mu) / (self.sigma**2 * x)
        return np.asarray(normal - 0.5 * self.freedom / x + 0.5 * self.scatter / x**2)


def fit_gp(readings: Readings, steps: int = _STEPS) -> GaussianProcess:
    """The posterior at the hyperparameters' mode. Raises FitFailed where the numbers admit none."""
    if not (np.all(np.isfinite(readings.x)) and np.all(np.isfinite(readings.z))):
        raise FitFailed("the observations hold numbers that are not finite")
    with _GPY, warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            return _posterior(_optimised(readings, steps), readings)
        except (np.linalg.LinAlgError, FloatingPointError, ValueError) as e:
            raise FitFailed(f"no Gaussian process could be fitted to {len(readings.z)} rows: {e}") from e


def _optimised(readings: Readings, steps: int) -> Any:
    d = readings.x.shape[1]
    scale = math.sqrt(2.0) + 0.5 * math.log(d)
    guess = 2.0 * math.log(readings.noise_guess)
    kernel = GPy.kern.Matern52(d, variance=1.0, lengthscale=np.full(d, math.exp(scale) / 2.0), ARD=True)
    share = 1.0 / readings.repeats
    noise = _SharedNoise(share, math.exp(guess))
    model = GPy.core.GP(readings.x, readings.z[:, None], kernel, noise, inference_method=ExactGaussianInference())
    kernel.lengthscale.set_prior(_LogNormal(scale, math.sqrt(3.0)), warning=False)
    kernel.variance.set_prior(_LogNormal(0.0, 0.5), warning=False)
    noise.variance.set_prior(_LogNormal(guess, 1.2, readings.scatter, readings.freedom), warning=False)
    model.optimize("lbfgs", max_iters=steps, messages=False)
    return model


def _posterior(model: Any, readings: Readings) -> GaussianProcess:
    numbers = np.array(model.param_array)
    if not np.all(np.isfinite(numbers)):
        raise FitFailed(f"the fit ended at hyperparameters that are not finite: {numbers.tolist()}")
    return GaussianProcess(
        readings.x,
        readings.z,
        1.0 / readings.repeats,
        np.array(model.kern.lengthscale, dtype=float),
        float(model.kern.variance[0]),
        float(model.likelihood.variance[0]),
        readings.transform,
    )

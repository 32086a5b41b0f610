"""The interface of surrogates: the protocol, and the parts that every implementation shares.

Shapes: n distinct configurations, d features.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from lutra_models.errors import FitFailed
from lutra_models.gp.kernels.covariance import Covariance, Scaled
from lutra_models.gp.options import Belief, Surrogates
from lutra_models.gp.surrogate.dataset import Readings
from lutra_models.gp.surrogate.posterior import GaussianProcess


class Surrogate(Protocol):
    """Fits a Gaussian process. A value without state: the same readings give the same bits, from any thread.

    An implementation is in `table.SURROGATES`, or an installed package adds it (`lutra_models.extensions`); it passes
    `gp.conformance.SurrogateConformance`.
    """

    @property
    def name(self) -> str: ...

    def fit(self, readings: Readings, belief: Belief, options: Surrogates) -> GaussianProcess:
        """The posterior of the readings' targets. Raises FitFailed if the numbers admit none."""


def verify(readings: Readings) -> None:
    if not (np.all(np.isfinite(readings.x)) and np.all(np.isfinite(readings.z))):
        raise FitFailed("the observations hold numbers that are not finite")


def posterior_at(readings: Readings, covariance: Covariance, noise: float) -> GaussianProcess:
    """The posterior with this covariance of features, and this variance of one reading's noise.

    Raises FitFailed if a length-scale or a variance is not finite.
    """
    scales = covariance.lengthscales.tolist() if isinstance(covariance, Scaled) else []
    numbers = [*scales, covariance.variance, noise]
    if not np.all(np.isfinite(numbers)):
        raise FitFailed(f"the fit ended at hyperparameters that are not finite: {numbers}")
    return GaussianProcess(
        np.hstack([readings.x, readings.trends]),
        readings.z,
        1.0 / readings.repeats,
        covariance,
        noise,
        readings.transform,
        readings.slopes,
        readings.doubts,
        readings.noise_factors,
    )

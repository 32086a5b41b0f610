"""A package of somebody else's: a surrogate and an acquisition of its own, and a surrogate that keeps nothing."""

from __future__ import annotations

from dataclasses import replace

from lutra_models.errors import FitFailed
from lutra_models.gp.options import Belief, Surrogates
from lutra_models.gp.space.encoding import Array
from lutra_models.gp.surrogate.dataset import Readings
from lutra_models.gp.surrogate.numpy_fit import NUMPY
from lutra_models.gp.surrogate.posterior import GaussianProcess


class RougherKernel:
    """Believes that settings matter over shorter ranges than the options say."""

    name = "toygp"

    def fit(self, readings: Readings, belief: Belief, options: Surrogates) -> GaussianProcess:
        return NUMPY.fit(readings, replace(belief, shift=belief.shift - 0.3), options)


class UpperBound:
    """What two deviations above the mean would be worth."""

    name = "toygp_bound"

    def score(self, mean: Array, deviation: Array, best: float) -> Array:
        bound: Array = mean + 2.0 * deviation - best
        return bound


class Broken:
    """Forgets the past workloads, and refuses few rows."""

    name = "toygp_broken"

    def fit(self, readings: Readings, belief: Belief, options: Surrogates) -> GaussianProcess:
        if len(readings.z) < 3:
            raise FitFailed("too few rows")
        gp = NUMPY.fit(readings, belief, options)
        return replace(gp, slopes=0.0 * gp.slopes, doubts=0.0 * gp.doubts + 1e-9)

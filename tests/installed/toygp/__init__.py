"""A package of somebody else's: a kernel, a forest, a surrogate and an acquisition, and one that keeps nothing."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from lutra_models.errors import FitFailed
from lutra_models.gp.kernels.covariance import Forest, Tree
from lutra_models.gp.kernels.shapes import Mixture
from lutra_models.gp.options import Belief, Surrogates
from lutra_models.gp.space.encoding import Array
from lutra_models.gp.surrogate.base import posterior_at, verify
from lutra_models.gp.surrogate.dataset import Readings
from lutra_models.gp.surrogate.numpy_fit import NUMPY
from lutra_models.gp.surrogate.posterior import GaussianProcess
from sklearn.ensemble import ExtraTreesRegressor


class RougherKernel:
    """Believes that settings matter over shorter ranges than the options say."""

    name = "toygp"

    def fit(self, readings: Readings, belief: Belief, options: Surrogates) -> GaussianProcess:
        return NUMPY.fit(readings, replace(belief, shift=belief.shift - 0.3), options)


TWO_RANGES = Mixture.named("toygp_ranges", weights=(0.7, 0.3), rates=(1.0, 9.0))
"""A kernel of its own: of a long range and a short one."""


class TheirForest:
    """Another library's trees behind Lutra's protocol."""

    name = "toygp_forest"

    def fit(self, readings: Readings, belief: Belief, options: Surrogates) -> GaussianProcess:
        verify(readings)
        grown = ExtraTreesRegressor(50, min_samples_leaf=2, random_state=0).fit(readings.x, readings.z)
        trees = [
            Tree(np.maximum(t.feature, -1), t.threshold, t.children_left, t.children_right)
            for t in (one.tree_ for one in grown.estimators_)
        ]
        noise = float(np.mean((readings.z - grown.predict(readings.x)) ** 2)) + 1e-3
        return posterior_at(readings, Forest(trees, readings.x.shape[1], 1.0), noise)


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

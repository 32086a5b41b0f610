"""One target's posterior as plain numbers, and its predictions with numpy alone.

Shapes: n distinct configurations, d features, p trends, m query points.

The covariance is that of the features (`kernels`), plus a linear one over trends (columns with the predictions of other
workloads' posteriors). Noise is that of one reading; a row of r readings has a share 1/r of it. Posterior: Rasmussen &
Williams, Gaussian Processes for Machine Learning, algorithm 2.1.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from statistics import NormalDist
from typing import Any

import numpy as np

from lutra_models.gp.kernels.covariance import Covariance, covariance_from_dict
from lutra_models.gp.space.encoding import Array
from lutra_models.gp.surrogate.transforms import Transform

JITTER = 1e-8
_NONE = np.zeros(0)


@dataclass(frozen=True)
class Spread:
    """The factors by which the interval of a reading is wider than the posterior's; see `calibration`.

    `good` is +1 if a larger reading is better, else -1. `worse` and `better` scale the latent deviation on that
    side, `noise` the noise's variance; nothing is expected more than `headroom` (standard units) above the best row.
    """

    good: float = 1.0
    worse: float = 1.0
    better: float = 1.0
    noise: float = 1.0
    headroom: float = math.inf

    def scaled(self, factor: float) -> Spread:
        """The same with deviations multiplied by this factor."""
        return replace(self, worse=factor * self.worse, better=factor * self.better, noise=factor**2 * self.noise)


@dataclass(frozen=True, eq=False)
class GaussianProcess:
    """One target's posterior."""

    x: Array
    """(n, d + p) features, then trends."""
    z: Array
    """(n,) targets in standard units."""
    share: Array
    """(n,) each row's share of one reading's noise."""
    covariance: Covariance
    """Of the features."""
    noise: float
    transform: Transform
    slopes: Array = field(default_factory=lambda: _NONE)
    """(p,) the prior mean of each trend's coefficient."""
    doubts: Array = field(default_factory=lambda: _NONE)
    """(p,) its prior deviation."""
    noise_factors: Array = field(default_factory=lambda: _NONE)
    """(≤ n,) of the first rows, the additional scatter of a reading there, in multiples of the noise's variance."""
    spread: Spread = Spread()
    imagined: int = 0
    """The number of the last rows that are not readings: bounds, or configurations that are yet to be measured."""
    factor: Array = field(init=False)
    """(n, n) inverse of the lower Cholesky factor of K + noise."""
    weights: Array = field(init=False)
    """(n,) (K + noise)⁻¹ (z - prior mean)."""

    def __post_init__(self) -> None:
        k = self.kernel(self.x, self.x) + np.diag(self.noise * self.share + JITTER)
        factor = np.linalg.inv(np.linalg.cholesky(k))
        object.__setattr__(self, "factor", factor)
        object.__setattr__(self, "weights", factor.T @ (factor @ (self.z - self.prior_mean(self.x))))

    @property
    def d(self) -> int:
        return self.covariance.d

    @property
    def variance(self) -> float:
        """The prior's, trends left out."""
        return self.covariance.variance

    @property
    def read(self) -> int:
        """The number of the first rows that are readings."""
        return len(self.z) - self.imagined

    def prior_mean(self, x: Array) -> Array:
        """(m,) at (m, d + p)."""
        return np.asarray(x[:, self.d :] @ self.slopes)

    def kernel(self, one: Array, two: Array) -> Array:
        """Covariances (len(one), len(two))."""
        near = self.covariance(one[:, : self.d], two[:, : self.d])
        if not len(self.slopes):
            return near
        return np.asarray(near + (one[:, self.d :] * self.doubts**2) @ two[:, self.d :].T)

    def prior_variance(self, x: Array) -> Array:
        """(m,) at (m, d + p)."""
        return np.asarray(self.variance + (x[:, self.d :] ** 2) @ (self.doubts**2))

    def latent(self, x: Array) -> tuple[Array, Array]:
        """Mean and variance (m,) of the noiseless target at (m, d + p), in standard units."""
        k = self.kernel(x, self.x)
        half = k @ self.factor.T
        variance = np.maximum(self.prior_variance(x) - np.sum(half * half, 1), 1e-12)
        return self.prior_mean(x) + k @ self.weights, variance

    def ignorance(self, x: Array) -> Array:
        """(m,) at (m, d + p): the share of the prior's variance that the rows leave, 1 if they carry no information."""
        return np.asarray(self.latent(x)[1] / self.prior_variance(x))

    def joint(self, x: Array) -> tuple[Array, Array]:
        """Mean (m,) and covariance (m, m) of the noiseless target at (m, d + p), in standard units."""
        k = self.kernel(x, self.x)
        half = k @ self.factor.T
        return self.prior_mean(x) + k @ self.weights, self.kernel(x, x) - half @ half.T

    def against(self, x: Array, reference: Array) -> tuple[Array, Array]:
        """Mean and variance (m,) of the noiseless target at (m, d + p) less that at `reference` (1, d + p)."""
        half, ref = self.kernel(x, self.x) @ self.factor.T, self.kernel(reference, self.x) @ self.factor.T
        shared = self.kernel(x, reference)[:, 0] - half @ ref[0]
        own = self.prior_variance(x) - np.sum(half * half, 1)
        variance = own + float(self.prior_variance(reference)[0] - np.sum(ref * ref)) - 2.0 * shared
        return self.latent(x)[0] - self.latent(reference)[0], np.maximum(variance, 1e-12)

    def left_out(self) -> tuple[Array, Array]:
        """Mean and variance (read,) of each reading's target had it been left out (Rasmussen & Williams, eq. 5.12)."""
        precision = np.sum(self.factor * self.factor, 0)
        return (self.z - self.weights / precision)[: self.read], (1.0 / precision)[: self.read]

    def noise_factors_at(self, x: Array) -> Array:
        """(m,) the `noise_factors` at (m, d + p): 1 if no such row was measured."""
        measured = self.x[: len(self.noise_factors), : self.d]
        same = np.all(x[:, None, : self.d] == measured[None, :, :], axis=2)
        return np.asarray(np.max(np.where(same, self.noise_factors, 1.0), axis=1, initial=1.0))

    def interval(self, mean: Array, variance: Array, level: float, more: float = 1.0) -> tuple[Array, Array, Array]:
        """Median, low and high (m,) of one reading, in the metric's unit, for this distribution of the latent target.

        `more` is the multiple of the noise's variance there.
        """
        s, z = self.spread, NormalDist().inv_cdf(0.5 + level / 2.0)
        worse = z * np.sqrt(s.noise * more * self.noise + s.worse**2 * variance)
        better = z * np.sqrt(s.noise * more * self.noise + s.better**2 * variance)
        if math.isfinite(s.headroom):
            least = z * math.sqrt(min(s.noise, 1.0) * more * self.noise)
            ceiling = float(np.max(s.good * self.z[: self.read])) + least + s.headroom
            better = np.maximum(np.minimum(better, ceiling - s.good * mean), least)
        below, above = (worse, better) if s.good > 0 else (better, worse)
        back = self.transform.backward
        return back(mean), back(mean - below), back(mean + above)

    def to_dict(self) -> dict[str, Any]:
        names = ("x", "z", "share", "slopes", "doubts", "noise_factors")
        arrays = {n: getattr(self, n).tolist() for n in names}
        s = self.spread
        spread = [s.good, s.worse, s.better, s.noise, s.headroom if math.isfinite(s.headroom) else None]
        rest = {"noise": self.noise, "spread": spread, "imagined": self.imagined}
        return {**arrays, **rest, "covariance": self.covariance.to_dict(), "transform": self.transform.to_dict()}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> GaussianProcess:
        x, z, share, slopes, doubts, noise_factors = (
            np.array(data[n], dtype=float) for n in ("x", "z", "share", "slopes", "doubts", "noise_factors")
        )
        good, worse, better, more, headroom = data["spread"]
        spread = Spread(good, worse, better, more, math.inf if headroom is None else headroom)
        transform = Transform.from_dict(data["transform"])
        last = (transform, slopes, doubts, noise_factors, spread, int(data["imagined"]))
        return cls(x, z, share, covariance_from_dict(data["covariance"]), float(data["noise"]), *last)

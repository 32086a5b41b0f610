"""A fitted surrogate as plain numbers, and its predictions with numpy alone.

Shapes: n distinct configurations, d features, m query points.

The kernel is Matérn-5/2 with one length-scale per feature; noise is that of one reading, and a row that stands for r
readings has a share 1/r of it. Posterior: Rasmussen & Williams, Gaussian Processes for Machine Learning, algorithm 2.1.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import NormalDist
from typing import Any

import numpy as np

from lutra_models.advice import Prediction
from lutra_models.gp.encoding import Array, Encoding, knob_from_dict, knob_to_dict
from lutra_models.gp.transforms import Transform
from lutra_models.knobs import Value

JITTER = 1e-8
_FAR = 0.9
"""A prediction whose latent variance is above this share of the prior's rests on hardly any measurement."""


@dataclass(frozen=True, eq=False)
class GaussianProcess:
    """One target's posterior. `widen` scales the spread of predicted readings: it is what calibration found."""

    x: Array
    """(n, d) features."""
    z: Array
    """(n,) targets in standard units."""
    share: Array
    """(n,) each row's share of one reading's noise."""
    lengthscales: Array
    """(d,)"""
    variance: float
    noise: float
    transform: Transform
    mean: float = 0.0
    widen: float = 1.0
    factor: Array = field(init=False)
    """(n, n) inverse of the lower Cholesky factor of K + noise."""
    weights: Array = field(init=False)
    """(n,) (K + noise)⁻¹ (z - mean)."""

    def __post_init__(self) -> None:
        k = self.kernel(self.x, self.x) + np.diag(self.noise * self.share + JITTER)
        factor = np.linalg.inv(np.linalg.cholesky(k))
        object.__setattr__(self, "factor", factor)
        object.__setattr__(self, "weights", factor.T @ (factor @ (self.z - self.mean)))

    def kernel(self, a: Array, b: Array) -> Array:
        """Matérn-5/2 covariances (len(a), len(b))."""
        a, b = a / self.lengthscales, b / self.lengthscales
        square = np.sum(a * a, 1)[:, None] + np.sum(b * b, 1)[None, :] - 2.0 * (a @ b.T)
        r = np.sqrt(np.maximum(square, 0.0))
        return np.asarray(self.variance * (1.0 + math.sqrt(5.0) * r + 5.0 / 3.0 * r * r) * np.exp(-math.sqrt(5.0) * r))

    def latent(self, x: Array) -> tuple[Array, Array]:
        """Mean and variance (m,) of the noiseless target at (m, d) features, in standard units."""
        k = self.kernel(x, self.x)
        half = k @ self.factor.T
        return self.mean + k @ self.weights, np.maximum(self.variance - np.sum(half * half, 1), 1e-12)

    def joint(self, x: Array) -> tuple[Array, Array]:
        """Mean (m,) and covariance (m, m) of the noiseless target at (m, d) features, in standard units."""
        k = self.kernel(x, self.x)
        half = k @ self.factor.T
        return self.mean + k @ self.weights, self.kernel(x, x) - half @ half.T

    def left_out(self) -> tuple[Array, Array]:
        """Mean and variance (n,) of each row's own reading had it been left out (Rasmussen & Williams, eq. 5.12)."""
        precision = np.sum(self.factor * self.factor, 0)
        return self.z - self.weights / precision, 1.0 / precision

    def readings(self, x: Array, level: float) -> tuple[Array, Array, Array]:
        """Median, low and high (m,) of one reading at (m, d) features, in the metric's unit."""
        mean, variance = self.latent(x)
        half = NormalDist().inv_cdf(0.5 + level / 2.0) * self.widen * np.sqrt(variance + self.noise)
        back = self.transform.backward
        return back(mean), back(mean - half), back(mean + half)

    def to_dict(self) -> dict[str, Any]:
        return {
            "x": self.x.tolist(),
            "z": self.z.tolist(),
            "share": self.share.tolist(),
            "lengthscales": self.lengthscales.tolist(),
            "variance": self.variance,
            "noise": self.noise,
            "mean": self.mean,
            "widen": self.widen,
            "transform": self.transform.to_dict(),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> GaussianProcess:
        x, z, share, lengthscales = (np.array(data[n], dtype=float) for n in ("x", "z", "share", "lengthscales"))
        variance, noise, mean, widen = (float(data[n]) for n in ("variance", "noise", "mean", "widen"))
        transform = Transform.from_dict(data["transform"])
        return cls(x, z, share, lengthscales, variance, noise, transform, mean, widen)


@dataclass(frozen=True, eq=False)
class Snapshot:
    """What was learned about one workload: a posterior per metric over its knobs."""

    encoding: Encoding
    posteriors: Mapping[str, GaussianProcess]

    @property
    def metrics(self) -> tuple[str, ...]:
        return tuple(self.posteriors)

    def predict(self, configurations: Sequence[Mapping[str, Value]], level: float = 0.9) -> list[dict[str, Prediction]]:
        """Per configuration, a reading's distribution for each metric. Settings that are no knobs here are ignored."""
        if not 0 < level < 1:
            raise ValueError(f"level must be between 0 and 1, got {level}")
        if not configurations:
            return []
        x = self.encoding.encode(configurations)
        out: list[dict[str, Prediction]] = [{} for _ in configurations]
        for metric, gp in self.posteriors.items():
            far = gp.latent(x)[1] > _FAR * gp.variance
            for i, (median, low, high) in enumerate(zip(*gp.readings(x, level), strict=True)):
                out[i][metric] = Prediction(metric, float(median), float(low), float(high), level, bool(far[i]))
        return out

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON-able numbers; `from_dict` gives the same predictions again."""
        return {
            "format": 1,
            "knobs": [knob_to_dict(k) for k in self.encoding.knobs],
            "posteriors": {metric: gp.to_dict() for metric, gp in self.posteriors.items()},
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Snapshot:
        if data.get("format") != 1:
            raise ValueError(f"unknown snapshot format {data.get('format')!r}, expected 1")
        encoding = Encoding([knob_from_dict(k) for k in data["knobs"]])
        return cls(encoding, {m: GaussianProcess.from_dict(d) for m, d in data["posteriors"].items()})

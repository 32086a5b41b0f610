"""The dependence of a metric on the load that clients offer, in addition to the settings: a covariate of a live
database.

Shapes: q columns of the curve.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np

from lutra_models.advice import Prediction
from lutra_models.gp.space.encoding import Array
from lutra_models.load_curve import Curve

BEYOND = 1.15
"""The largest factor by which a rate may exceed the measured ones."""
_COLUMNS = 4


@dataclass(frozen=True, eq=False)
class OfferedLoad:
    """The metric's logarithm over the logarithm of the rate `rate_of`, between `low` and `high` a second.

    `slopes` (q,) are the curve's, with their `covariance` (q, q). Readings were brought to the rate `here`.
    """

    rate_of: str
    curve: Curve
    slopes: Array
    covariance: Array
    here: float
    low: float
    high: float

    def holds(self, rate: float) -> bool:
        """Whether a rate lies within the measured ones."""
        return bool(rate > 0 and self.low / BEYOND <= rate <= self.high * BEYOND)

    def shift(self, rate: float, to: float) -> tuple[float, float]:
        """The change of a reading's logarithm at `rate` when it moves to the rate `to`: mean and variance."""
        column = np.array(self.curve.row(to)) - np.array(self.curve.row(rate))
        return float(column @ self.slopes), float(column @ self.covariance @ column)

    def at(self, predicted: Prediction, rate: float) -> tuple[float, float, float]:
        """Median, low and high of a prediction at `here`, moved to another rate: the farther, the less certain."""
        shift, variance = self.shift(self.here, rate)
        doubt = NormalDist().inv_cdf(0.5 + predicted.level / 2) ** 2 * variance
        middle = predicted.median * math.exp(shift)
        if not predicted.low > 0:
            return middle, predicted.low, predicted.high * math.exp(shift)
        below, above = (math.log(end / predicted.median) for end in (predicted.low, predicted.high))
        return middle, middle * math.exp(-math.sqrt(below**2 + doubt)), middle * math.exp(math.sqrt(above**2 + doubt))

    def to_dict(self) -> dict[str, Any]:
        return {
            "rate_of": self.rate_of,
            "origin": self.curve.origin,
            "begins": list(self.curve.begins),
            "slopes": self.slopes.tolist(),
            "covariance": self.covariance.tolist(),
            "here": self.here,
            "low": self.low,
            "high": self.high,
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> OfferedLoad:
        """Raises ValueError for data that are not a curve."""
        curve = Curve(float(data["origin"]), True, tuple(map(float, data["begins"])))
        slopes, covariance = np.array(data["slopes"], dtype=float), np.array(data["covariance"], dtype=float)
        q = 1 + len(curve.begins)
        if q > _COLUMNS or slopes.shape != (q,) or covariance.shape != (q, q):
            raise ValueError(f"a curve of {q} columns, slopes {slopes.shape} and covariance {covariance.shape}")
        here, low, high = (float(data[name]) for name in ("here", "low", "high"))
        return cls(str(data["rate_of"]), curve, slopes, covariance, here, low, high)

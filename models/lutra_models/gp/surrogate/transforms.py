"""Targets on a scale on which a Gaussian describes them well: logarithms of positive values, then standard units.

A throughput's logarithm is taken a little above the reading, so that one near zero is bad, but not infinitely so:
between a tenth and a hundredth of the usual throughput there is nothing to learn. A latency's good end is near zero,
and keeps its full resolution.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from lutra_models.gp.options import DEFAULT, Targets
from lutra_models.gp.space.encoding import Array


@dataclass(frozen=True)
class Transform:
    """z = (f(value) - shift) / scale with f(value) = log(value + lift) where `log`, else the identity. Increasing."""

    log: bool
    shift: float
    scale: float
    lift: float = 0.0

    @classmethod
    def of(cls, values: Array, good: float = 1.0, options: Targets = DEFAULT.targets) -> Transform:
        """The transform for readings (n,) of one metric; `good` is +1 if larger is better, else -1."""
        log = bool(np.all(values >= 0) and np.any(values > 0))
        lifted = log and (good > 0 or bool(np.any(values == 0)))
        lift = options.lift * float(np.median(values[values > 0])) if lifted else 0.0
        f = np.log(values + lift) if log else values
        typical = 1.0 if log else max(float(np.mean(np.abs(f))), 1e-12)
        rows = options.prior_readings
        squares = float(np.sum((f - np.mean(f)) ** 2)) + rows * (options.prior_spread * typical) ** 2
        return cls(log, float(np.mean(f)), float(np.sqrt(squares / (len(f) + rows))), lift)

    def forward(self, values: Array) -> Array:
        f = np.log(np.maximum(values + self.lift, 1e-300)) if self.log else values
        return np.asarray((f - self.shift) / self.scale)

    def backward(self, z: Array) -> Array:
        f = self.shift + self.scale * z
        return np.asarray(np.maximum(np.exp(np.clip(f, -690.0, 690.0)) - self.lift, 0.0) if self.log else f)

    def relative(self, share: float, values: Array) -> float:
        """A relative change of `share` of a typical reading, in standard units; zeros, such as of a count of errors,
        are not typical.
        """
        sizes = np.abs(values)
        typical = float(np.median(sizes[sizes > 0])) if np.any(sizes > 0) else 0.0
        return share * (typical / (typical + self.lift) if self.log else typical) / self.scale

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Transform:
        return cls(bool(data["log"]), float(data["shift"]), float(data["scale"]), float(data["lift"]))

"""What was learned about one workload, as plain numbers; predictions need numpy alone.

Shapes: m configurations, k knobs, d features, p trends.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from lutra_models.advice import Prediction
from lutra_models.gp.fitted.trend import Trend
from lutra_models.gp.space.encoding import Array, Encoding
from lutra_models.gp.surrogate.calibration import record
from lutra_models.gp.surrogate.posterior import GaussianProcess
from lutra_models.knobs import Value
from lutra_models.serial import knob_from_dict, knob_to_dict

_FAR = 0.9
"""A prediction whose latent variance is above this share of the prior's rests on hardly any measurement."""
_FORMAT = 2

Signature = Mapping[str, tuple[float, ...]]
"""Telling counter → its deciles over a workload's observations, from the smallest to the largest: eleven numbers."""


@dataclass(frozen=True, eq=False)
class Snapshot:
    """A posterior per metric over a workload's knobs.

    `home` is a configuration of that workload (codes), at which a knob stays when another workload does not have it.
    `trends` are the columns by metric that other workloads contribute to its posterior.
    """

    encoding: Encoding
    posteriors: Mapping[str, GaussianProcess]
    home: Array
    signature: Signature = field(default_factory=dict)
    trends: Mapping[str, tuple[Trend, ...]] = field(default_factory=dict)

    @property
    def metrics(self) -> tuple[str, ...]:
        return tuple(self.posteriors)

    def inputs(self, metric: str, codes: Array) -> Array:
        """(m, d + p) inputs of a metric's posterior at (m, k) codes."""
        columns = [t.column(codes)[:, None] for t in self.trends.get(metric, ())]
        return np.hstack([self.encoding.features(codes), *columns])

    def predict(self, configurations: Sequence[Mapping[str, Value]], level: float = 0.9) -> list[dict[str, Prediction]]:
        """Per configuration, a reading's distribution for each metric. Settings that are no knobs here are ignored."""
        if not 0 < level < 1:
            raise ValueError(f"level must be between 0 and 1, got {level}")
        if not configurations:
            return []
        codes = self.encoding.codes(configurations)
        out: list[dict[str, Prediction]] = [{} for _ in configurations]
        for metric, gp in self.posteriors.items():
            x = self.inputs(metric, codes)
            far = gp.latent(x)[1] > _FAR * gp.variance
            kept = record(gp, level)
            for i, (median, low, high) in enumerate(zip(*gp.readings(x, level), strict=True)):
                out[i][metric] = Prediction(metric, float(median), float(low), float(high), level, bool(far[i]), kept)
        return out

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON-able numbers; `from_dict` gives the same predictions again."""
        return {
            "format": _FORMAT,
            "knobs": [knob_to_dict(k) for k in self.encoding.knobs],
            "posteriors": {metric: gp.to_dict() for metric, gp in self.posteriors.items()},
            "home": self.home.tolist(),
            "signature": {name: list(deciles) for name, deciles in self.signature.items()},
            "trends": {metric: [t.to_dict() for t in trends] for metric, trends in self.trends.items()},
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Snapshot:
        if data.get("format") != _FORMAT:
            raise ValueError(f"unknown snapshot format {data.get('format')!r}, expected {_FORMAT}")
        encoding = Encoding([knob_from_dict(k) for k in data["knobs"]])
        posteriors = {m: GaussianProcess.from_dict(d) for m, d in data["posteriors"].items()}
        trends = {m: tuple(Trend.from_dict(t, encoding) for t in ts) for m, ts in data["trends"].items()}
        signature = {name: tuple(map(float, deciles)) for name, deciles in data["signature"].items()}
        return cls(encoding, posteriors, np.array(data["home"], dtype=float), signature, trends)

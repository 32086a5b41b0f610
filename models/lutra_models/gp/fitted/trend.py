"""The prediction of another workload's posterior for configurations here, as a column of a surrogate's input.

Shapes: m configurations, k knobs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from lutra_models.gp.fitted.predictor import Predictor
from lutra_models.gp.space.encoding import Array, Encoding
from lutra_models.gp.space.space_map import Bridge
from lutra_models.gp.surrogate.posterior import GaussianProcess
from lutra_models.serial import knob_from_dict, knob_to_dict


@dataclass(frozen=True, eq=False)
class Trend:
    """The prediction of another workload's posterior for a configuration here, as one more column of a surrogate's
    input.

    The column is the past's mean in logarithmic (or its own) units over the target's scale, less `centre`: relative
    effects carry over between machines, levels do not. `place` is the position of the workload among the past ones that
    the fit was given, `weight` its weight, from 0 to 1.
    """

    bridge: Bridge
    gp: GaussianProcess
    scale: float
    place: int
    centre: float = 0.0
    weight: float = 1.0

    def column(self, codes: Array) -> Array:
        """(m,) at (m, k) codes."""
        return self.gp.latent(self.bridge.features(codes))[0] * self.scale - self.centre

    @cached_property
    def _predictor(self) -> Predictor:
        return Predictor(self.gp)

    def at(self, codes: Array) -> float:
        """The column's number at codes (1, k), the same bits in every process."""
        return self._predictor.latent(self.bridge.features(codes)[0])[0] * self.scale - self.centre

    def to_dict(self) -> dict[str, Any]:
        return {
            "knobs": [knob_to_dict(k) for k in self.bridge.there.knobs],
            "home": self.bridge.home.tolist(),
            "gp": self.gp.to_dict(),
            "scale": self.scale,
            "centre": self.centre,
            "place": self.place,
            "weight": self.weight,
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], here: Encoding) -> Trend:
        there = Encoding([knob_from_dict(k) for k in data["knobs"]])
        bridge = Bridge(here, there, np.array(data["home"], dtype=float))
        gp, scale, centre = GaussianProcess.from_dict(data["gp"]), float(data["scale"]), float(data["centre"])
        return cls(bridge, gp, scale, int(data["place"]), centre, float(data["weight"]))

"""Acquisitions: pure functions of a posterior, in logarithms so that none of them underflows.

All arguments are in standard units where larger is better; all results are (m,) and larger is better. A new one is a
value in `ACQUISITIONS`, or an installed package brings it.
Log EI with stable tails: Ament et al., NeurIPS 2023. Feasibility: Gelbart et al., UAI 2014; Gardner et al., ICML 2014.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, cast

import numpy as np
from scipy.special import erfcx, ndtr

from lutra_models import extensions
from lutra_models.gp.options.reading import Named
from lutra_models.gp.space.encoding import Array
from lutra_models.gp.surrogate.probability import log_probability_above

_ROOT2PI = np.sqrt(2.0 * np.pi)
_FAR = -200.0
"""Below this the bracket has lost its digits, and 1/u² is exact enough."""


class Acquisition(Protocol):
    """The logarithm of the value of a measurement. It passes `gp.conformance.AcquisitionConformance`."""

    @property
    def name(self) -> str: ...

    def score(self, mean: Array, deviation: Array, best: float) -> Array:
        """(m,) where f ~ N(`mean`, `deviation`²), both (m,), and `best` is the incumbent's f."""


@dataclass(frozen=True)
class Formula:
    """An acquisition that is one function."""

    name: str
    score: Callable[[Array, Array, float], Array]


def acquisition(name: str | Named) -> Acquisition:
    """The acquisition of this name, or the given acquisition itself.

    Raises MissingExtension for an unknown name that no installed package adds, and BrokenExtension.
    """
    if not isinstance(name, str):
        return cast(Acquisition, name)
    for one in ACQUISITIONS:
        if one.name == name:
            return one
    brought: Acquisition = extensions.plugged(extensions.ACQUISITIONS, name)
    return brought


def log_expected_improvement(mean: Array, deviation: Array, best: float) -> Array:
    """log E[max(f - best, 0)] for f ~ N(mean, deviation²)."""
    u = (mean - best) / deviation
    return np.asarray(np.log(deviation) + _log_h(u))


def _log_h(u: Array) -> Array:
    """log(φ(u) + u Φ(u)), stable far to the left, where it is φ(u) times a bracket that tends to 1/u²."""
    near, left = np.maximum(u, -1.0), np.minimum(u, -1.0)
    direct = np.log(np.exp(-0.5 * near * near) / _ROOT2PI + near * ndtr(near))
    middle = np.maximum(left, _FAR)
    bracket = np.where(left > _FAR, 1.0 + middle * np.sqrt(np.pi / 2.0) * erfcx(-middle / np.sqrt(2.0)), 1.0 / left**2)
    return np.asarray(np.where(u > -1.0, direct, -0.5 * left * left - np.log(_ROOT2PI) + np.log(bracket)))


LOG_EI = Formula("log_ei", log_expected_improvement)
"""The expected improvement: the default."""
LOG_PI = Formula("log_pi", log_probability_above)
"""The probability of any improvement, however small."""
ACQUISITIONS: tuple[Acquisition, ...] = (LOG_EI, LOG_PI)

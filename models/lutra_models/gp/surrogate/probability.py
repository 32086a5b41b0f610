"""Probabilities of normal variables in logarithms, where they do not underflow."""

from __future__ import annotations

import numpy as np
from scipy.special import log_ndtr

from lutra_models.gp.space.encoding import Array


def log_probability_above(mean: Array, deviation: Array, bound: float) -> Array:
    """(m,) log P(f ≥ bound) for f ~ N(mean, deviation²)."""
    return np.asarray(log_ndtr((mean - bound) / deviation))

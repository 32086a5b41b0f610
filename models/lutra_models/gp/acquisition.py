"""Acquisitions: pure functions of a posterior, in logarithms so that none of them dies out.

All arguments are in standard units where larger is better; all results are (m,) and larger is better.
Log EI with stable tails: Ament et al., NeurIPS 2023. Feasibility: Gelbart et al., UAI 2014; Gardner et al., ICML 2014.
"""

from __future__ import annotations

import numpy as np
from scipy.special import erfcx, log_ndtr

from lutra_models.gp.encoding import Array


def log_expected_improvement(mean: Array, deviation: Array, best: float) -> Array:
    """log E[max(f - best, 0)] for f ~ N(mean, deviation²)."""
    u = (mean - best) / deviation
    return np.asarray(np.log(deviation) + _log_h(u))


def log_probability_above(mean: Array, deviation: Array, bound: float) -> Array:
    """log P(f ≥ bound) for f ~ N(mean, deviation²)."""
    return np.asarray(log_ndtr((mean - bound) / deviation))


def _log_h(u: Array) -> Array:
    """log(φ(u) + u Φ(u)), stable far to the left."""
    u = np.asarray(u, dtype=float)
    out = np.empty_like(u)
    near = u > -1.0
    v = u[near]
    out[near] = np.log(np.exp(-0.5 * v * v) / np.sqrt(2 * np.pi) + v * np.exp(log_ndtr(v)))
    v = u[~near]
    # φ(u) + uΦ(u) = φ(u) (1 + u √(π/2) erfcx(-u/√2)); the bracket tends to 1/u², and loses its digits near there.
    bracket = np.where(v > -1e4, 1.0 + v * np.sqrt(np.pi / 2) * erfcx(-v / np.sqrt(2)), 1.0 / np.maximum(v * v, 1.0))
    far = 1.0 / np.maximum(v * v, 1.0)
    bracket = np.where(v > -1e3, np.maximum(bracket, 1e-300), far)
    out[~near] = -0.5 * v * v - 0.5 * np.log(2 * np.pi) + np.log(bracket)
    return out

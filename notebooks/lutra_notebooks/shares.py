"""Shares, and how well so few cases tell them."""

from __future__ import annotations

from statistics import NormalDist

import numpy as np


def wilson(held: float, n: int, level: float = 0.9) -> tuple[float, float]:
    """The interval of a share (Wilson 1927)."""
    z = NormalDist().inv_cdf(0.5 + level / 2)
    middle, half = (held + z * z / 2) / (n + z * z), z * np.sqrt(held * (n - held) / n + z * z / 4) / (n + z * z)
    return max(0.0, float(middle - half)), min(1.0, float(middle + half))

"""The quality of a window's reading: the processor time that others took, and the steadiness inside the window.

The agent sends both with a window. A reading from a disturbed window carries less information about its configuration.
A window that was less steady than is usual in the session indicates a configuration that stalls. Both are compared with
the session's median: a server under a quota is always throttled, and every load has its own scatter. Shapes: n
observations.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from lutra_models.gp.options import Targets
from lutra_models.gp.space.encoding import Array
from lutra_models.history import History, Observation
from lutra_models.judgement import lost_share, taken_share
from lutra_models.metrics import TPS, TPS_LOW


def windows(history: History, metric: str, options: Targets) -> list[tuple[float, float]]:
    """For each reading of the metric its weight, and the unsteadiness of its window as a multiple of the usual
    variance.
    """
    measured = [o for o in history.observations if metric in o.metrics]
    taken = np.maximum(np.maximum(_above(measured, lost_share), _above(measured, taken_share)), 0.0)
    weights = 1.0 / (1.0 + (taken / options.noise) ** 2)
    inside = _shares(measured, fallen_short)
    usual = float(np.nanmedian(inside)) if np.any(np.isfinite(inside)) else 0.0
    ratio = (np.nan_to_num(inside, nan=usual) + options.within_floor) / (usual + options.within_floor)
    within = np.clip(ratio**2, 1.0, options.most_within)
    return [(float(w), float(i)) for w, i in zip(weights, within, strict=True)]


def fallen_short(metrics: Mapping[str, float]) -> float | None:
    """The share by which the tenth percentile of the window's intervals is below its mean; None if unknown."""
    mean, low = metrics.get(TPS.name), metrics.get(TPS_LOW.name)
    return None if not mean or low is None else max(0.0, 1.0 - low / mean)


def _shares(measured: Sequence[Observation], of: Callable[[Mapping[str, float]], float | None]) -> Array:
    """(n,) NaN if a window does not say."""
    found = (of(o.metrics) for o in measured)
    return np.array([np.nan if share is None else share for share in found], dtype=float)


def _above(measured: Sequence[Observation], of: Callable[[Mapping[str, float]], float | None]) -> Array:
    """(n,) the shares less their median, 0 if a window does not say."""
    shares = _shares(measured, of)
    return np.zeros(len(shares)) if not np.any(np.isfinite(shares)) else np.nan_to_num(shares - np.nanmedian(shares))

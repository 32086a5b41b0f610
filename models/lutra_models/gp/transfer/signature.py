"""The runtime counters that distinguish workloads: factor analysis, then k-means over the counters' loadings.

After Van Aken et al., SIGMOD 2017 (OtterTune), section 4: counters that move together have similar loadings; one
represents each cluster. The number of clusters is the one with the best silhouette. Shapes: n observations, c counters,
f factors.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping

import numpy as np
from sklearn.cluster import KMeans
from sklearn.decomposition import FactorAnalysis
from sklearn.metrics import silhouette_score

from lutra_models.gp.options import DEFAULT, Transfer
from lutra_models.gp.space.encoding import Array
from lutra_models.gp.surrogate.dataset import targets
from lutra_models.gp.transfer.similarity import magnitude
from lutra_models.history import History


def signature(history: History, options: Transfer = DEFAULT.transfer) -> dict[str, tuple[float, ...]]:
    """Telling counter → its deciles over the history; empty if the history has no counters."""
    names, table = counters(history)
    if not names:
        return {}
    kept = telling(table, options)
    deciles = np.quantile(table[:, kept], np.linspace(0.0, 1.0, 11), axis=0)
    return {names[i]: tuple(deciles[:, j].tolist()) for j, i in enumerate(kept)}


def counters(history: History) -> tuple[tuple[str, ...], Array]:
    """Names (c,) and values (n, c) of the metrics that every completed observation has, except targets."""
    rows: list[Mapping[str, float]] = [o.metrics for o in history.completed]
    common = set(rows[0]).intersection(*rows) if rows else set()
    names = tuple(sorted(common - set(targets(history))))
    return names, np.array([[row[n] for n in names] for row in rows], dtype=float).reshape(len(rows), len(names))


def telling(table: Array, options: Transfer = DEFAULT.transfer) -> list[int]:
    """Indices of the counters (of the columns of (n, c)) that represent the rest, in ascending order."""
    moving = np.flatnonzero(np.std(table, 0) > 1e-9 * (1.0 + np.abs(np.mean(table, 0))))
    if len(moving) < 4 or len(table) < options.least_rows:
        return [int(i) for i in moving]
    spread = magnitude(table[:, moving])
    spread = (spread - spread.mean(0)) / (spread.std(0) + 1e-12)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        factors = min(options.factors, len(moving) - 1)
        loadings = FactorAnalysis(factors, random_state=0).fit(spread).components_.T
        labels, centres = _clusters(loadings, options.most_clusters)
    apart = np.sum((loadings[:, None, :] - centres[None, :, :]) ** 2, axis=2)
    nearest = np.argmin(np.where(labels[:, None] == np.arange(len(centres)), apart, np.inf), axis=0)
    return sorted(int(moving[i]) for i in nearest)


def _clusters(loadings: Array, most: int) -> tuple[Array, Array]:
    """Labels (c,) and centres (k, f) of the number of clusters with the best silhouette."""
    best: tuple[float, Array, Array] | None = None
    for k in range(2, min(most, len(loadings) - 1) + 1):
        fitted = KMeans(k, n_init=4, random_state=0).fit(loadings)
        if len(set(fitted.labels_)) < 2:
            continue
        quality = float(silhouette_score(loadings, fitted.labels_))
        if best is None or quality > best[0]:
            best = (quality, fitted.labels_, fitted.cluster_centers_)
    if best is None:
        return np.zeros(len(loadings), dtype=int), loadings.mean(0, keepdims=True)
    return best[1], best[2]

"""Which past workloads resemble this one, and how much to believe each of them.

Before there is anything to rank, by the distance between signatures in decile bins (OtterTune, SIGMOD 2017, section 6).
After that by ranking: the weight of a past workload is the share of posterior draws in which it mis-ranks the fewest
pairs of configurations measured here. It is dropped where its median loss exceeds the 95th percentile of what this
workload's own model, left-one-out, loses (RGPE: Feurer, Letham and Bakshy, 2018), or where it ranks hardly better than
a coin.
Shapes: n rows measured here, p past workloads, s draws.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from lutra_models.gp.encoding import Array
from lutra_models.gp.posterior import GaussianProcess

_DRAWS = 128
_RANKABLE, _JUDGED = 3, 5
"""Rows from which rankings are compared, and from which a coin's ranking is a reason to drop."""
_COIN = 0.42


def distances(here: Mapping[str, float], past: Sequence[Mapping[str, float]]) -> Array:
    """(p,) mean distance in decile bins over the counters that both have; 1 where they have none in common."""
    out = np.ones(len(past))
    for i, signature in enumerate(past):
        names = [n for n in signature if n in here]
        if names:
            out[i] = float(np.mean([_bins(n, here, signature, past) for n in names]))
    return out


def _bins(name: str, here: Mapping[str, float], one: Mapping[str, float], past: Sequence[Mapping[str, float]]) -> float:
    pool = np.array([here[name], *(s[name] for s in past if name in s)])
    edges = np.quantile(pool, np.linspace(0.1, 0.9, 9))
    return abs(int(np.searchsorted(edges, here[name])) - int(np.searchsorted(edges, one[name]))) / 9.0


def weights(
    z: Array, own: GaussianProcess, means: Array, deviations: Array, apart: Array, rng: np.random.Generator
) -> Array:
    """(p,) weights that sum to at most 1; 0 is dropped.

    `z` (n,) targets here, `own` this workload's posterior on its own, `means` and `deviations` (p, n) what each past
    workload says of these rows, `apart` (p,) distances between signatures.
    """
    if len(z) < _RANKABLE:
        closeness = np.exp(-4.0 * (apart - np.min(apart)))
        return np.asarray(closeness / np.sum(closeness))
    mean, variance = own.left_out()
    mine = _losses(mean + np.sqrt(variance) * rng.standard_normal((_DRAWS, len(z))), z)
    losses = np.array(
        [_losses(m + d * rng.standard_normal((_DRAWS, len(z))), z) for m, d in zip(means, deviations, strict=True)]
    )
    typical = np.median(losses, axis=1)
    kept = typical <= np.quantile(mine, 0.95)
    if len(z) >= _JUDGED:
        kept &= typical < _COIN
    if not np.any(kept):
        return np.zeros(len(means))
    racing = np.where(kept[:, None], losses, np.inf)
    best = racing == np.min(racing, axis=0)
    return np.asarray(np.mean(best / np.sum(best, axis=0), axis=1))


def _losses(draws: Array, z: Array) -> Array:
    """(s,) share of pairs that draws (s, n) rank otherwise than z (n,)."""
    i, j = np.triu_indices(len(z), 1)
    truth = z[i] > z[j]
    return np.asarray(np.mean((draws[:, i] > draws[:, j]) != truth, axis=1))

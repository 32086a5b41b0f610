"""Which past workloads resemble this one, and how much to believe each of them.

Before there is anything to rank, by the distance between signatures in decile bins (OtterTune, SIGMOD 2017, section 6):
the bins are those of the past workload's own counters, so that no unit and no third workload matters. A workload whose
counters lie where the past one never was, under any of its configurations, is a stranger and is not listened to: by
chance it may rank a dozen rows well, and then leads the search astray.
After that by ranking: the weight of a past workload is the share of posterior draws in which it mis-ranks the fewest
pairs of configurations measured here. It is dropped where its median loss exceeds the 95th percentile of what this
workload's own model, left-one-out, loses (RGPE: Feurer, Letham and Bakshy, 2018), or where it ranks hardly better than
a coin.
Shapes: n rows measured here, p past workloads, s draws.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from lutra_models.gp.fitted.snapshot import Signature
from lutra_models.gp.options import DEFAULT, Transfer
from lutra_models.gp.space.encoding import Array
from lutra_models.gp.surrogate.posterior import GaussianProcess


def places(here: Mapping[str, float], past: Sequence[Signature], options: Transfer = DEFAULT.transfer) -> list[Array]:
    """Per past workload, where this workload's counters lie among its own: 0 its median, 1 its ends, more outside.

    Only counters that both have, on logarithms; an end is `margin` of the range away from what was seen.
    """
    return [np.array([_place(magnitude(here[n]), magnitude(s[n]), options) for n in s if n in here]) for s in past]


def magnitude(counter: Array | float | Sequence[float]) -> Array:
    """Counters span decades and may be negative: their signed logarithm."""
    return np.asarray(np.sign(counter) * np.log1p(np.abs(counter)))


def _place(value: Array, deciles: Array, options: Transfer) -> float:
    margin = options.margin * (deciles[-1] - deciles[0]) + 1e-12
    if value < deciles[0] - margin or value > deciles[-1] + margin:
        return options.outside
    return float(abs(2.0 * np.interp(value, deciles, np.linspace(0.0, 1.0, len(deciles))) - 1.0))


def distances(places: Sequence[Array], options: Transfer = DEFAULT.transfer) -> Array:
    """(p,) mean place of the counters; as far as possible where there are none in common."""
    return np.array([float(np.mean(p)) if len(p) else options.outside for p in places])


def strangers(places: Sequence[Array], options: Transfer = DEFAULT.transfer) -> npt.NDArray[np.bool_]:
    """(p,) whether too many counters lie outside what the past workload ever showed."""
    far = [bool(len(p)) and float(np.mean(p >= options.outside)) > options.strange for p in places]
    return np.array(far, dtype=bool)


def weights(
    z: Array,
    own: GaussianProcess,
    means: Array,
    deviations: Array,
    where: Sequence[Array],
    rng: np.random.Generator,
    options: Transfer = DEFAULT.transfer,
) -> Array:
    """(p,) weights that sum to at most 1; 0 is dropped.

    `z` (n,) targets here, `own` this workload's posterior on its own, `means` and `deviations` (p, n) what each past
    workload says of these rows, `where` the places of this workload's counters in each.
    """
    welcome = ~strangers(where, options)
    if not np.any(welcome):
        return np.zeros(len(means))
    if len(z) < options.rankable_rows:
        apart = distances(where, options)
        closeness = np.where(welcome, np.exp(-options.closeness * (apart - np.min(apart[welcome]))), 0.0)
        return np.asarray(closeness / np.sum(closeness))
    mean, variance = own.left_out()
    mine = _losses(mean + np.sqrt(variance) * rng.standard_normal((options.draws, len(z))), z)
    losses = np.array(
        [
            _losses(m + d * rng.standard_normal((options.draws, len(z))), z)
            for m, d in zip(means, deviations, strict=True)
        ]
    )
    typical = np.median(losses, axis=1)
    kept = welcome & (typical <= np.quantile(mine, 0.95))
    if len(z) >= options.judged_rows:
        kept &= typical < options.coin
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

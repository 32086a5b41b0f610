"""The past workloads that resemble this one, and the weight of each.

Before there is anything to rank, workloads are ordered by the distance between signatures in decile bins (OtterTune,
SIGMOD 2017, section 6). The bins are those of the past workload's own counters, so that no unit and no third workload
matters. A workload is excluded if these counters lie outside all values of the past one, under any of its
configurations: by chance it may rank a dozen rows well, and then leads the search astray. Of the others, those whose
readings have another level come later. After that, workloads are ordered by ranking. Each past workload is a claim: its
posterior predicts which of two configurations is better. One more claim, silence, has a prior of its own and says that
no workload predicts anything. Bayes' rule over these claims gives the weights. Each pair of configurations measured
here supports a claim as far as it was predicted, and pairs whose readings differ by no more than noise support it
little. A workload of twenty that ranks a few rows well by chance therefore has to beat the nineteen others and silence,
and unrelated workloads drop out as pairs arrive. If silence is more probable than all of them together, none is used.
(RGPE compares rankings too, by how often a model is the best of all: Feurer, Letham and Bakshy, 2018.) Shapes: n rows
measured here, p past workloads.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr, softmax

from lutra_models.gp.fitted.snapshot import Signature
from lutra_models.gp.options import DEFAULT, Transfer
from lutra_models.gp.space.encoding import Array
from lutra_models.knobs import Value


def places(here: Mapping[str, float], past: Sequence[Signature], options: Transfer = DEFAULT.transfer) -> list[Array]:
    """Per past workload, the position of this workload's counters among its own: 0 at the median, 1 at the ends, more
    outside.

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
    """(p,) mean position of the counters; the farthest if there are none in common."""
    return np.array([float(np.mean(p)) if len(p) else options.outside for p in places])


def strangers(places: Sequence[Array], options: Transfer = DEFAULT.transfer) -> npt.NDArray[np.bool_]:
    """(p,) whether too many counters lie outside the range that the past workload ever had."""
    far = [bool(len(p)) and float(np.mean(p >= options.outside)) > options.strange for p in places]
    return np.array(far, dtype=bool)


def circumstances_apart(here: Mapping[str, Value], there: Mapping[str, Value], options: Transfer) -> float:
    """The distance between two contexts in the entries that both name: numbers by their ratio, texts by being
    different.
    """
    return options.context * sum(_unlike(here[name], there[name], options) for name in here.keys() & there.keys())


def _unlike(one: Value, other: Value, options: Transfer) -> float:
    if isinstance(one, str) or isinstance(other, str):
        return options.other_text * (one != other)
    return min(abs(float(magnitude(float(one)) - magnitude(float(other)))), options.most_context)


def closeness(places: Sequence[Array], gaps: Array, options: Transfer = DEFAULT.transfer) -> Array:
    """(p,) the prior of each past workload before anything is ranked, which sums to 1; all 0 if all are excluded.

    `gaps` (p,) is the logarithmic distance of the readings here from those there, and of their circumstances: another
    host has other levels, but of many workloads one with the same levels is likelier to be similar.
    """
    welcome = ~strangers(places, options)
    if not np.any(welcome):
        return np.zeros(len(places))
    far = np.where(welcome, options.closeness * distances(places, options) + gaps, np.inf)
    return np.asarray(softmax(-far))


def weights(
    z: Array, noise: Array, means: Array, variances: Array, before: Array, options: Transfer = DEFAULT.transfer
) -> Array:
    """(p,) weights that sum to at most 1; 0 is dropped.

    `z` (n,) targets here with the variance of their `noise` (n,), `means` and `variances` (p, n) the predictions of
    each past workload for these rows, each in its own unit, `before` (p,) the prior (`closeness`).
    """
    if len(z) < 2 or not np.any(before):
        return before
    claims = np.array([float(ranking(z, noise, m, v, options)) for m, v in zip(means, variances, strict=True)])
    with np.errstate(divide="ignore"):
        joint = np.log((1.0 - options.silence) * before) + claims
    shares = softmax([*joint, math.log(options.silence) + silent(len(z))])[:-1]
    if np.sum(shares) < 0.5:
        return np.zeros(len(shares))
    leading = np.argsort(-shares, kind="stable")[: options.most]
    return np.where(np.isin(np.arange(len(shares)), leading), shares, 0.0)


def ranking(z: Array, noise: Array, mean: Array, variance: Array, options: Transfer = DEFAULT.transfer) -> Array:
    """The log probability of the ranking of the rows (n,), as a posterior of (…, n) `mean` and `variance` predicts it.

    Each pair counts 2/n, as n rows hold n - 1 independent comparisons. A past workload is never quite sure: `alien` is
    its chance to be of no use for a pair. One number for each posterior: an array (…).
    """
    i, j = np.triu_indices(len(z), 1)
    better = ndtr((z[i] - z[j]) / np.sqrt(noise[i] + noise[j]))
    held = ndtr((mean[..., i] - mean[..., j]) / np.sqrt(variance[..., i] + variance[..., j]))
    held = 0.5 * options.alien + (1.0 - options.alien) * held
    told = np.log(better * held + (1.0 - better) * (1.0 - held))
    return np.asarray(2.0 / len(z) * np.sum(told, axis=-1))


def silent(n: int) -> float:
    """The same for pure chance."""
    return (n - 1) * math.log(0.5)

"""The importance of knobs: three views of the same rows, and their mean rank.

- Lasso path with squares and products of the leading knobs (OtterTune, SIGMOD 2017, section 5): the earlier a knob's
  first term enters, the more it matters.
- Relevance by the fitted length-scales (ARD).
- Permutation: how far the posterior's mean at the rows moves when a knob's columns are shuffled among them; steadier
  than the path in the PKU study (Zhang et al., VLDB 2022).

Shapes: n rows, k knobs, d features.
"""

from __future__ import annotations

import warnings
from itertools import combinations

import numpy as np
from sklearn.linear_model import lasso_path

from lutra_models.gp.options import DEFAULT, Search
from lutra_models.gp.space.encoding import Array, Encoding
from lutra_models.gp.surrogate.posterior import GaussianProcess


def ranked_knobs(
    encoding: Encoding, gp: GaussianProcess, rng: np.random.Generator, options: Search = DEFAULT.search
) -> list[int]:
    """Indices of the knobs, the one that matters most first."""
    return [int(j) for j in np.argsort(mean_places(encoding, gp, rng, options), kind="stable")]


def mean_places(encoding: Encoding, gp: GaussianProcess, rng: np.random.Generator, options: Search) -> Array:
    """(k,) each knob's mean place in the three views: 0 if all of them put it first, k - 1 if all put it last."""
    shuffled = by_permutation(encoding, gp, rng, options.shuffles)
    views = [by_path(encoding, gp, options.leading_knobs), by_covariance(encoding, gp), shuffled]
    return np.asarray(np.mean([np.argsort(np.argsort(-v, kind="stable"), kind="stable") for v in views], axis=0))


def by_path(encoding: Encoding, gp: GaussianProcess, most: int) -> Array:
    """(k,) the penalty at which a knob's first term enters the Lasso path; 0 if none does.

    Products join it of the `most` knobs that correlate with the target best by themselves.
    """
    x, z = gp.x[: gp.read, : gp.d], gp.z[: gp.read]
    x, z = x - x.mean(0), z - z.mean()
    owners = [(j,) for j in range(len(encoding.knobs)) for _ in range(encoding.widths[j])]
    strength = np.abs(x.T @ z)
    leading = np.sort(np.argsort(-strength, kind="stable")[:most])
    pairs = [(a, a) for a in leading] + list(combinations(leading, 2))
    table = np.column_stack([x, *(x[:, a] * x[:, b] for a, b in pairs)])
    owners += [tuple({*owners[a], *owners[b]}) for a, b in pairs]
    scale = table.std(0)
    table = (table - table.mean(0)) / np.where(scale > 1e-12, scale, np.inf)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        penalties, coefficients, _ = lasso_path(table, z, n_alphas=60)
    entered = [float(penalties[np.argmax(c != 0)]) if np.any(c != 0) else 0.0 for c in coefficients]
    out = np.zeros(len(encoding.knobs))
    for knobs, penalty in zip(owners, entered, strict=True):
        for j in knobs:
            out[j] = max(out[j], penalty)
    return out


def by_covariance(encoding: Encoding, gp: GaussianProcess) -> Array:
    """(k,) how much the most relevant of a knob's features matters to the covariance, over the rows."""
    relevance = gp.covariance.relevance(gp.x[:, : gp.d])
    return np.array([float(np.max(relevance[encoding.columns(j)])) for j in range(len(encoding.knobs))])


def by_permutation(encoding: Encoding, gp: GaussianProcess, rng: np.random.Generator, shuffles: int) -> Array:
    """(k,) mean squared change of the posterior's mean at the rows when a knob is shuffled among them."""
    usual, _ = gp.latent(gp.x)
    out = np.zeros(len(encoding.knobs))
    for j in range(len(encoding.knobs)):
        for _ in range(shuffles):
            x = gp.x.copy()
            x[:, encoding.columns(j)] = x[rng.permutation(len(x)), encoding.columns(j)]
            out[j] += float(np.mean((gp.latent(x)[0] - usual) ** 2)) / shuffles
    return out

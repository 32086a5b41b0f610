"""The settings that certainly affected a metric: forward selection, each step against permuted readings.

A posterior cannot test this itself: it is fitted to the readings, and finds a curve in noise as well. So the test does
not use it. Readings count by their ranks' normal scores. A setting counts by what its columns (a parabola, an indicator
for each special value and each option) explain of what the settings before it leave: by the p-value of an F test. The
strongest setting is certain if permuted remainders rarely have a setting as strong (the maximum of all settings, after
Westfall and Young, 1993; permuted remainders, after Freedman and Lane, 1983). Then the next one is tested, given those
that are certain, until one is not.

Of the tables without any further effect, at most a share `RATE` therefore has one more certain setting, and the false
discovery rate is no larger. Of settings that always moved together, the one that explains more is given the effect of
both. Shapes: n rows, q columns of a setting, p permutations, s settings.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from scipy.special import fdtrc, ndtri

from lutra_models.gp.space.encoding import SPECIAL, Array, Encoding
from lutra_models.knobs import Choice, Domain

RATE = 0.05
"""The false discovery rate of certain effects."""
PERMUTATIONS = 499
LEAST_ROWS = 3
"""The number of rows from which a special value or an option has its own column."""
LEAST_OWN = 0.05
"""The share of a column, as a length, that the columns before it must not explain for it to count."""
LEAST_FREEDOM = 8
"""Degrees of freedom below which no setting is tested."""


def chances(encoding: Encoding, codes: Array, z: Array) -> dict[str, float]:
    """By setting, the probability that without it some setting would look as strong, given the certain ones.

    At codes (n, k) with readings (n,). At most `RATE` is certain. A setting with too few rows is left out. The same
    readings give the same numbers.
    """
    rng, scores = np.random.default_rng(0), _normal_scores(z)
    left = {k.name: c for j, k in enumerate(encoding.knobs) if (c := _columns(k.domain, codes[:, j])).size}
    taken, told, least = np.zeros((len(z), 0)), dict[str, float](), 0.0
    while (step := _Step.of(left, taken)) is not None:
        strength = step.strength(scores[None])[0]
        strongest = np.max(step.strength(step.permuted(scores, rng)), axis=1)
        chance = (1.0 + np.sum(strongest[:, None] >= strength, axis=0)) / (1.0 + PERMUTATIONS)
        first = int(np.argmax(strength))
        least = max(least, float(chance[first]))
        told |= {name: max(least, float(c)) for name, c in zip(step.names, chance, strict=True)}
        if least > RATE:
            break
        del left[step.names[first]]
        taken = np.hstack([taken, step.blocks[first]])
    return told


@dataclass(frozen=True)
class _Step:
    """The settings that are left, each as orthonormal columns (n, q) beside those that are `taken`."""

    taken: Array
    names: tuple[str, ...]
    blocks: tuple[Array, ...]

    @classmethod
    def of(cls, left: Mapping[str, Array], taken: Array) -> _Step | None:
        """None if there is none, or the rows are too few."""
        beside = {name: block for name, c in left.items() if (block := _beside(c, taken)).size}
        widest = max((b.shape[1] for b in beside.values()), default=0)
        if not widest or len(taken) - 1 - taken.shape[1] - widest < LEAST_FREEDOM:
            return None
        return cls(taken, tuple(beside), tuple(beside.values()))

    def strength(self, scores: Array) -> Array:
        """(p, s) minus the logarithm of each setting's p-value for scores (p, n)."""
        remainder = scores - (scores @ self.taken) @ self.taken.T
        widths = np.array([b.shape[1] for b in self.blocks])
        squares = (remainder @ np.hstack(self.blocks)) ** 2
        explained = np.add.reduceat(squares, np.cumsum(widths) - widths, axis=1)
        whole = np.sum(remainder**2, axis=1)[:, None]
        freedom = len(self.taken) - 1 - self.taken.shape[1] - widths
        ratio = (explained / widths) / (np.maximum(whole - explained, 1e-12) / freedom)
        return np.asarray(-np.log(np.maximum(fdtrc(widths, freedom, ratio), 1e-300)))

    def permuted(self, scores: Array, rng: np.random.Generator) -> Array:
        """(p, n) permutations of what the settings that are taken leave."""
        remainder = scores - self.taken @ (self.taken.T @ scores)
        return rng.permuted(np.tile(remainder, (PERMUTATIONS, 1)), axis=1)


def _normal_scores(z: Array) -> Array:
    """(n,) around 0; equal readings have equal scores."""
    _, place, counts = np.unique(z, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - 0.5 * counts)[place]
    scores = ndtri(ranks / len(z))
    return np.asarray(scores - np.mean(scores))


def _columns(domain: Domain, codes: Array) -> Array:
    """(n, q) of one setting's codes (n,): none of one that did not move."""
    met, counts = np.unique(codes, return_counts=True)
    if isinstance(domain, Choice):
        apart, line = met[counts >= LEAST_ROWS], np.zeros(len(codes), dtype=bool)
    else:
        apart, line = met[(met >= SPECIAL) & (counts >= LEAST_ROWS)], codes < SPECIAL
    columns = [(codes == code).astype(float) for code in apart]
    places = codes[line]
    if len(np.unique(places)) > 1:
        middle = places - np.mean(places)
        columns += [_filled(line, middle), _filled(line, middle**2 - np.mean(middle**2))]
    return np.array(columns).reshape(-1, len(codes)).T


def _filled(where: Array, values: Array) -> Array:
    out = np.zeros(len(where))
    out[where] = values
    return out


def _beside(columns: Array, taken: Array) -> Array:
    """(n, ≤ q) orthonormal: what columns (n, q) have of their own beside a mean and orthonormal `taken`."""
    own = columns - np.mean(columns, axis=0)
    own /= np.linalg.norm(own, axis=0) + 1e-12
    own = own - taken @ (taken.T @ own)
    u, sizes, _ = np.linalg.svd(own, full_matrices=False)
    return np.asarray(u[:, sizes > LEAST_OWN])

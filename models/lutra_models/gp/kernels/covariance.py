"""Covariances: kernels with their length-scales and variance, and forests, as plain numbers.

Shapes: m and n configurations, d features, t trees.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from lutra_models.gp.kernels.shapes import MATERN52, Kernel, kernel_from_dict
from lutra_models.gp.space.encoding import Array

_LEAF = -1


class Covariance(Protocol):
    """A posterior's prior covariance of two configurations."""

    @property
    def d(self) -> int:
        """The number of features."""

    @property
    def variance(self) -> float:
        """Of one configuration."""

    def __call__(self, one: Array, two: Array) -> Array:
        """(m, n) of features (m, d) and (n, d)."""

    def placed(self, x: Array) -> Array:
        """Features (n, d) in the form for `row`."""

    def row(self, place: Array, places: Array) -> Array:
        """(n,) of one and n places, in sums whose bits do not depend on n or on threads."""

    def relevance(self, x: Array) -> Array:
        """(d,) how much each feature matters over the rows (n, d); a larger number is more."""

    def to_dict(self) -> dict[str, Any]: ...


@dataclass(frozen=True, eq=False)
class Scaled:
    """A kernel over features in length-scales, times a variance."""

    kernel: Kernel
    lengthscales: Array
    """(d,)"""
    variance: float

    @property
    def d(self) -> int:
        return len(self.lengthscales)

    def __call__(self, one: Array, two: Array) -> Array:
        return self.variance * self.kernel.correlations(one / self.lengthscales, two / self.lengthscales)

    def placed(self, x: Array) -> Array:
        return np.asarray(x / self.lengthscales)

    def row(self, place: Array, places: Array) -> Array:
        return self.variance * self.kernel.at(places - place)

    def relevance(self, x: Array) -> Array:
        return np.asarray(np.std(x, axis=0) / self.lengthscales)

    def to_dict(self) -> dict[str, Any]:
        numbers = {"lengthscales": self.lengthscales.tolist(), "variance": self.variance}
        return {"kind": "scaled", "kernel": self.kernel.to_dict(), **numbers}


@dataclass(frozen=True, eq=False)
class Tree:
    """A decision tree. Node 0 is the root; a node with feature -1 is a leaf, else it goes `left` up to `threshold`."""

    feature: Array
    threshold: Array
    left: Array
    right: Array

    def leaves(self, x: Array) -> Array:
        """(n,) the leaf of each row (n, d)."""
        node = np.zeros(len(x), dtype=int)
        rows = np.arange(len(x))
        for _ in range(len(self.feature)):
            asked = self.feature[node]
            if np.all(asked == _LEAF):
                break
            low = x[rows, np.maximum(asked, 0)] <= self.threshold[node]
            node = np.where(asked == _LEAF, node, np.where(low, self.left[node], self.right[node]))
        return node

    def verified(self, d: int) -> Tree:
        """Raises ValueError if a node's feature or children do not exist, or a child comes before its parent."""
        n = len(self.feature)
        inner = np.flatnonzero(self.feature != _LEAF)
        if not n or any(len(a) != n for a in (self.threshold, self.left, self.right)):
            raise ValueError(
                "a tree's feature, threshold, left and right have one number a node, and at least one node"
            )
        low, high = int(np.min(self.feature)), int(np.max(self.feature))
        if low < _LEAF or high >= d:
            raise ValueError(f"a tree's features are -1 to {d - 1}, got {low} to {high}")
        for side in (self.left, self.right):
            if np.any(side[inner] <= inner) or np.any(side[inner] >= n):
                raise ValueError("a tree's children come after their parent")
        return self


@dataclass(frozen=True, eq=False)
class Forest:
    """The similarity of two configurations is the share of trees in which they share a leaf (Breiman, 2001; Scornet,
    2016).

    Its posterior's mean weighs readings as a forest does; in addition it has a variance. Trees of any library can be
    used.
    """

    trees: Sequence[Tree]
    d: int
    variance: float

    def __post_init__(self) -> None:
        if not self.trees:
            raise ValueError("a forest has at least one tree")
        for tree in self.trees:
            tree.verified(self.d)

    def __call__(self, one: Array, two: Array) -> Array:
        a, b = self.placed(one), self.placed(two)
        shared = np.zeros((len(a), len(b)))
        for j in range(len(self.trees)):
            shared += a[:, j, None] == b[None, :, j]
        return np.asarray(self.variance * shared / len(self.trees))

    def placed(self, x: Array) -> Array:
        return np.stack([tree.leaves(x) for tree in self.trees], axis=1)

    def row(self, place: Array, places: Array) -> Array:
        return np.asarray(self.variance * np.sum(places == place, axis=1) / len(self.trees))

    def relevance(self, x: Array) -> Array:
        """The share of the trees' nodes that ask for each feature."""
        asked = np.concatenate([tree.feature for tree in self.trees]).astype(int)
        return np.asarray(np.bincount(asked[asked >= 0], minlength=self.d) / max(1, len(asked)))

    def to_dict(self) -> dict[str, Any]:
        names = ("feature", "threshold", "left", "right")
        trees = [{n: getattr(tree, n).tolist() for n in names} for tree in self.trees]
        return {"kind": "forest", "trees": trees, "d": self.d, "variance": self.variance}


def covariance_from_dict(data: Mapping[str, Any]) -> Covariance:
    """The covariance that `to_dict` wrote. Raises ValueError for any other document."""
    kind = data.get("kind")
    if kind == "scaled":
        lengthscales = np.array(data["lengthscales"], dtype=float)
        return Scaled(kernel_from_dict(data["kernel"]), lengthscales, float(data["variance"]))
    if kind == "forest":
        return Forest([_tree(tree) for tree in data["trees"]], int(data["d"]), float(data["variance"]))
    raise ValueError(f"no covariance of the kind {kind!r}")


def _tree(data: Mapping[str, Any]) -> Tree:
    feature, left, right = (np.array(data[n], dtype=int) for n in ("feature", "left", "right"))
    return Tree(feature, np.array(data["threshold"], dtype=float), left, right)


def matern52(lengthscales: Array, variance: float) -> Scaled:
    """The default kernel at these length-scales (d,)."""
    return Scaled(MATERN52, lengthscales, variance)

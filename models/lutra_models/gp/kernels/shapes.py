"""Kernels: how the correlation of two configurations falls with the distance of their features.

A kernel has no hyperparameters: a fit finds length-scales and a variance for it (`covariance.Scaled`). Each is a value
that plain numbers describe, so that a service predicts from a stored model without the package that brought its kernel.
Shapes: m and n configurations, d features.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from lutra_models import extensions
from lutra_models.gp.options.reading import Named

Array = NDArray[np.float64]
_ROOT3, _ROOT5 = math.sqrt(3.0), math.sqrt(5.0)
_NEAR_ONE = 1e-6


class Kernel(Protocol):
    """A correlation: 1 if two configurations are equal, positive definite over any set of them.

    One of `KERNELS`, or an installed package brings it; it passes `gp.conformance.KernelConformance`.
    """

    @property
    def name(self) -> str: ...

    def correlations(self, one: Array, two: Array) -> Array:
        """(m, n) of features (m, d) and (n, d), which are in length-scales."""

    def at(self, apart: Array) -> Array:
        """(n,) of differences (n, d) in length-scales, in sums whose bits do not depend on n or on threads."""

    def terms(self, squares: Array, shrink: Array) -> tuple[Array, Callable[[Array], Array]]:
        """(n,) correlations of squared differences (d, n) of each feature, which (d,) `shrink` brings to length-scales.

        The function gives, for weights (n,), the weighted sum of the derivatives by each length-scale's logarithm (d,).
        """

    def to_dict(self) -> dict[str, Any]:
        """Plain values from which `kernel_from_dict` makes it again."""


@dataclass(frozen=True)
class Radial:
    """A kernel of the distance alone. `of` gives, at squared distances, the correlations and their derivatives."""

    name: str
    of: Callable[[Array], tuple[Array, Array]]

    def correlations(self, one: Array, two: Array) -> Array:
        square = np.sum(one * one, 1)[:, None] + np.sum(two * two, 1)[None, :] - 2.0 * (one @ two.T)
        return self.of(np.maximum(square, 0.0))[0]

    def at(self, apart: Array) -> Array:
        return self.of(np.sum(apart * apart, axis=1))[0]

    def terms(self, squares: Array, shrink: Array) -> tuple[Array, Callable[[Array], Array]]:
        values, slopes = self.of(shrink @ squares)
        return values, lambda weights: np.asarray(-2.0 * shrink * (squares @ (weights * slopes)))

    def to_dict(self) -> dict[str, Any]:
        return {"kind": self.name}


def _matern52(square: Array) -> tuple[Array, Array]:
    r = _ROOT5 * np.sqrt(square)
    decay = np.exp(-r)
    return (1.0 + r + r * r / 3.0) * decay, (-5.0 / 6.0) * decay * (1.0 + r)


def _matern32(square: Array) -> tuple[Array, Array]:
    r = _ROOT3 * np.sqrt(square)
    decay = np.exp(-r)
    return (1.0 + r) * decay, -1.5 * decay


def _rbf(square: Array) -> tuple[Array, Array]:
    values = np.exp(-0.5 * square)
    return values, -0.5 * values


MATERN52 = Radial("matern52", _matern52)
"""Twice differentiable functions: the default."""
MATERN32 = Radial("matern32", _matern32)
"""Rougher functions, differentiable once."""
RBF = Radial("rbf", _rbf)
"""Smooth functions: they predict far from the readings, and err most at steps."""


@dataclass(frozen=True)
class Mixture(Radial):
    """A custom kernel: Σ wᵢ exp(-rᵢ s / 2) at the squared distance s, with weights wᵢ and rates rᵢ.

    Every kernel of the distance that is valid in any number of dimensions is such a mixture (Schoenberg, Annals of
    Mathematics 1938), of finitely many terms or in their limit.
    """

    weights: tuple[float, ...]
    rates: tuple[float, ...]

    @classmethod
    def named(cls, name: str, weights: tuple[float, ...], rates: tuple[float, ...]) -> Mixture:
        """Raises ValueError for weights that are not positive or do not sum to 1, and for rates below 0."""
        if not weights or len(weights) != len(rates):
            raise ValueError(
                f"kernel {name!r}: {len(weights)} weights and {len(rates)} rates; the numbers must be equal"
            )
        if not all(w > 0 for w in weights) or abs(sum(weights) - 1.0) > _NEAR_ONE:
            raise ValueError(f"kernel {name!r}: weights must be positive and sum to 1, got {weights}")
        if not all(r >= 0 and math.isfinite(r) for r in rates):
            raise ValueError(f"kernel {name!r}: rates must be finite and not negative, got {rates}")
        w, r = np.array(weights), np.array(rates)

        def of(square: Array) -> tuple[Array, Array]:
            each = w * np.exp(-0.5 * r * square[..., None])
            return np.sum(each, -1), -0.5 * np.sum(each * r, -1)

        return cls(name, of, tuple(map(float, weights)), tuple(map(float, rates)))

    def to_dict(self) -> dict[str, Any]:
        return {"kind": "mixture", "name": self.name, "weights": list(self.weights), "rates": list(self.rates)}


@dataclass(frozen=True)
class Additive:
    """The mean of one-dimensional kernels, one a feature: settings that do not interact (Duvenaud et al., 2011)."""

    name: str
    each: Radial

    def correlations(self, one: Array, two: Array) -> Array:
        total = np.zeros((len(one), len(two)))
        for j in range(one.shape[1]):
            total += self.each.of((one[:, j, None] - two[None, :, j]) ** 2)[0]
        return np.asarray(total / one.shape[1])

    def at(self, apart: Array) -> Array:
        return np.asarray(np.sum(self.each.of(apart * apart)[0], axis=1) / apart.shape[1])

    def terms(self, squares: Array, shrink: Array) -> tuple[Array, Callable[[Array], Array]]:
        near = shrink[:, None] * squares
        values, slopes = self.each.of(near)
        d = len(shrink)
        return np.mean(values, axis=0), lambda weights: np.asarray((-2.0 / d) * ((slopes * near) @ weights))

    def to_dict(self) -> dict[str, Any]:
        return {"kind": "additive", "name": self.name, "each": self.each.to_dict()}


ADDITIVE = Additive("additive", MATERN52)
KERNELS: tuple[Kernel, ...] = (MATERN52, MATERN32, RBF, ADDITIVE)


def kernel(name: str | Named) -> Kernel:
    """The kernel of this name, or the given kernel itself.

    Raises MissingExtension for an unknown name that no installed package adds, and BrokenExtension.
    """
    if not isinstance(name, str):
        return cast(Kernel, name)
    for one in KERNELS:
        if one.name == name:
            return one
    brought: Kernel = extensions.plugged(extensions.KERNELS, name)
    return brought


def kernel_from_dict(data: Mapping[str, Any]) -> Kernel:
    """The kernel that `to_dict` wrote, without the package that added it. Raises ValueError for any other document."""
    kind = data.get("kind")
    return _additive_from(data) if kind == "additive" else _radial_from(data)


def _additive_from(data: Mapping[str, Any]) -> Additive:
    return Additive(str(data["name"]), _radial_from(data["each"]))


def _radial_from(data: Mapping[str, Any]) -> Radial:
    if data.get("kind") == "mixture":
        return Mixture.named(str(data["name"]), tuple(data["weights"]), tuple(data["rates"]))
    for one in (MATERN52, MATERN32, RBF):
        if one.name == data.get("kind"):
            return one
    raise ValueError(f"no kernel of the kind {data.get('kind')!r}")

"""The open-source OtterTune's recommender as it really was: nothing about its Gaussian process is learned.

Its kernel is exp(−distance / 2) with unit variance and unit noise over standardised ordinal knobs on linear scales;
it minimises mean − β·deviation by 500 steps of Adam from 30 random points and the 10 best (CMU's repository, 2020).

Shapes: n observations, s starts, k knobs.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from lutra_models import Choice
from scipy.linalg import cho_factor, cho_solve, solve_triangular
from scipy.stats import qmc

from benchmarks.tuning import cube
from benchmarks.tuning.contenders import Problem
from benchmarks.tuning.warm_tasks import OBJECTIVE

_BETA = 0.78
_SCALE = 2.0
_STEPS, _RATE = 500, 0.01
_TINY = 1e-9


class OtterTune:
    """`first` configurations of a Latin hypercube (the default's reading counts among them), then its search."""

    def __init__(self, task: Problem, seed: int, _budget: int, *, first: int) -> None:
        self._task, self._rng = task, np.random.default_rng(seed)
        self._design = qmc.LatinHypercube(len(task.space), seed=seed).random(first)
        self._points: list[np.ndarray] = []
        self._losses: list[float] = []

    def ask(self) -> Mapping[str, Any]:
        told = len(self._points)
        return self._decoded(self._design[told] if told < len(self._design) else self._best())

    def tell(self, configuration: Mapping[str, Any], metrics: Mapping[str, float] | None) -> None:
        assert metrics is not None
        numbers = cube.matrix(self._task.space.knobs, [configuration])[0]
        self._points.append((numbers - self._low + self._middle) / self._span)
        self._losses.append(-self._task.sign * metrics[OBJECTIVE])

    def _best(self) -> np.ndarray:
        """(k,) in the unit cube."""
        x, y = np.array(self._points), np.array(self._losses)
        mean, deviation = x.mean(0), x.std(0) + _TINY
        near = x[np.argsort(y)[:10]]
        starts = np.vstack([self._rng.random((30, x.shape[1])), near + 1e-3 * self._rng.standard_normal(near.shape)])
        z = (x - mean) / deviation
        low, high = -mean / deviation, (1 - mean) / deviation
        found = descend((starts - mean) / deviation, z, (y - y.mean()) / (y.std() + _TINY), low, high)
        best: np.ndarray = np.clip(found * deviation + mean, 0, 1)
        return best

    def _decoded(self, unit: np.ndarray) -> Mapping[str, Any]:
        raw = self._low + np.minimum(unit, 1 - _TINY) * self._span
        rounded = [
            np.floor(x) if isinstance(k.domain, Choice) else np.rint(x) if k.domain.integer else x
            for k, x in zip(self._task.space, raw, strict=True)
        ]
        return cube.configurations(self._task.space.knobs, np.array([rounded]))[0]

    @property
    def _low(self) -> np.ndarray:
        return np.array([0.0 if isinstance(k.domain, Choice) else k.domain.low for k in self._task.space])

    @property
    def _span(self) -> np.ndarray:
        domains = [k.domain for k in self._task.space]
        return np.array([float(len(d.options)) if isinstance(d, Choice) else d.high - d.low for d in domains])

    @property
    def _middle(self) -> np.ndarray:
        return np.array([0.5 if isinstance(k.domain, Choice) else 0.0 for k in self._task.space])


def descend(x: np.ndarray, z: np.ndarray, y: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """(k,) best of (s, k) starts after Adam on the lower confidence bound, given (n, k) points and (n,) losses."""
    lower = cho_factor(_kernel(z, z)[0] + np.eye(len(z)), lower=True)
    alpha = cho_solve(lower, y)
    first, second = np.zeros_like(x), np.zeros_like(x)
    bound, gradient = lower_bound(x, z, lower, alpha)
    for step in range(1, _STEPS + 1):
        first, second = 0.9 * first + 0.1 * gradient, 0.999 * second + 0.001 * gradient**2
        move = first / (1 - 0.9**step) / (np.sqrt(second / (1 - 0.999**step)) + 1e-8)
        x = np.clip(x - _RATE * move, low, high)
        bound, gradient = lower_bound(x, z, lower, alpha)
    best: np.ndarray = x[np.argmin(bound)]
    return best


def lower_bound(
    x: np.ndarray, z: np.ndarray, lower: tuple[np.ndarray, bool], alpha: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """(s,) mean − β·deviation and its (s, k) gradient at (s, k) points."""
    k, distance = _kernel(x, z)
    solved = cho_solve(lower, k.T).T
    half = solve_triangular(lower[0], k.T, lower=True)
    deviation = np.sqrt(np.maximum(1 - (half**2).sum(0), _TINY))
    weight = (alpha[None] + _BETA * solved / deviation[:, None]) * -k / (_SCALE * np.maximum(distance, _TINY))
    return k @ alpha - _BETA * deviation, weight.sum(1)[:, None] * x - weight @ z


def _kernel(x: np.ndarray, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(s, n) covariances and distances."""
    square = (x**2).sum(1)[:, None] + (z**2).sum(1)[None] - 2 * x @ z.T
    distance = np.sqrt(np.maximum(square, 0.0))
    return np.exp(-distance / _SCALE), distance

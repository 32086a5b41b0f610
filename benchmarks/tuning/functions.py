"""Simulated workloads whose noise is known: functions of several shapes, and readings from none to heavy tails.

Shapes: m configurations, d settings, all of them numbers from 0 to 1.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from lutra_models import Knob, KnobSpace, Number

from benchmarks.tuning.synthetic import targets

Function = Callable[[np.ndarray], np.ndarray]
Noise = Literal["none", "quiet", "noisy", "heavy tails"]
NOISES: tuple[Noise, ...] = ("none", "quiet", "noisy", "heavy tails")
QUIET, NOISY = 0.007, 0.07
_TAIL, _FREEDOM, _STALLS, _STALL = 0.035, 2.5, 0.06, 0.3
"""Heavy tails: a Student t, and now and then a stall that only ever makes a reading worse."""
_LEVEL, _SPREAD = 1000.0, 0.3
_TERMS = 256


@dataclass(frozen=True, eq=False)
class Workload:
    """Throughput over settings from 0 to 1: its logarithm has the deviation `_SPREAD` over uniform places."""

    name: str
    d: int
    function: Function
    middle: float
    scale: float

    @property
    def space(self) -> KnobSpace:
        return KnobSpace([Knob(f"k{j}", Number(0.0, 1.0)) for j in range(self.d)])

    def truths(self, unit: np.ndarray) -> np.ndarray:
        """(m,) at (m, d)."""
        return np.asarray(_LEVEL * np.exp(self.scale * (self.function(unit) - self.middle)))

    def readings(self, unit: np.ndarray, noise: Noise, rng: np.random.Generator) -> np.ndarray:
        """(m,) at (m, d)."""
        return np.asarray(self.truths(unit) * np.exp(errors(noise, len(unit), rng)))


def errors(noise: Noise, count: int, rng: np.random.Generator) -> np.ndarray:
    """Of so many readings, as logarithms."""
    if noise == "none":
        return np.zeros(count)
    if noise != "heavy tails":
        return (QUIET if noise == "quiet" else NOISY) * rng.standard_normal(count)
    stalls = (rng.random(count) < _STALLS) * rng.exponential(_STALL, count)
    return np.asarray(_TAIL * rng.standard_t(_FREEDOM, count) - stalls)


def workload(name: str, rng: np.random.Generator) -> Workload:
    """Another function of the shape for each state of `rng`."""
    d, draw = SHAPES[name]
    function = draw(rng)
    known = function(rng.random((500, d)))
    return Workload(name, d, function, float(np.mean(known)), _SPREAD / float(np.std(known)))


def _waves(rng: np.random.Generator, ranges: np.ndarray, freedom: float = np.inf) -> Function:
    """A draw of a Gaussian process with these length-scales: RBF, or a Matérn of half so many degrees of freedom."""
    w = rng.standard_normal((_TERMS, len(ranges)))
    if np.isfinite(freedom):
        w /= np.sqrt(rng.chisquare(freedom, (_TERMS, 1)) / freedom)
    phase, height = 2 * np.pi * rng.random(_TERMS), rng.standard_normal(_TERMS)
    return lambda unit: np.asarray(np.cos(unit @ (w / ranges).T + phase) @ height)


def _few(rng: np.random.Generator) -> Function:
    ranges = np.full(12, 1e3)
    ranges[rng.permutation(12)[:3]] = (0.5, 0.8, 1.5)
    return _waves(rng, ranges, 5.0)


def _apart(rng: np.random.Generator) -> Function:
    """Each setting by itself: a step, a hill or a saturation; and one interaction."""
    heights, centres = rng.standard_normal(6) * (1.5, 1.0, 0.7, 0.4, 0.2, 0.1), rng.random(6)
    kinds = rng.integers(0, 3, 6)

    def function(unit: np.ndarray) -> np.ndarray:
        off = unit - centres
        shapes = np.stack([np.tanh(4 * off), -4 * off**2, 1 / (1 + np.exp(-12 * off))])
        chosen = np.take_along_axis(shapes, kinds[None, None, :], 0)[0]
        return np.asarray(chosen @ heights + 0.5 * unit[:, 0] * unit[:, 1])

    return function


def _steps(rng: np.random.Generator) -> Function:
    order, cuts = rng.permutation(7), 0.2 + 0.6 * rng.random(2)

    def function(unit: np.ndarray) -> np.ndarray:
        a, b, c = (unit[:, j] for j in order[:3])
        return np.asarray(1.5 * (a > cuts[0]) + np.sin(3 * b) + 2.4 * np.minimum(c, cuts[1]))

    return function


def _server(rng: np.random.Generator) -> Function:
    shift = 5 * rng.random()
    return lambda unit: np.log(targets(unit, shift)[1])


SHAPES: dict[str, tuple[int, Callable[[np.random.Generator], Function]]] = {
    "smooth": (5, lambda rng: _waves(rng, np.array([0.4, 0.7, 1.2, 3.0, 6.0]))),
    "rough": (3, lambda rng: _waves(rng, np.full(3, 0.6), 3.0)),
    "few of many": (12, _few),
    "apart": (6, _apart),
    "steps": (7, _steps),
    "server": (8, _server),
}

"""A history as numbers: readings per configuration and metric, runs and failures.

Shapes: n distinct configurations, d features.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from lutra_models.gp.options import Targets
from lutra_models.gp.space.encoding import Array, Encoding
from lutra_models.gp.surrogate.transforms import Transform
from lutra_models.history import History
from lutra_models.knobs import Configuration
from lutra_models.metrics import P99, TARGETS, Objective


def targets(history: History) -> tuple[str, ...]:
    """The metrics that a recommendation predicts: the objective's, the limits', and p99 and QPS where measured.

    Under several loads, the metrics of each load.
    """
    names = [history.objective.metric, *(limit.metric for limit in history.limits), *(m.name for m in TARGETS)]
    names += history.aim.predicted if history.aim else ()
    return tuple(dict.fromkeys(n for n in names if any(n in o.metrics for o in history.observations)))


def direction(history: History, metric: str) -> float:
    """+1 if a larger reading of the metric is better, else -1: according to the objective, a limit, or because it is a
    latency.
    """
    if metric == history.objective.metric:
        return history.objective.gain(1.0)
    goals = [limit.goal for limit in history.limits if limit.metric == metric]
    under_load = history.aim.direction(metric) if history.aim and not goals else None
    if under_load is not None:
        return under_load
    return Objective(metric, goals[0]).gain(1.0) if goals else (-1.0 if metric == P99.name else 1.0)


@dataclass(frozen=True, eq=False)
class Readings:
    """One metric's readings, aggregated per configuration, in standard units.

    `repeats` (n,) counts each row's readings, by their weights; `scatter` is the sum of squares of the readings around
    their rows' means and `freedom` its degrees of freedom. `noise_factors` (n,) is the additional scatter of a reading
    of each row, in multiples of the noise's variance, by which `repeats` and `scatter` are divided. `trends` (n, p) are
    columns that enter linearly, with coefficients distributed as N(`slopes`, `doubts`²), both (p,): what other
    workloads say.
    """

    x: Array
    z: Array
    repeats: Array
    scatter: float
    freedom: int
    transform: Transform
    noise_guess: float
    """Median of the prior of the noise's standard deviation, in standard units."""
    trends: Array
    slopes: Array
    doubts: Array
    noise_factors: Array = field(default_factory=lambda: np.zeros(0))
    """Of the first rows; 1 for the others."""
    bounds: Array = field(default_factory=lambda: np.zeros(0))
    """(b,) bounds from windows that were ended early, in standard units; no surrogate is fitted to them."""

    def thinned(self, most: int) -> Readings:
        """At most this number of rows, evenly in their order: enough for the hyperparameters."""
        if len(self.z) <= most:
            return self
        return self.chosen(np.linspace(0, len(self.z) - 1, most).round().astype(int))

    def chosen(self, kept: NDArray[np.integer]) -> Readings:
        """These rows alone, by their places in ascending order."""
        noise_factors = self.noise_factors[kept[kept < len(self.noise_factors)]]
        rows = {"x": self.x[kept], "z": self.z[kept], "repeats": self.repeats[kept], "trends": self.trends[kept]}
        return replace(self, **rows, noise_factors=noise_factors)


@dataclass(frozen=True, eq=False)
class Grouped:
    """One metric's readings by configuration, in the metric's unit.

    `weights` are 1 for a reading in a quiet window and less in a disturbed one; `within` (n,) is the additional
    unsteadiness inside each configuration's windows, as a multiple of a variance. See `surrogate.steadiness`.
    """

    configurations: tuple[Configuration, ...]
    readings: tuple[Array, ...]
    weights: tuple[Array, ...]
    within: Array
    bounded: tuple[tuple[Configuration, float], ...] = ()
    """Configurations whose windows were ended early, each with its bound, which is not a reading."""

    @classmethod
    def of(
        cls,
        pairs: Iterable[tuple[Configuration, float]],
        windows: Sequence[tuple[float, float]] | None = None,
        bounded: Iterable[tuple[Configuration, float]] = (),
    ) -> Grouped:
        """`windows` are, for each pair, its weight and what its window says of `within`."""
        pairs = list(pairs)
        groups: dict[Configuration, list[tuple[float, float, float]]] = {}
        for (configuration, value), (weight, within) in zip(pairs, windows or [(1.0, 1.0)] * len(pairs), strict=True):
            groups.setdefault(configuration, []).append((value, weight, within))
        rows = [np.array(v) for v in groups.values()]
        unsteady = np.array([float(np.mean(r[:, 2])) for r in rows])
        weights = tuple(r[:, 1] for r in rows)
        return cls(tuple(groups), tuple(r[:, 0] for r in rows), weights, unsteady, tuple(bounded))

    @classmethod
    def apart(cls, pairs: Sequence[tuple[Configuration, float]]) -> Grouped:
        """Every reading as a separate row, in their order."""
        values = tuple(np.array([v]) for _, v in pairs)
        return cls(tuple(c for c, _ in pairs), values, (np.ones(1),) * len(values), np.ones(len(values)))

    @property
    def values(self) -> Array:
        """Every reading, one after the other."""
        return np.concatenate(self.readings)


def readings_of(grouped: Grouped, encoding: Encoding, good: float, options: Targets, drawn: bool = False) -> Readings:
    """The targets to which a surrogate is fitted; `good` is +1 if larger is better, else -1.

    Where `drawn`, the bad tail is winsorised: terrible values need no precise model. Below the median by more than the
    distance from the median to the best, standard units grow with the logarithm only (after HEBO, Cowen-Rivers et al.,
    JAIR 2022).
    """
    transform = Transform.of(grouped.values, good, options)
    each, weights = [transform.forward(v) for v in grouped.readings], grouped.weights
    guess = min(max(transform.relative(options.noise, grouped.values), options.least_noise), options.most_noise)
    means = [np.average(v, weights=w) for v, w in zip(each, weights, strict=True)]
    squares = np.array([np.sum(w * (v - m) ** 2) for v, w, m in zip(each, weights, means, strict=True)])
    freedom = np.array([len(v) - 1 for v in each])
    usual = _usual(squares, freedom, guess, options)
    widths = options.stall * np.sqrt(usual)
    z = np.array([_middle(v, w, width) for v, w, width in zip(each, weights, widths, strict=True)])
    bounds = transform.forward(np.array([bound for _, bound in grouped.bounded]))
    if drawn:
        middle, width = _upper_half(good * z, options.least_half)
        z, bounds = (good * _drawn_in(good * those, middle, width) for those in (z, bounds))
    rows = options.noise_factor_readings
    seen = np.maximum((rows * grouped.within + squares / usual) / (rows + freedom), 1.0)
    noise_factors = np.minimum(seen, options.most_noise_factor)
    repeats = np.array([np.sum(w) for w in weights]) / noise_factors
    scatter, none, x = float(np.sum(squares / seen)), np.zeros(0), encoding.encode(grouped.configurations)
    trends = np.zeros((len(z), 0))
    degrees = int(np.sum(freedom))
    return Readings(x, z, repeats, scatter, degrees, transform, guess, trends, none, none, noise_factors, bounds)


def _usual(squares: Array, freedom: Array, guess: float, options: Targets) -> Array:
    """(n,) the variance of a reading that the repeats of all other rows speak for, shrunk towards the guess.

    `squares` (n,) are sums around each row's mean, with `freedom` (n,) degrees of freedom.
    """
    others = options.usual_readings * guess**2 + np.sum(squares) - squares
    return np.asarray(others / (options.usual_readings + np.sum(freedom) - freedom))


def _middle(values: Array, weights: Array, width: float) -> float:
    """The mean of a row's readings (r,), of which none counts as farther from their median than `width`.

    Two readings have no median of their own: which of them stalled, a third one tells.
    """
    if len(values) > 2:
        values = np.clip(values, np.median(values) - width, np.median(values) + width)
    return float(np.average(values, weights=weights))


def _upper_half(z: Array, least: float) -> tuple[float, float]:
    """The median of the rows (n,), and how far the best lies above it, at least `least`."""
    middle = float(np.median(z))
    return middle, max(float(np.max(z)) - middle, least)


def _drawn_in(z: Array, middle: float, width: float) -> Array:
    """What lies below the middle by more than the width, on a logarithm from there."""
    depth = np.maximum(middle - width - z, 0.0)
    return np.asarray(np.where(depth > 0, middle - width - width * np.log1p(depth / width), z))

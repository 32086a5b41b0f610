"""What a history holds, as numbers: readings per configuration and metric, runs and failures.

Shapes: n distinct configurations, d features.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from lutra_models.gp.options import Targets
from lutra_models.gp.space.encoding import Array, Encoding
from lutra_models.gp.surrogate.transforms import Transform
from lutra_models.history import History
from lutra_models.knobs import Configuration
from lutra_models.metrics import P99, TARGETS, Objective


def targets(history: History) -> tuple[str, ...]:
    """The metrics that a recommendation predicts: the objective's, the limits', and p99 and QPS where measured."""
    names = [history.objective.metric, *(limit.metric for limit in history.limits), *(m.name for m in TARGETS)]
    return tuple(dict.fromkeys(n for n in names if any(n in o.metrics for o in history.observations)))


def direction(history: History, metric: str) -> float:
    """+1 where a larger reading of the metric is better, else -1: by the objective, a limit, or its being a latency."""
    if metric == history.objective.metric:
        return history.objective.gain(1.0)
    goals = [limit.goal for limit in history.limits if limit.metric == metric]
    return Objective(metric, goals[0]).gain(1.0) if goals else (-1.0 if metric == P99.name else 1.0)


@dataclass(frozen=True, eq=False)
class Readings:
    """One metric's readings, aggregated per configuration, in standard units.

    `repeats` (n,) counts each row's readings; `scatter` is the sum of squares of the readings around their rows' means
    and `freedom` its degrees of freedom. `trends` (n, p) are columns that enter linearly, with coefficients distributed
    as N(`slopes`, `doubts`²), both (p,): what other workloads say.
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

    def thinned(self, most: int) -> Readings:
        """At most so many of the rows, evenly in their order: enough to find hyperparameters from."""
        if len(self.z) <= most:
            return self
        kept = np.linspace(0, len(self.z) - 1, most).round().astype(int)
        return replace(self, x=self.x[kept], z=self.z[kept], repeats=self.repeats[kept], trends=self.trends[kept])


@dataclass(frozen=True, eq=False)
class Grouped:
    """One metric's readings by configuration, in the metric's unit."""

    configurations: tuple[Configuration, ...]
    readings: tuple[Array, ...]

    @classmethod
    def of(cls, pairs: Iterable[tuple[Configuration, float]]) -> Grouped:
        groups: dict[Configuration, list[float]] = {}
        for configuration, value in pairs:
            groups.setdefault(configuration, []).append(value)
        return cls(tuple(groups), tuple(np.array(v) for v in groups.values()))

    @property
    def values(self) -> Array:
        """Every reading, one after the other."""
        return np.concatenate(self.readings)


def readings_of(grouped: Grouped, encoding: Encoding, good: float, options: Targets, drawn: bool = False) -> Readings:
    """What a surrogate is fitted to; `good` is +1 where larger is better, else -1.

    Where `drawn`, the bad tail is drawn in: what is terrible need not be modelled precisely. Below the median by more
    than the distance from the median to the best, standard units grow with the logarithm only (after HEBO,
    Cowen-Rivers et al., JAIR 2022).
    """
    transform = Transform.of(grouped.values, good, options)
    each = [transform.forward(v) for v in grouped.readings]
    z = np.array([np.mean(v) for v in each])
    if drawn:
        z = good * _drawn_in(good * z, options.least_half)
    guess = min(max(transform.relative(options.noise, grouped.values), options.least_noise), options.most_noise)
    scatter = float(sum(np.sum((v - np.mean(v)) ** 2) for v in each))
    repeats = np.array([len(v) for v in each], dtype=float)
    freedom = int(np.sum(repeats - 1))
    none = np.zeros(0)
    x = encoding.encode(grouped.configurations)
    return Readings(x, z, repeats, scatter, freedom, transform, guess, np.zeros((len(z), 0)), none, none)


def _drawn_in(z: Array, least_half: float) -> Array:
    """The rows below the median less the upper half's width, on a logarithm from there."""
    middle, best = float(np.median(z)), float(np.max(z))
    width = max(best - middle, least_half)
    depth = np.maximum(middle - width - z, 0.0)
    return np.asarray(np.where(depth > 0, middle - width - width * np.log1p(depth / width), z))

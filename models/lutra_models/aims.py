"""One number from readings under several loads: how a configuration compares with the baseline, over all of them.

Under each load, a reading is divided by the load's reference: the geometric mean of the baseline's readings under it.
The number therefore has no unit, 1 is the baseline, and loads with a high and a low throughput have the same weight.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any, Literal, get_args

from lutra_models.metrics import P99, TARGETS, Limit, Objective

Over = Literal["weighted", "worst"]
MOST_LOADS = 8
PER_LOAD = (*(m.name for m in TARGETS), "tps")
"""Every load generator measures these: a limit on one of them holds under each load."""
FLOOR = 1e-3
"""A reading of zero counts as a thousandth of the reference."""


def under(metric: str, load: str) -> str:
    """The name of a metric that was measured under one of several loads."""
    return f"{metric}.{load}"


@dataclass(frozen=True)
class Aim:
    """The quantity to improve under several loads: `objective` under each of them.

    `weights` is by load, in the order in which they are measured; only their ratios count. Over all loads, "weighted"
    takes the weighted geometric mean of the readings' ratios to the references, "worst" the least good of these ratios.
    """

    objective: Objective
    weights: Mapping[str, float]
    over: Over = "weighted"

    def __post_init__(self) -> None:
        if self.over not in get_args(Over):
            raise ValueError(f"an aim is one of {', '.join(get_args(Over))}, got {self.over!r}")
        if not 1 <= len(self.weights) <= MOST_LOADS:
            raise ValueError(f"an aim is over 1 to {MOST_LOADS} loads, got {len(self.weights)}")
        for load, weight in self.weights.items():
            if not (math.isfinite(weight) and weight > 0):
                raise ValueError(f"the weight of {load} must be a number above 0, got {weight}")

    @property
    def loads(self) -> tuple[str, ...]:
        return tuple(self.weights)

    @property
    def judged(self) -> Objective:
        """The one metric over all loads, and its direction of improvement."""
        return Objective(f"aim.{self.objective.metric}", self.objective.goal)

    @property
    def predicted(self) -> tuple[str, ...]:
        """The metrics that are predicted under each load: the objective's metric, p99 and QPS."""
        metrics = dict.fromkeys((self.objective.metric, *(m.name for m in TARGETS)))
        return tuple(under(metric, load) for load in self.loads for metric in metrics)

    def limits(self, asked: Sequence[Limit]) -> tuple[Limit, ...]:
        """Limits under each load, for metrics that every load generator measures; other limits stay as they are."""
        found: list[Limit] = []
        for limit in asked:
            names = [under(limit.metric, x) for x in self.loads] if limit.metric in PER_LOAD else [limit.metric]
            found += (Limit(name, limit.at_most, limit.at_least) for name in names)
        return tuple(found)

    def direction(self, metric: str) -> float | None:
        """+1 if a larger reading of a metric under a load is better, else -1; None for any other metric."""
        plain = {under(m, x): m for x in self.loads for m in (self.objective.metric, *PER_LOAD)}.get(metric)
        if plain is None:
            return None
        if plain == self.objective.metric:
            return self.objective.gain(1.0)
        return -1.0 if plain == P99.name else 1.0

    def completed(self, readings: Sequence[Mapping[str, float]], of_baseline: Sequence[bool]) -> list[dict[str, float]]:
        """The readings, each with its aim if the objective was measured under every load.

        `of_baseline` says which ones give the references. Without any, the first whole reading does.
        """
        own = [r for r, is_own in zip(readings, of_baseline, strict=True) if is_own and self._is_whole(r)]
        known = own or [r for r in readings if self._is_whole(r)][:1]
        references = {load: _typical([r[metric] for r in known]) for load, metric in self._metrics.items()}
        return [
            {**r, self.judged.metric: self._over(r, references)} if self._is_whole(r) else dict(r) for r in readings
        ]

    @property
    def _metrics(self) -> dict[str, str]:
        """By load, the name of the objective's metric under it."""
        return {load: under(self.objective.metric, load) for load in self.loads}

    def _is_whole(self, reading: Mapping[str, float]) -> bool:
        return all(metric in reading for metric in self._metrics.values())

    def _over(self, reading: Mapping[str, float], references: Mapping[str, float]) -> float:
        ratios = {load: max(reading[m] / references[load], FLOOR) for load, m in self._metrics.items()}
        if self.over == "worst":
            return min(ratios.values(), key=self.objective.gain)
        total = sum(self.weights.values())
        return math.exp(sum(self.weights[load] / total * math.log(ratio) for load, ratio in ratios.items()))

    def to_dict(self) -> dict[str, Any]:
        return {
            "metric": self.objective.metric,
            "goal": self.objective.goal,
            "loads": [[load, weight] for load, weight in self.weights.items()],
            "over": self.over,
        }

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> Aim:
        objective = Objective(document["metric"], document["goal"])
        return cls(objective, dict(document["loads"]), document["over"])


def _typical(values: Sequence[float]) -> float:
    """The geometric mean of what is above zero; 1 if nothing is."""
    logs = [math.log(v) for v in values if v > 0]
    return math.exp(fmean(logs)) if logs else 1.0

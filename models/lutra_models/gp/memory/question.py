"""What is known of the workload that past ones are wanted for.

Shapes: n configurations measured.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from lutra_models.gp.space.encoding import Array
from lutra_models.history import History
from lutra_models.knobs import Configuration, Value


@dataclass(frozen=True, eq=False)
class Question:
    """`counters` are medians; `configurations` (n) and `values` (n,) are what was measured of the metric, each
    configuration's readings as their mean. All empty before anything was measured."""

    engine: str
    metric: str
    counters: Mapping[str, float]
    context: Mapping[str, Value]
    configurations: tuple[Configuration, ...]
    values: Array

    @classmethod
    def of(cls, history: History, engine: str) -> Question:
        metric = history.objective.metric
        read = [o for o in history.completed if metric in o.metrics]
        names = set(read[0].metrics).intersection(*(o.metrics for o in read)) - {metric} if read else set()
        counters = {n: float(np.median([o.metrics[n] for o in read])) for n in names}
        groups: dict[Configuration, list[float]] = {}
        for configuration, value in history.values(metric):
            groups.setdefault(configuration, []).append(value)
        values = np.array([float(np.mean(v)) for v in groups.values()])
        return cls(engine, metric, counters, history.context or {}, tuple(groups), values)

    @property
    def level(self) -> float | None:
        """The median reading, on its logarithm where all are positive; None before there is one."""
        if not len(self.values):
            return None
        median = float(np.median(self.values))
        return math.log(median) if np.all(self.values > 0) else median

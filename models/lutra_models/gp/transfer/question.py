"""The known facts of the workload for which past ones are wanted.

Shapes: n configurations measured.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

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
    def on_log(self) -> bool:
        """Whether the metric is compared on its logarithm: all of it is positive."""
        return bool(np.all(self.values > 0))

    @property
    def scaled(self) -> Array:
        """(n,) the values as they are compared."""
        return np.log(self.values) if self.on_log else self.values

    @property
    def unit(self) -> float:
        """The unit for relative changes, on the scale of `scaled`."""
        return 1.0 if self.on_log else float(np.mean(np.abs(self.values)))

    @property
    def level(self) -> float | None:
        """The median reading on the scale of comparison; None before there is one."""
        return float(np.median(self.scaled)) if len(self.values) else None

    def thinned(self, most: int) -> Question:
        """At most this number of configurations, evenly in the order in which they were measured."""
        if len(self.values) <= most:
            return self
        kept = np.linspace(0, len(self.values) - 1, most).round().astype(int)
        return replace(self, configurations=tuple(self.configurations[i] for i in kept), values=self.values[kept])

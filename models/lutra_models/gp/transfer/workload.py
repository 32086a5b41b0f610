"""A past workload in the memory: the data by which it is compared, and its lessons.

Made from the model that was fitted to it, and small: some kilobytes, whatever was measured.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from lutra_models.gp.fitted.snapshot import Signature, Snapshot
from lutra_models.gp.surrogate.posterior import GaussianProcess
from lutra_models.gp.transfer.effects import Effect, effects, unexplained
from lutra_models.knobs import Value

COUNTERS = 16
"""Counters of a signature that are kept, evenly by their names."""
METRICS = 4
RECIPE = 2
"""The version of the lessons: when it grows, stored workloads are fitted again."""


@dataclass(frozen=True, eq=False)
class Lesson:
    """A workload's lesson about one metric: the levels of its readings, and the effects of settings.

    Levels and effects are on the metric's logarithm where `log`. `rest` is the variance of the readings that the sum of
    the effects leaves. `good` is +1 if more of the metric is better, else -1.
    """

    log: bool
    low: float
    high: float
    rest: float
    effects: tuple[Effect, ...]
    good: float = 1.0

    @property
    def doubt(self) -> float:
        """The variance of a configuration's place on the sum of the effects."""
        return self.rest + sum(e.deviation**2 for e in self.effects) + 1e-9

    def to_dict(self) -> dict[str, Any]:
        told = {"log": self.log, "low": self.low, "high": self.high, "rest": self.rest, "good": self.good}
        return {**told, "effects": [e.to_dict() for e in self.effects]}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Lesson:
        told, good = tuple(Effect.from_dict(e) for e in data["effects"]), float(data["good"])
        return cls(bool(data["log"]), float(data["low"]), float(data["high"]), float(data["rest"]), told, good)


@dataclass(frozen=True, eq=False)
class Workload:
    """Its `signature` (counter → deciles), `context`, and its lessons by metric, the objective's first."""

    signature: Signature
    context: Mapping[str, Value]
    lessons: Mapping[str, Lesson]

    @classmethod
    def of(cls, snapshot: Snapshot, objective: str) -> Workload:
        """The memory's record of a fitted model; only its own readings count."""
        names = sorted(snapshot.posteriors, key=lambda n: n != objective)[:METRICS]
        own = {name: gp for name in names if (gp := snapshot.bare(name)) is not None}
        lessons = {name: _lesson(snapshot, gp, snapshot.posteriors[name].spread.good) for name, gp in own.items()}
        return cls(_fewer(snapshot.signature), dict(snapshot.context), lessons)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON-able values."""
        return {
            "signature": {name: list(deciles) for name, deciles in self.signature.items()},
            "context": dict(self.context),
            "lessons": {name: lesson.to_dict() for name, lesson in self.lessons.items()},
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Workload:
        """The workload that `to_dict` wrote. Raises ValueError."""
        signature = {name: tuple(map(float, deciles)) for name, deciles in data["signature"].items()}
        return cls(signature, data["context"], {n: Lesson.from_dict(d) for n, d in data["lessons"].items()})


def _lesson(snapshot: Snapshot, gp: GaussianProcess, good: float) -> Lesson:
    seen = gp.transform.shift + gp.transform.scale * gp.z[: gp.read]
    found = effects(snapshot.encoding, gp, snapshot.home, good)
    rest = unexplained(found, snapshot.encoding, gp, good)
    return Lesson(gp.transform.log, float(np.min(seen)), float(np.max(seen)), rest, found, good)


def _fewer(signature: Signature) -> dict[str, tuple[float, ...]]:
    names = sorted(signature)
    if len(names) <= COUNTERS:
        return dict(signature)
    kept = np.linspace(0, len(names) - 1, COUNTERS).round().astype(int)
    return {names[i]: signature[names[i]] for i in kept}

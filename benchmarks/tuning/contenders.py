"""Who takes part in a race. An optimiser is asked for a configuration and told what was measured, in turn.

A peer's own environment imports this: it needs nothing of the recommender's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from lutra_models import Configuration, KnobSpace
from lutra_models.metrics import Goal

from benchmarks.tuning import cube


class Problem(Protocol):
    """All that an optimiser reads of a tuning task."""

    @property
    def space(self) -> KnobSpace: ...
    @property
    def default(self) -> Configuration: ...
    @property
    def goal(self) -> Goal: ...
    @property
    def sign(self) -> int: ...


class Optimiser(Protocol):
    def ask(self) -> Mapping[str, Any]:
        """The next configuration to measure."""

    def tell(self, configuration: Mapping[str, Any], metrics: Mapping[str, float] | None) -> None:
        """What was measured; None for a failure, to those who know failures."""


@dataclass(frozen=True)
class Contender:
    """An optimiser by name. `knows_failures`: it is told None, the others a value twice as bad as the worst they saw.

    `learns_default`: it takes the default's reading though it did not ask for it. `packages` is what it needs besides
    the project's own; `ours` says that it is the project's.
    """

    name: str
    make: Callable[[Problem, int, int], Optimiser]
    sentence: str
    knows_failures: bool = False
    learns_default: bool = True
    packages: tuple[str, ...] = ()
    ours: bool = False


class Random:
    """Uniform over the unit cube."""

    def __init__(self, task: Problem, seed: int, _budget: int) -> None:
        self._task, self._rng = task, np.random.default_rng(seed)

    def ask(self) -> Mapping[str, Any]:
        knobs = self._task.space.knobs
        return cube.configurations(knobs, cube.from_unit(knobs, self._rng.random((1, len(knobs)))))[0]

    def tell(self, configuration: Mapping[str, Any], metrics: Mapping[str, float] | None) -> None:
        """Learns nothing."""


RANDOM = Contender("random", Random, "uniformly random configurations", learns_default=False)

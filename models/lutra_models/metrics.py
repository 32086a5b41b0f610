"""Metrics and the direction in which they improve. `Objective.gain` is the only place where a sign is flipped."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from lutra_models.errors import printable

Goal = Literal["minimize", "maximize"]
P99Source = Literal["driver", "histogram", "prometheus", "estimated", "probe", "activity", "log"]
P99Of = Literal["statement", "transaction", "command"]


TAKEN = "host.taken_share"
"""The share by which others slowed the server, as its agent sees it."""
MOST_TAKEN = 0.99
NOW = "_now"
"""The suffix for a gauge's last value in a window; its mean has the gauge's own name."""
LONGEST_TEXT = 200
"""The maximum number of characters of a name in a window."""
MOST_TEXTS = 50
"""The maximum number of names in a window."""


def one_line(text: str) -> str:
    """A text from a database, in which characters that a terminal might obey, or that reverse the writing, become `?`;
    at most 200 characters.
    """
    told = printable(text[: LONGEST_TEXT + 1])
    return told if len(told) <= LONGEST_TEXT else f"{told[: LONGEST_TEXT - 1]}…"


def bounded(texts: Mapping[str, str]) -> dict[str, str]:
    """The first 50 names, each on one line."""
    return {name: one_line(text) for name, text in list(texts.items())[:MOST_TEXTS]}


@dataclass(frozen=True)
class Metric:
    """A number per window. The name contains the unit (`p99_ms`)."""

    name: str
    unit: str


QPS = Metric("qps", "statements per second")
TPS = Metric("tps", "transactions per second")
TPS_LOW = Metric("tps_low", "transactions per second")
"""The tenth percentile of a window's seconds: its reliable level."""
P99 = Metric("p99_ms", "milliseconds")
MEASURED = (QPS, TPS, TPS_LOW, P99)
LARGEST_READING = 1e18
"""A metric is a finite number from 0 to this."""
BETTER: Mapping[str, Goal] = {
    P99.name: "minimize",
    QPS.name: "maximize",
    TPS.name: "maximize",
    TPS_LOW.name: "maximize",
}
"""The direction of improvement of the metrics that Lutra measures itself."""
TARGETS = (P99, QPS)
"""The metrics that every recommendation predicts if the history has them."""


@dataclass(frozen=True)
class Objective:
    """The metric to improve. Every algorithm maximises `gain`."""

    metric: str
    goal: Goal

    def __post_init__(self) -> None:
        if not isinstance(self.metric, str):
            raise TypeError(f"an objective's metric is its name, got {self.metric!r}")
        if self.goal not in ("minimize", "maximize"):
            raise ValueError(f"goal must be 'minimize' or 'maximize', got {self.goal!r}")

    @property
    def refusal(self) -> str | None:
        """The reason why the goal is wrong; None if the goal is the metric's own, or if only its owner knows it."""
        right = BETTER.get(self.metric)
        if right is None or right == self.goal:
            return None
        less = "less" if right == "minimize" else "more"
        return f"{self.metric}: {less} of it is better, so the goal must be {right}, got {self.goal}"

    def gain(self, value: float) -> float:
        """Larger is better."""
        return value if self.goal == "maximize" else -value


@dataclass(frozen=True)
class Limit:
    """A constraint on one metric, in its unit: at most or at least, one of the two."""

    metric: str
    at_most: float | None = None
    at_least: float | None = None

    def __post_init__(self) -> None:
        if (self.at_most is None) == (self.at_least is None):
            raise ValueError(f"{self.metric}: give at_most or at_least, got {self.at_most} and {self.at_least}")
        if not math.isfinite(self.bound):
            raise ValueError(f"{self.metric}: the limit must be finite, got {self.bound}")

    @property
    def bound(self) -> float:
        """The number of `at_most` or `at_least`."""
        bound = self.at_most if self.at_most is not None else self.at_least
        assert bound is not None
        return bound

    @property
    def goal(self) -> Goal:
        """The direction that moves away from the limit."""
        return "minimize" if self.at_most is not None else "maximize"

    def holds(self, value: float) -> bool:
        """Whether this value keeps the limit."""
        return value <= self.bound if self.at_most is not None else value >= self.bound

    def __str__(self) -> str:
        return f"{self.metric} {'≤' if self.at_most is not None else '≥'} {self.bound:g}"

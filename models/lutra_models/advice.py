"""What the mathematics answers: predictions, reasons, recommendations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from lutra_models.errors import IllegalTransition
from lutra_models.knobs import Configuration, Value

RecommendationState = Literal[
    "computing", "proposed", "approved", "applied", "confirmed", "reverted", "rejected", "refused", "failed", "expired"
]

RecommendationKind = Literal["search", "handover", "manual", "subset", "rollback"]
SearchOrigin = Literal["current", "rule_based", "middle", "space_filling", "transfer", "improvement", "repeat"]
FinalOrigin = Literal["handover", "baseline"]
Origin = SearchOrigin | Literal["handover", "baseline", "manual", "subset", "rollback"]
"""Which step proposed a configuration: one of the search, one of a session's end, or an operator."""

_STEPS: dict[RecommendationState, tuple[RecommendationState, ...]] = {
    "computing": ("proposed", "failed", "expired"),
    "proposed": ("approved", "rejected", "expired"),
    "approved": ("applied", "refused", "failed", "expired", "rejected"),
    "applied": ("confirmed", "reverted", "failed"),
    "confirmed": ("reverted",),
    "reverted": (),
    "rejected": (),
    "refused": (),
    "failed": (),
    "expired": (),
}


def step(state: RecommendationState, to: RecommendationState) -> RecommendationState:
    """`to`, where `state` leads there. Raises IllegalTransition elsewhere."""
    if to not in _STEPS[state]:
        raise IllegalTransition(f"a recommendation that is {state} cannot become {to}")
    return to


def pending(state: RecommendationState) -> bool:
    """Whether something is still to come before a measurement: asked for, proposed or on its way."""
    return state in ("computing", "proposed", "approved", "applied")


@dataclass(frozen=True)
class Record:
    """Of `n` readings, each predicted without knowing it, the interval held `held`."""

    n: int
    held: int


@dataclass(frozen=True)
class Prediction:
    """A reading's distribution in the metric's unit, noise included: the median and a central interval at `level`.

    `far` says that the configuration lies well outside what was measured, and the interval is mostly prior; `record`
    how the same intervals fare on what was measured.
    """

    metric: str
    median: float
    low: float
    high: float
    level: float = 0.9
    far: bool = False
    record: Record | None = None

    def __post_init__(self) -> None:
        if not self.low <= self.median <= self.high:
            raise ValueError(
                f"{self.metric}: an interval must hold its median, got {self.low}, {self.median}, {self.high}"
            )

    def holds(self, value: float) -> bool:
        return self.low <= value <= self.high


@dataclass(frozen=True)
class Reason:
    """Why one setting changes: its old and new value, its share of the predicted effect, and a plain sentence.

    `effect` is the relative change of the objective's median when this setting alone goes back to `before`
    (0.08: the objective is predicted 8 % better with the change than without it); None where nothing was learned yet.
    """

    knob: str
    before: Value | None
    after: Value
    sentence: str
    effect: float | None = None


@dataclass(frozen=True)
class Recommendation:
    """The next configuration, what it should give, and why.

    `predictions` is by metric and empty before there is anything to predict from. `origin` names the step of the search
    (`current`, `rule_based`, `space_filling`, `improvement`, …) or of a session's end.
    """

    configuration: Configuration
    origin: Origin
    predictions: Mapping[str, Prediction] = field(default_factory=dict)
    reasons: tuple[Reason, ...] = ()

"""The recommender's answers: predictions, reasons, recommendations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Literal

from lutra_models.knobs import Configuration, Value

SearchOrigin = Literal[
    "current",
    "rule_based",
    "middle",
    "space_filling",
    "transfer",
    "improvement",
    "repeat",
    "reference",
    "shorter",
    "evidence",
    "return",
    "nothing",
    "exploration",
]
"""The step of the search that proposed a configuration.

On a live database also: `evidence` (symptoms, and the rules for this hardware), `return` (to settings that it ran under
before, and nothing new), `nothing` (the current configuration: nothing is worth changing), `exploration` (one of the
trials that the session may make only to learn).
"""
FinalOrigin = Literal["handover", "baseline"]
"""The step of a session's end that proposed a configuration."""


@dataclass(frozen=True)
class Record:
    """The interval contained `held` of `n` readings, each predicted without knowing it."""

    n: int
    held: int


@dataclass(frozen=True)
class Prediction:
    """A reading's distribution in the metric's unit, noise included: the median and a central interval at `level`.

    `extrapolated` says that the configuration lies well outside what was measured, and the interval is mostly prior;
    `unseen_values` names the settings to whose values nothing like it was measured. `unmodelled` names settings that
    were asked about and that no model has seen: the prediction is of the others alone. `record` is the accuracy of such
    intervals on the measured readings; None if there is at most one reading, which nothing else could predict.
    """

    metric: str
    median: float
    low: float
    high: float
    level: float = 0.9
    extrapolated: bool = False
    record: Record | None = None
    unseen_values: tuple[str, ...] = ()
    unmodelled: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.low <= self.median <= self.high:
            raise ValueError(
                f"{self.metric}: an interval must hold its median, got {self.low}, {self.median}, {self.high}"
            )

    def holds(self, value: float) -> bool:
        """Whether a reading of this value is inside the interval."""
        return self.low <= value <= self.high


@dataclass(frozen=True)
class Reason:
    """The reason why one setting changes: its old and new value, its share of the predicted effect, and a plain
    sentence.

    `effect` is the relative change of the objective's median when this setting alone goes back to `before` (0.08: the
    objective is predicted 8 % better with the change than without it); None if nothing was learned yet. `against` is an
    argument against the change, empty if none is known.
    """

    knob: str
    before: Value | None
    after: Value
    sentence: str
    effect: float | None = None
    against: str = ""


@dataclass(frozen=True)
class Basis:
    """The grounds of a live recommendation, and further information for the operator.

    `symptoms` were evaluated over this number of `windows` and `seconds`, of which `shown` are faults; `rules` settings
    were compared with the rule for this hardware. `predicted_gain` is the largest gain that is probable according to
    the model, relatively, None without a model; `least_gain` is the gain that it has to reach. `sentence` says it for
    people: a line for each finding, the most harmful first, and then what follows from them. `notes` are sentences
    about changes that are not proposed: those that need a restart that the mode forbids, problems that no setting
    cures, persistent symptoms, and declined changes.
    """

    sentence: str
    symptoms: int
    shown: int
    rules: int
    windows: int
    seconds: float
    least_gain: float
    predicted_gain: float | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Share:
    """`settings` of a recommendation's changes give this `share` of the predicted gain of all of them.

    The gain is over the configuration that the changes are counted from. `added` are the settings that come in here.
    `low` and `high` are the share's central 90 % interval by the posterior. With a share above 1, fewer changes are
    better.
    """

    settings: int
    added: tuple[str, ...]
    share: float
    low: float
    high: float


@dataclass(frozen=True)
class Recommendation:
    """The next configuration, its predicted effect, and the reasons for it.

    `predictions` is by metric and empty before there is anything to predict from. `origin` names the step of the search
    (`current`, `rule_based`, `space_filling`, `improvement`, …) or of a session's end. `curve` is the share of the
    predicted gain by number of changes, beginning with none, in the order of their contribution; it is empty if no gain
    is predicted. `simplified_from` is the best configuration by posterior, if this one was measured as well and is
    nearly as good with fewer changes. `abandon_below` is the reading of the objective below which (above which, where
    less is better) it is of no interest, so that its window may be ended early; None if the window is always measured
    to its end. `basis` is the basis of a live recommendation; with the origin `nothing` it says why nothing is worth
    changing, and `configuration` is the current one.
    """

    configuration: Configuration
    origin: SearchOrigin | FinalOrigin
    predictions: Mapping[str, Prediction] = field(default_factory=dict)
    reasons: tuple[Reason, ...] = ()
    curve: tuple[Share, ...] = ()
    simplified_from: Configuration | None = None
    abandon_below: float | None = None
    basis: Basis | None = None

    def curve_columns(self) -> dict[str, list[Any]]:
        """The curve as columns by name, for a data frame."""
        return {f.name: [getattr(point, f.name) for point in self.curve] for f in fields(Share)}

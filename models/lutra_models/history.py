"""Measurements, and the tuning session that asked for them."""

from __future__ import annotations

import math
import numbers
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime, timedelta
from functools import cached_property
from typing import Any, Literal

from lutra_models.aims import Aim
from lutra_models.digest import fingerprint
from lutra_models.evidence import Evidence, TurnedDown
from lutra_models.knobs import Configuration, Knob, KnobSpace, Value, domain_of, value_of
from lutra_models.metrics import Limit, Objective

Mode = Literal["observe", "reload_only", "restart_in_window", "lab"]
Approval = Literal["manual", "automatic"]

CONTEXT_TOLERANCE = 0.25
"""Two numbers within this relative distance are the same circumstances: a measured load never repeats exactly."""

SETTING = "setting."
"""The prefix of a setting's name in an exported table, whose other columns are not settings."""

CIRCUMSTANCE = "context."
"""Prefix of the name of a covariate that is not a setting: `context.cores`."""

MODES: tuple[Mode, ...] = ("observe", "reload_only", "restart_in_window", "lab")
"""From the weakest to the strongest; of two modes the weaker counts."""


@dataclass(frozen=True)
class Window:
    """A measurement's interval, half-open, UTC."""

    start: datetime
    end: datetime

    def __post_init__(self) -> None:
        for name, moment in (("start", self.start), ("end", self.end)):
            if moment.utcoffset() != timedelta(0):
                raise ValueError(f"a window's {name} must be in UTC, got {moment.isoformat()}")
        if not self.start < self.end:
            raise ValueError(
                f"a window must end after it starts, got {self.start.isoformat()} to {self.end.isoformat()}"
            )

    @property
    def seconds(self) -> float:
        """The length of the interval."""
        return (self.end - self.start).total_seconds()


@dataclass(frozen=True)
class Observation:
    """A trial, parsed and trusted: a configuration and its measurements, or the reason why there are none.

    `metrics` holds targets and runtime counters by name, in the unit of the name; an unmeasured one is absent.
    `context` (engine version, threads, hardware) overrides the history's. `bounds` holds, by name, the bound of a
    window that was ended early, in place of a value: the whole one would have read at most this if more is better,
    otherwise at least this.
    """

    configuration: Configuration
    metrics: Mapping[str, float]
    context: Mapping[str, Value] | None = None
    window: Window | None = None
    failure: str | None = None
    bounds: Mapping[str, float] = field(default_factory=dict)

    def __init__(
        self,
        configuration: Mapping[str, Any],
        metrics: Mapping[str, Any],
        *,
        context: Mapping[str, Any] | None = None,
        window: Window | None = None,
        failure: str | None = None,
        bounds: Mapping[str, Any] | None = None,
    ) -> None:
        set_ = object.__setattr__
        known = isinstance(configuration, Configuration)
        set_(self, "configuration", configuration if known else Configuration(configuration))
        set_(self, "metrics", {str(n): _measured(n, v) for n, v in metrics.items()})
        set_(self, "context", None if context is None else dict(Configuration(context)))
        set_(self, "window", window)
        set_(self, "failure", failure)
        set_(self, "bounds", {str(n): _measured(n, v) for n, v in (bounds or {}).items()})
        both = sorted(self.bounds.keys() & self.metrics.keys())
        if both:
            raise ValueError(f"{', '.join(both)}: give either a bound or a value, not both")
        if failure is not None and self.bounds:
            raise ValueError(f"a failure ({failure}) has no bounds")
        if failure is None and not metrics and not self.bounds:
            raise ValueError(
                "an observation without metrics is a failure: use Observation.failed(configuration, reason)"
            )

    @classmethod
    def failed(cls, configuration: Mapping[str, Any], reason: str, **more: Any) -> Observation:
        """A configuration under which nothing could be measured: `did_not_start`, `driver_failed`, …"""
        if not reason:
            raise ValueError("a failed observation needs a reason")
        return cls(configuration, {}, failure=reason, **more)

    @property
    def completed(self) -> bool:
        """Whether it succeeded."""
        return self.failure is None


@dataclass(frozen=True, eq=False)
class History:
    """A workload's view for one recommendation; everything that `recommend` may know.

    Observations come in the order in which they were measured. `pending` are configurations proposed and not yet
    measured. `warm_starts` are configurations worth trying early (a rule-based one). Configurations are completed and
    brought into the space's order here: observed values outside a domain are legal. `server_rounding` are, by setting,
    requested numbers and the server's own in their place, if it took another: (asked, made). `baseline` was active when
    the session began: changes are counted from it. Under several loads `objective` is the number of `aim`, and the
    observations hold the readings under each load as well. `evidence` is the evidence of symptoms and rules about a
    live database, None without a check; `turned_down` are the declined changes.
    """

    space: KnobSpace
    objective: Objective
    limits: tuple[Limit, ...] = ()
    observations: tuple[Observation, ...] = ()
    pending: tuple[Configuration, ...] = ()
    current: Configuration | None = None
    warm_starts: tuple[Configuration, ...] = ()
    context: Mapping[str, Value] | None = None
    server_rounding: Mapping[str, tuple[tuple[Value, Value], ...]] = field(default_factory=dict)
    baseline: Configuration | None = None
    aim: Aim | None = None
    evidence: Evidence | None = None
    turned_down: tuple[TurnedDown, ...] = ()

    def __init__(
        self,
        space: KnobSpace,
        objective: Objective,
        *,
        limits: Iterable[Limit] = (),
        observations: Iterable[Observation] = (),
        pending: Iterable[Mapping[str, Any]] = (),
        current: Mapping[str, Any] | None = None,
        warm_starts: Iterable[Mapping[str, Any]] = (),
        context: Mapping[str, Any] | None = None,
        server_rounding: Mapping[str, Iterable[Sequence[Value]]] | None = None,
        baseline: Mapping[str, Any] | None = None,
        aim: Aim | None = None,
        evidence: Evidence | None = None,
        turned_down: Iterable[TurnedDown] = (),
    ) -> None:
        _require("space", [space], KnobSpace, "KnobSpace([Knob(name, domain), …])")
        _require("objective", [objective], Objective, "Objective(metric, goal)")
        observations = tuple(observations)
        _require("observation", observations, Observation, "Observation(configuration, metrics)")
        set_ = object.__setattr__
        set_(self, "space", space)
        set_(self, "objective", objective)
        set_(self, "limits", tuple(limits))
        _require("limit", self.limits, Limit, "Limit(metric, at_most=…)")
        whole = (replace(o, configuration=space.normalise(o.configuration)) for o in observations)
        set_(self, "observations", tuple(whole))
        set_(self, "pending", tuple(space.normalise(c) for c in pending))
        set_(self, "current", None if current is None else space.normalise(current))
        set_(self, "warm_starts", tuple(space.normalise(c) for c in warm_starts))
        set_(self, "context", dict(Configuration(context or {})))
        rounding = {n: tuple((a, m) for a, m in p) for n, p in (server_rounding or {}).items() if n in space}
        set_(self, "server_rounding", rounding)
        set_(self, "baseline", None if baseline is None else space.normalise(baseline))
        set_(self, "aim", aim)
        set_(self, "evidence", evidence)
        set_(self, "turned_down", tuple(turned_down))
        if aim is not None and objective != aim.judged:
            raise ValueError(f"a history with an aim is judged by {aim.judged.metric}, got {objective.metric}")

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        objective: Objective,
        space: KnobSpace | None = None,
        *,
        metrics: Iterable[str] = (),
        **more: Any,
    ) -> History:
        """The history of a table with one row per configuration and its measurements.

        `frame` is a pandas frame, or a list of rows by column. The objective's metric and `metrics` are metrics; a row
        without the objective is a failure. Every other column is a setting: of `space`, or where none is given, of one
        that holds the values of each column with two or more. Names as those of an exported table, `setting.NAME`
        and `metric.qps`, are understood, and of such a table only these are read. `more` is as for a history:
        `current`, `context` … Raises ValueError for a column that is missing, and TypeError for a value that is none.
        """
        space, observations = _of_table(frame, objective, space, tuple(metrics))
        return cls(space, objective, observations=observations, **more)

    def tell(
        self,
        configuration: Mapping[str, Any],
        measured: float | Mapping[str, float] | None = None,
        *,
        failure: str | None = None,
        **more: Any,
    ) -> History:
        """With one observation more: a reading of the objective, several metrics by name, or the reason why there is
        none.

        A pending configuration is then no longer pending. `more` is as for an observation. Raises ValueError if both
        are given, or neither.
        """
        if (measured is None) == (failure is None):
            raise ValueError(f"give either measurements or a failure: got {measured!r} and {failure!r}")
        if failure is not None:
            observation = Observation.failed(configuration, failure, **more)
        else:
            metrics = measured if isinstance(measured, Mapping) else {self.objective.metric: measured}
            observation = Observation(configuration, metrics, **more)
        told = self.space.normalise(observation.configuration)
        left = (c for c in self.pending if c != told)
        return replace(self, observations=(*self.observations, observation), pending=tuple(left))

    def __repr__(self) -> str:
        failed = len(self.observations) - len(self.completed)
        told = f"{len(self.observations)} observations, {failed} of them failures"
        return f"History({self.objective.goal} {self.objective.metric}; {told}; {', '.join(self.space.names)})"

    @property
    def completed(self) -> tuple[Observation, ...]:
        """The observations without the failures."""
        return tuple(o for o in self.observations if o.completed)

    @cached_property
    def held(self) -> Mapping[str, Value]:
        """The current covariates, which every recommendation keeps: those of the current configuration, otherwise the
        last ones read.
        """
        fixed = self.space.fixed
        newest = self.observations[-1].configuration if self.observations else None
        now = newest if self.current is None else self.current
        return {n: now[n] for n in fixed} if fixed and now is not None else {}

    def standing(self, configuration: Configuration) -> Configuration:
        """This configuration under the current covariates."""
        return configuration.replace(self.held) if self.held else configuration

    @property
    def reference(self) -> Configuration | None:
        """The configuration from which changes are counted: the baseline; without one, the current configuration."""
        return self.current if self.baseline is None else self.baseline

    def values(self, metric: str) -> list[tuple[Configuration, float]]:
        """(configuration, value) of every observation that measured `metric`."""
        return [(o.configuration, o.metrics[metric]) for o in self.observations if metric in o.metrics]

    def bounds(self, metric: str) -> list[tuple[Configuration, float]]:
        """(configuration, bound) of every observation whose window was ended early; see `Observation`."""
        return [(o.configuration, o.bounds[metric]) for o in self.observations if metric in o.bounds]

    @property
    def key(self) -> str:
        """A stable digest of everything but the rules: equal histories have equal digests."""
        return fingerprint(
            {
                "space": self.space.fingerprint,
                "objective": [self.objective.metric, self.objective.goal],
                "limits": [[limit.metric, limit.at_most, limit.at_least] for limit in self.limits],
                "observations": [
                    [
                        *(o.configuration.digest, dict(sorted(o.metrics.items())), o.context, o.failure),
                        *([dict(sorted(o.bounds.items()))] if o.bounds else []),
                    ]
                    for o in self.observations
                ],
                "pending": [c.digest for c in self.pending],
                "current": self.current and self.current.digest,
                "starts": [c.digest for c in self.warm_starts],
                "context": self.context,
                **({"answers": self.server_rounding} if self.server_rounding else {}),
                **({} if self.baseline is None else {"baseline": self.baseline.digest}),
                **({} if self.aim is None else {"aim": self.aim.to_dict()}),
                **({} if self.evidence is None else {"evidence": asdict(self.evidence)}),
                **(
                    {"turned_down": [{**asdict(t), "at": t.at.isoformat()} for t in self.turned_down]}
                    if self.turned_down
                    else {}
                ),
            }
        )


@dataclass(frozen=True)
class TuningSession:
    """Objective, limits, mode, approval and budget of one tuning campaign."""

    objective: Objective
    limits: tuple[Limit, ...] = ()
    mode: Mode = "observe"
    approval: Approval = "manual"
    max_trials: int = 30
    verification_rounds: int = 0
    """The maximum number of rounds after the trials and before the handover, in a lab; 0 for no verification."""
    max_changes: int | None = None
    """The most settings that a recommendation may change from the session's first configuration; None for any."""
    aim: Aim | None = None
    """The loads over which the objective is judged, in a lab; None for the driver's own load."""
    exploration: int = 0
    """On a live database, the number of trials whose only purpose is to learn; a lab has no such bound."""

    def __post_init__(self) -> None:
        if self.mode not in MODES:
            raise ValueError(f"mode must be one of {', '.join(MODES)}, got {self.mode!r}")
        if self.max_trials < 1:
            raise ValueError(f"max_trials must be at least 1, got {self.max_trials}")
        if self.exploration < 0:
            raise ValueError(f"exploration must be at least 0, got {self.exploration}")
        if self.max_changes is not None and self.max_changes < 1:
            raise ValueError(f"max_changes must be at least 1, got {self.max_changes}")
        if self.aim is not None and self.mode != "lab":
            raise ValueError(f"several loads are for mode lab, where the agent makes the load; got {self.mode}")


def same_context(one: Mapping[str, Value], two: Mapping[str, Value]) -> bool:
    """Whether two contexts agree in everything that both of them name."""
    return all(_alike(value, two[name]) for name, value in one.items() if name in two)


def weaker(one: Mode, other: Mode) -> Mode:
    """The weaker of two modes."""
    return min(one, other, key=MODES.index)


def _alike(one: Value, two: Value) -> bool:
    if isinstance(one, str) or isinstance(two, str):
        return one == two
    return math.isclose(one, two, rel_tol=CONTEXT_TOLERANCE)


def _require(what: str, given: Iterable[object], kind: type, way_out: str) -> None:
    for one in given:
        if not isinstance(one, kind):
            raise TypeError(f"a history's {what} has to be {way_out}, got {one!r:.80}")


def rows_of(table: Any) -> list[dict[str, Any]]:
    """The rows of a pandas frame, or of a list of rows by column, without missing values. Raises TypeError."""
    rows = table.to_dict("records") if hasattr(table, "to_dict") else table
    if isinstance(rows, Mapping | str) or not all(isinstance(row, Mapping) for row in rows):
        raise TypeError(f"expected a pandas frame or a list of rows, as [{{…}}], got {table!r:.80}")
    return [{str(n): v for n, v in row.items() if v is not None and v == v} for row in rows]  # NaN differs from itself


def _of_table(
    frame: Any, objective: Objective, space: KnobSpace | None, metrics: tuple[str, ...]
) -> tuple[KnobSpace, list[Observation]]:
    rows = rows_of(frame)
    if not rows:
        raise ValueError(f"the table has no rows: it needs one for each configuration, with {objective.metric}")
    titles = dict.fromkeys(n for row in rows for n in row)
    exported = any(n.startswith(SETTING) for n in titles)
    setting, metric = (SETTING, "metric.") if exported else ("", "")
    wanted = dict.fromkeys((objective.metric, *metrics))
    found = [n.removeprefix(setting) for n in titles if n.startswith(setting) and n.removeprefix(metric) not in wanted]
    names = found if space is None else list(space.names)
    if missing := [n for n in (*(setting + n for n in names), metric + objective.metric) if n not in titles]:
        raise ValueError(f"the table has no column {', '.join(missing)}; it has {', '.join(titles)}")
    if space is None:
        values = {n: [value_of(n, row[setting + n]) for row in rows if setting + n in row] for n in names}
        space = KnobSpace(Knob(n, domain_of(n, seen)) for n, seen in values.items() if len(set(seen)) > 1)
    return space, [_of_row(row, space, wanted, setting, metric, objective.metric) for row in rows]


def _of_row(
    row: Mapping[str, Any], space: KnobSpace, wanted: Iterable[str], setting: str, metric: str, objective: str
) -> Observation:
    configuration = {n: row[setting + n] for n in space.names if setting + n in row}
    measured = {n: row[metric + n] for n in wanted if metric + n in row}
    if objective not in measured:
        return Observation.failed(configuration, str(row.get("failure", "not_measured")))
    return Observation(configuration, measured)


def _measured(name: object, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise TypeError(f"{name}: a metric is a number, got {value!r}")
    if not math.isfinite(value):
        raise ValueError(f"{name}: {value} is not a measurement; leave a metric that was not measured out")
    return float(value)

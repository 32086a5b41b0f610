"""The messages between an agent and the service. The only module of the core that imports pydantic.

An agent's text is not trusted: every model forbids unknown fields, bounds its sizes and refuses text in place of
numbers. Unknown *metrics* are kept; an unknown *field* is refused, and the refusal names the protocol that the service
speaks.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Literal

from pydantic import (
    AfterValidator,
    AwareDatetime,
    BaseModel,
    ConfigDict,
    Field,
    StringConstraints,
    WithJsonSchema,
    model_validator,
)

from lutra_models.aims import MOST_LOADS
from lutra_models.errors import ApplyCode
from lutra_models.guardrails import GuardName, Guardrail
from lutra_models.history import Mode
from lutra_models.identity import Identity
from lutra_models.maintenance import MaintenanceWindow
from lutra_models.metrics import LARGEST_READING, LONGEST_TEXT, MOST_TEXTS, Goal, P99Of, P99Source, one_line
from lutra_models.server import Host, Role, ServerSetting

PROTOCOL = 1
EARLIEST = datetime(1970, 1, 1, tzinfo=UTC)
LATEST = datetime(3000, 1, 1, tzinfo=UTC)
MOST_CONNECTIONS = 10**7

LoadName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_\-]{1,32}$")]
Name = Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_.\-]{0,127}$")]
Identifier = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_\-]{1,64}$")]
Text = Annotated[str, StringConstraints(max_length=1000)]
Line = Annotated[str, StringConstraints(max_length=LONGEST_TEXT), AfterValidator(one_line)]
"""Text from a database, without characters that a terminal might obey."""


def _reading(value: float) -> float:
    if not 0 <= value <= LARGEST_READING:
        raise ValueError("a metric is a finite number from 0 to 1e18; omit metrics that were not measured")
    return value


def _moment(value: datetime) -> datetime:
    try:
        moment = value.astimezone(UTC)
    except OverflowError:
        moment = None
    if moment is None or not EARLIEST <= moment < LATEST:
        raise ValueError(
            f"a moment is from {EARLIEST.year} on and before {LATEST.year} in UTC, got {value.isoformat()}"
        )
    return moment


def _is_empty(value: object) -> bool:
    """An optional field is sent only where it says something: a receiver may not know it."""
    return not value


Moment = Annotated[AwareDatetime, AfterValidator(_moment)]
"""A point in time, converted to UTC from any zone."""
Reading = Annotated[float, Field(strict=True, allow_inf_nan=False), AfterValidator(_reading)]
SettingValue = Annotated[int, Field(strict=True)] | Annotated[float, Field(strict=True, allow_inf_nan=False)] | Text


class _Wire(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class ReportedWindow(_Wire):
    start: Moment
    end: Moment

    @model_validator(mode="after")
    def _ordered(self) -> ReportedWindow:
        if self.start >= self.end:
            raise ValueError(
                f"a window must end after it starts, got {self.start.isoformat()} to {self.end.isoformat()}"
            )
        return self


Code = Annotated[ApplyCode, WithJsonSchema({"type": "string", "enum": [*ApplyCode]})]


class Rules(_Wire):
    """The operator's rules on the service for this database; the agent keeps them on its own disk.

    `guardrails` tighten those of the agent's own file.
    """

    guardrails: dict[GuardName, Guardrail] = Field(default_factory=dict)
    maintenance_windows: tuple[MaintenanceWindow, ...] = Field(default=(), max_length=50)


class MustReach(_Wire):
    """The reading that a window has to reach to be worth its time: `value` of `metric`, or better by `goal`."""

    metric: Name
    goal: Goal
    value: Annotated[Reading, Field(gt=0)]


class EndedEarly(_Wire):
    """A window of `planned_s` was ended before that, and has no value: the whole window would not have read better than
    this.

    `bound` is of `metric`: at most this where more is better, else at least this.
    """

    metric: Name
    bound: Reading
    planned_s: Annotated[float, Field(strict=True, gt=0, le=86400, allow_inf_nan=False)]


class Directive(_Wire):
    """Apply `settings`. A directive is carried out once: an id that was already answered is not carried out again.

    `settings` is name → value in the server's own unit. `restore` marks settings that the database ran with before.
    `rollback` undoes a change that the agent reported as applied, or restores settings from the start of the session
    or settings that measured better since. A rollback needs no confirmation and, in the agent, no maintenance window,
    and no guard undoes it. (The service hands out an automatic rollback only within a window.) `restore` and `rollback`
    take effect only if the agent has these settings on its own disk; otherwise the directive is a new change.
    `measure` asks an agent in lab mode to run its driver afterwards and to report that window as `measures`: under each
    of `loads` in turn, or under the driver's own load if none is named. A window under the driver's own load may be
    ended early if it cannot reach `must_reach`. `expects` is the server for which the settings were chosen; any other
    server refuses them.
    """

    id: Identifier
    recommendation: Identifier
    settings: dict[Name, SettingValue] = Field(max_length=500)
    restart_allowed: bool = False
    restore: bool = False
    rollback: bool = False
    measure: bool = False
    must_reach: MustReach | None = Field(default=None, exclude_if=_is_empty)
    loads: tuple[LoadName, ...] = Field(default=(), max_length=MOST_LOADS, exclude_if=_is_empty)
    expects: Identity | None = None
    rules: Rules | None = None
    expires_at: Moment


class Outcome(_Wire):
    """The actual result of a directive, with the settings that are now active. A change that was applied with a
    `confirm_by` is provisional: `confirmed` or `reverted` follows by that time, even if the service is away.
    """

    directive: Identifier
    state: Literal["applied", "confirmed", "refused", "failed", "reverted"]
    code: Code | None = None
    message: Text = ""
    active: dict[Name, SettingValue] = Field(default_factory=dict, max_length=500)
    restarted: bool = False
    confirm_by: Moment | None = None
    at: Moment


class GuardEvent(_Wire):
    """A guard fired: `value` was beyond `bound` for `held_s` seconds. The bound comes from the limit and, if the guard
    uses one, the baseline. `directive` is the change that was undone because of it, None if the agent had no change in
    progress.
    """

    id: Identifier
    guard: GuardName
    metric: Text
    value: Reading
    bound: Reading
    limit: Reading
    baseline: Reading | None = None
    held_s: Reading
    hold_s: Reading
    since: Moment
    at: Moment
    directive: Identifier | None = None
    message: Text


class RolledBackSetting(_Wire):
    """The value of a setting before an operator's rollback on the host, and since."""

    before: SettingValue
    after: SettingValue


class HostRollback(_Wire):
    """An operator restored `target` on the database's own host, with `lutra-agent rollback`; `settings` differed."""

    target: Literal["baseline", "last_known_good"]
    at: Moment
    reason: Text = ""
    settings: dict[Name, RolledBackSetting] = Field(default_factory=dict, max_length=500)


class AgentStatus(_Wire):
    """The agent's status: its strongest mode, its problems and its guardrails. `provisional` is the directive whose
    change is not confirmed yet. `loads` are the named loads of its driver.
    """

    version: Identifier | Text = ""
    mode: Mode = "observe"
    paused: bool = False
    driver: Text | None = None
    loads: tuple[LoadName, ...] = Field(default=(), max_length=MOST_LOADS, exclude_if=_is_empty)
    spool_dropped: int = Field(default=0, ge=0)
    spool_refused: int = Field(default=0, ge=0)
    problems: list[Text] = Field(default_factory=list, max_length=50)
    guardrails: dict[GuardName, Guardrail] = Field(default_factory=dict)
    firing: list[GuardName] = Field(default_factory=list, max_length=20)
    provisional: Identifier | None = None


class Report(_Wire):
    """One numbered message of one agent: a window's metrics, the server's facts, outcomes of directives. `settings` is
    present if `settings_hash` changed or the service requested it; `window` and `metrics` are absent in a heartbeat.
    `texts` are names of database objects at the window's end. `measures` names the directive whose configuration this
    window measured. `failure` says why it could not be measured, and `ended_early` has the bound of a window that was
    ended early. `rolled_back` are rollbacks on the host that no earlier report contained.
    `p99_source` and `p99_of` describe `metrics["p99_ms"]`, and are required with it.
    """

    protocol: Literal[1] = 1
    agent: Identifier
    epoch: Identifier
    sequence: int = Field(ge=0, le=2**62)
    sent_at: Moment
    engine: Name
    engine_version: Annotated[str, StringConstraints(max_length=64)]
    role: Role = "primary"
    identifier: Annotated[str, StringConstraints(max_length=128)] = ""
    host: Host
    peak_connections: int = Field(default=0, ge=0, le=MOST_CONNECTIONS)
    settings_hash: Identifier
    settings: dict[Name, ServerSetting] | None = Field(default=None, max_length=2000)
    window: ReportedWindow | None = None
    metrics: dict[Name, Reading] = Field(default_factory=dict, max_length=2000)
    texts: dict[Name, Line] = Field(default_factory=dict, max_length=MOST_TEXTS, exclude_if=_is_empty)
    p99_source: P99Source | None = None
    p99_of: P99Of | None = None
    context: dict[Name, SettingValue] = Field(default_factory=dict, max_length=100)
    measures: Identifier | None = None
    failure: Annotated[str, StringConstraints(max_length=200)] | None = None
    ended_early: EndedEarly | None = None
    outcomes: list[Outcome] = Field(default_factory=list, max_length=100)
    events: list[GuardEvent] = Field(default_factory=list, max_length=100)
    rolled_back: list[HostRollback] = Field(default_factory=list, max_length=20, exclude_if=_is_empty)
    status: AgentStatus = AgentStatus()

    @model_validator(mode="after")
    def _coherent(self) -> Report:
        if (self.metrics or self.texts) and self.window is None:
            raise ValueError("metrics and texts need the window in which they were measured")
        if self.window is not None and self.window.end > self.sent_at:
            raise ValueError(f"the window ends at {self.window.end.isoformat()}, after the report was sent")
        if "p99_ms" in self.metrics and (self.p99_source is None or self.p99_of is None):
            raise ValueError("p99_ms needs p99_source and p99_of")
        self._check_ended()
        return self

    def _check_ended(self) -> None:
        ended = self.ended_early
        if ended is None:
            return
        if self.measures is None or self.window is None or not self.metrics:
            raise ValueError("ended_early needs measures, and the window with its counters")
        if ended.metric in self.metrics:
            raise ValueError(f"{ended.metric}: a window that was ended early has a bound instead of a value")


class Receipt(_Wire):
    """The service's answer to a report. `directive` is the current one, even after a duplicate."""

    protocol: int = PROTOCOL
    duplicate: bool = False
    settings_wanted: bool = False
    directive: Directive | None = None
    rules: Rules = Rules()

"""The repositories' arguments and results: frozen records, one per table, in the domain's types."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import Literal

from lutra_models.aims import Aim
from lutra_models.errors import Failure
from lutra_models.evidence import Change, TurnedDown
from lutra_models.guardrails import GuardName, Guardrail
from lutra_models.history import Approval, Mode
from lutra_models.identity import Identity
from lutra_models.knobs import Value
from lutra_models.lifecycle import ModelState, Origin, RecommendationKind, RecommendationState, SessionState
from lutra_models.metrics import Limit, Objective
from lutra_models.server import Policy, Role
from lutra_models.symptoms import Kind
from lutra_models.wire import Rules

from lutra_service.common.documents import Document
from lutra_service.db.schema.judged import Judged
from lutra_service.db.schema.outcome import ChangeOutcome
from lutra_service.db.schema.policy import Past, past_of, settings_policy


@dataclass(frozen=True)
class AgentState:
    """The latest report of a database's agent about itself; before the first one, that it changes nothing."""

    mode: Mode
    paused: bool
    firing: tuple[GuardName, ...]
    guardrails: Mapping[GuardName, Guardrail]
    loads: tuple[str, ...] = ()


@dataclass(frozen=True)
class Database:
    id: str
    name: str
    engine: str
    policy: Document
    created_at: datetime
    engine_version: str | None = None
    role: str | None = None
    host: Document | None = None
    context: Document | None = None
    peak_connections: int = 0
    settings_hash: str | None = None
    agent_status: Document | None = None
    last_report_at: datetime | None = None
    last_window_end: datetime | None = None
    identifier: str | None = None
    guardrails: Document | None = None
    maintenance_windows: list[Document] | None = None
    filled_bytes: int = 0
    filled_at: datetime | None = None
    reporter: str | None = None
    reporter_sequence: int | None = None
    label: str | None = None
    rival: str | None = None
    rival_at: datetime | None = None
    retired_at: datetime | None = None
    counts: Document | None = None
    looked_at: datetime | None = None

    @cached_property
    def settings_policy(self) -> Policy:
        """The allowed changes of its settings."""
        return settings_policy(self.policy)

    @property
    def past(self) -> Past:
        """The databases with which it shares lessons."""
        return past_of(self.policy)

    @cached_property
    def agent(self) -> AgentState:
        status = self.agent_status or {}
        return AgentState(
            mode=status.get("mode", "observe"),
            paused=bool(status.get("paused")),
            firing=tuple(status.get("firing", ())),
            guardrails=Rules.model_validate({"guardrails": status.get("guardrails", {})}).guardrails,
            loads=tuple(status.get("loads", ())),
        )

    @cached_property
    def rules(self) -> Rules:
        """The operator's rules here for its agent."""
        return Rules.model_validate(
            {"guardrails": self.guardrails or {}, "maintenance_windows": self.maintenance_windows or []}
        )

    @property
    def identity(self) -> Identity | None:
        """The server as its agent last reported it; None before the first report."""
        if self.host is None or self.engine_version is None:
            return None
        role: Role = "standby" if self.role == "standby" else "primary"
        host = self.host
        return Identity(role, self.engine_version, self.identifier or "", host["memory_bytes"], host["cores"])


@dataclass(frozen=True)
class Token:
    id: str
    hash: str
    name: str
    scopes: list[str]
    database_id: str | None
    created_at: datetime
    revoked_at: datetime | None = None
    expires_at: datetime | None = None
    last_used_at: datetime | None = None


@dataclass(frozen=True)
class Session:
    id: str
    database_id: str
    state: SessionState
    objective: Objective
    limits: tuple[Limit, ...]
    mode: Mode
    approval: Approval
    max_trials: int
    seed: int
    baseline: Document | None
    created_at: datetime
    verification_rounds: int
    exploration: int
    p99_source: str | None = None
    p99_of: str | None = None
    message: str = ""
    ended_at: datetime | None = None
    identity: Identity | None = None
    rebased_at: datetime | None = None
    resumed_at: datetime | None = None
    opened_by_agent: bool = False
    max_changes: int | None = None
    aim: Aim | None = None
    measured_under: str | None = None
    settled: Document | None = None

    def is_about(self, made: Recommendation) -> bool:
        """Whether a recommendation concerns the session's current server."""
        return self.rebased_at is None or made.created_at >= self.rebased_at

    @property
    def judged(self) -> Objective:
        """The measure that compares its trials: over several loads one number, otherwise the objective itself."""
        return self.objective if self.aim is None else self.aim.judged

    @property
    def judged_limits(self) -> tuple[Limit, ...]:
        """The limits under each of several loads."""
        return self.limits if self.aim is None else self.aim.limits(self.limits)


@dataclass(frozen=True)
class Recommendation:
    id: str
    database_id: str
    kind: RecommendationKind
    state: RecommendationState
    key: str
    seed: int
    package_version: str
    before: Document
    created_at: datetime
    session_id: str | None = None
    parent_id: str | None = None
    trial: int | None = None
    origin: Origin | None = None
    configuration: Document | None = None
    digest: str | None = None
    predictions: Document | None = None
    reasons: list[Document] | None = None
    memory: Document | None = None
    changes: list[Document] | None = None
    restart_needed: bool | None = None
    warnings: list[str] | None = None
    outcome: ChangeOutcome | None = None
    measured: Document | None = None
    failure: Failure | None = None
    lease_until: datetime | None = None
    attempts: int = 0
    proposed_at: datetime | None = None
    decided_at: datetime | None = None
    decided_by: str | None = None
    applied_at: datetime | None = None
    expires_at: datetime | None = None
    ended_at: datetime | None = None
    handed_out_at: datetime | None = None
    handed_to: str | None = None
    withdrawn_at: datetime | None = None
    withdrawn_by: str | None = None
    curve: list[Document] | None = None
    shortened_from: Document | None = None
    must_reach: float | None = None
    ended_early: Document | None = None
    looked_at: Document | None = None
    reason: str | None = None
    turned_down: TurnedDown | None = None
    turned_down_at: datetime | None = None
    model_version: str | None = None
    judgement: Judged | None = None
    leaned: Document | None = None

    @property
    def error(self) -> str | None:
        """The reason why it was not carried out or was undone, in one line for people; None if there is none."""
        return (self.failure.text or None) if self.failure else None

    @property
    def is_active(self) -> bool:
        """Whether it was made active and, by its agent's reports, still is: including one whose measurement failed."""
        if self.state in (RecommendationState.APPLIED, RecommendationState.CONFIRMED):
            return True
        return self.state != RecommendationState.REVERTED and self.outcome is not None and self.outcome.is_active

    @property
    def confirmed_at(self) -> datetime | None:
        """The time at which its agent confirmed it; otherwise, in a lab, the time of its measurement."""
        told = None if self.outcome is None else self.outcome.confirmed_at
        return self.ended_at if told is None and self.state == RecommendationState.CONFIRMED else told

    @property
    def undone_by(self) -> str | None:
        """The actor of its undo; None if it was not undone."""
        if self.state != RecommendationState.REVERTED or self.outcome is None:
            return None
        who: str | None = self.outcome.document.get("undone_by")
        return who


@dataclass(frozen=True)
class PendingJob:
    """A computation without a worker, and the database or the model version to which it belongs."""

    id: str
    of: str


@dataclass(frozen=True)
class Request:
    recommendation_id: str
    task: str
    payload: Document


@dataclass(frozen=True)
class StoredReport:
    database_id: str
    agent: str
    epoch: str
    sequence: int
    sent_at: datetime
    received_at: datetime
    settings_hash: str
    metrics: Document
    context: Document
    outcomes: list[Document]
    session_id: str | None = None
    recommendation_id: str | None = None
    window_start: datetime | None = None
    window_end: datetime | None = None
    configuration: Document | None = None
    p99_source: str | None = None
    p99_of: str | None = None
    failure: str | None = None
    ended_early: Document | None = None
    windows: int = 1
    texts: Document | None = None
    id: int | None = None


@dataclass(frozen=True)
class Selection:
    """A selection of observations: all that match every given part. `metrics`: only these; empty for all."""

    database_id: str | None = None
    session_id: str | None = None
    engine: str | None = None
    since: datetime | None = None
    until: datetime | None = None
    metrics: tuple[str, ...] = ()


@dataclass(frozen=True)
class Observed:
    """A window, or a failure, with the settings that were active; its documents are JSON texts."""

    id: int
    database_id: str
    session_id: str | None
    recommendation_id: str | None
    engine: str
    engine_version: str | None
    host: str | None
    received_at: datetime
    window_start: datetime | None
    window_end: datetime | None
    windows: int
    failure: str | None
    p99_source: str | None
    p99_of: str | None
    ended_early: Document | None
    configuration: str
    metrics: str
    context: str


@dataclass(frozen=True)
class Event:
    id: str
    database_id: str
    session_id: str | None
    recommendation_id: str | None
    agent_event: str
    guard: str
    at: datetime
    received_at: datetime
    told: Document


@dataclass(frozen=True)
class Finding:
    id: str
    database_id: str
    name: str
    kind: Kind
    strength: float
    sentence: str
    since: datetime
    last_seen: datetime
    gone_at: datetime | None = None


@dataclass(frozen=True)
class Accepted:
    id: str
    database_id: str
    name: str
    kind: Kind
    because: str
    until: datetime
    accepted_at: datetime
    accepted_by: str


@dataclass(frozen=True)
class Snapshot:
    id: str
    database_id: str | None
    session_id: str | None
    key: str
    observations: int
    payload: Document
    created_at: datetime


@dataclass(frozen=True)
class Workload:
    """`history` is empty if only the rest was asked for."""

    id: str
    key: str
    name: str
    engine: str
    metric: str
    database_id: str | None
    session_id: str | None
    observations: int
    history: Document
    created_at: datetime
    changed_at: datetime
    taught: Document | None = None
    snapshot_id: str | None = None
    fitted_with: str | None = None
    error: str | None = None
    merged_into: str | None = None
    lease_until: datetime | None = None


@dataclass(frozen=True)
class Answer:
    """A stored answer to a POST that carried an Idempotency-Key."""

    token_id: str
    key: str
    request_hash: str
    status: int
    response: Document
    created_at: datetime


@dataclass(frozen=True)
class AuditEntry:
    id: str
    at: datetime
    database_id: str | None
    action: str
    target: str
    token_id: str | None
    token_name: str
    address: str
    request_id: str
    before: Document | None
    after: Document | None


@dataclass(frozen=True)
class ModelVersion:
    id: str
    name: str
    state: ModelState
    created_at: datetime
    created_by: str
    note: str = ""
    shadow: bool = False
    package_version: str | None = None
    packages: Document = field(default_factory=dict)
    options: Document | None = None
    fingerprint: str | None = None
    former_id: str | None = None
    promoted_at: datetime | None = None
    retired_at: datetime | None = None
    data: Document | None = None
    scorecard: Document | None = None
    scored_at: datetime | None = None


@dataclass(frozen=True)
class ModelJob:
    id: str
    model_id: str
    kind: Literal["score", "shadow"]
    state: Literal["waiting", "done", "failed"]
    created_at: datetime
    recommendation_id: str | None = None
    sessions: list[str] = field(default_factory=list)
    results: list[Document] = field(default_factory=list)
    predictions: Document | None = None
    error: str | None = None
    lease_until: datetime | None = None
    ended_at: datetime | None = None


def net_changes(rows: Sequence[Recommendation]) -> list[Change]:
    """The net effect of these changes: a setting that is back at its value has not changed."""
    first, last = dict[str, Value](), dict[str, Value]()
    for change in (c for r in rows for c in r.changes or ()):
        first.setdefault(change["setting"], change["before"])
        last[change["setting"]] = change["after"]
    return [Change(n, before, last[n]) for n, before in first.items() if last[n] != before]

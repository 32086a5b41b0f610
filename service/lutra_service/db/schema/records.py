"""The repositories' arguments and results: frozen records, one per table, in the domain's types."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import Annotated, Literal

from lutra_models.aims import Aim
from lutra_models.guardrails import GuardName, Guardrail
from lutra_models.history import Approval, Mode
from lutra_models.identity import Identity
from lutra_models.lifecycle import ModelState, SessionState
from lutra_models.metrics import Limit, Objective
from lutra_models.server import Policy, Role
from lutra_models.symptoms import Kind
from lutra_models.wire import Rules
from sqlalchemy import false

from lutra_service.common.documents import Document
from lutra_service.db.schema.columns import Id, OfDatabase, OfRecommendation, OfSession, Stored
from lutra_service.db.schema.policy import Past, past_of, settings_policy
from lutra_service.db.schema.recommendation import Recommendation


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
    id: Id
    name: Annotated[str, Stored(200, is_unique=True)]
    engine: Annotated[str, Stored(40)]
    policy: Document
    created_at: datetime
    engine_version: Annotated[str, Stored(64)] | None = None
    role: Annotated[str, Stored(20)] | None = None
    host: Document | None = None
    context: Document | None = None
    peak_connections: int = 0
    settings_hash: Annotated[str, Stored(64)] | None = None
    agent_status: Document | None = None
    last_report_at: datetime | None = None
    last_window_end: datetime | None = None
    identifier: Annotated[str, Stored(128)] | None = None
    guardrails: Document | None = None
    maintenance_windows: list[Document] | None = None
    filled_bytes: Annotated[int, Stored(is_big=True, default="0")] = 0
    filled_at: datetime | None = None
    reporter: Annotated[str, Stored(129)] | None = None
    reporter_sequence: Annotated[int, Stored(is_big=True)] | None = None
    label: Annotated[str, Stored(200)] | None = None
    rival: Annotated[str, Stored(1000)] | None = None
    rival_at: datetime | None = None
    retired_at: datetime | None = None
    counts: Document | None = None
    looked_at: datetime | None = None
    silent_since: datetime | None = None

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
    id: Id
    hash: Annotated[str, Stored(64, is_unique=True)]
    name: Annotated[str, Stored(200)]
    scopes: list[str]
    database_id: OfDatabase | None
    created_at: datetime
    revoked_at: datetime | None = None
    expires_at: datetime | None = None
    last_used_at: datetime | None = None


@dataclass(frozen=True)
class Session:
    id: Id
    database_id: Annotated[str, Stored(of="databases.id", is_indexed=True)]
    state: Annotated[SessionState, Stored(20)]
    objective: Objective
    limits: tuple[Limit, ...]
    mode: Annotated[Mode, Stored(20)]
    approval: Annotated[Approval, Stored(20)]
    max_trials: int
    seed: Annotated[int, Stored(is_big=True)]
    baseline: Document | None
    created_at: datetime
    verification_rounds: int
    exploration: int
    p99_source: Annotated[str, Stored(20)] | None = None
    p99_of: Annotated[str, Stored(20)] | None = None
    message: Annotated[str, Stored(1000)] = ""
    ended_at: datetime | None = None
    identity: Identity | None = None
    rebased_at: datetime | None = None
    resumed_at: datetime | None = None
    opened_by_agent: Annotated[bool, Stored(default=false())] = False
    max_changes: int | None = None
    aim: Aim | None = None
    measured_under: Annotated[str, Stored(1000)] | None = None
    settled: Document | None = None

    def is_about(self, recommendation: Recommendation) -> bool:
        """Whether a recommendation says something of the server that the session is for now."""
        return self.rebased_at is None or recommendation.request.created_at >= self.rebased_at

    @property
    def judged(self) -> Objective:
        """The measure that compares its trials: over several loads one number, otherwise the objective itself."""
        return self.objective if self.aim is None else self.aim.judged

    @property
    def judged_limits(self) -> tuple[Limit, ...]:
        """The limits under each of several loads."""
        return self.limits if self.aim is None else self.aim.limits(self.limits)


JobName = Literal["recommendation", "shadow", "score", "workload"]


@dataclass(frozen=True)
class Job:
    id: Id
    kind: Annotated[JobName, Stored(20)]
    ready_at: datetime
    database_id: OfDatabase | None = None
    attempts: int = 0
    owner: Annotated[str, Stored(40)] | None = None
    lease_until: datetime | None = None


@dataclass(frozen=True)
class StoredRequest:
    """The input of a recommendation's computation."""

    recommendation_id: Annotated[str, Stored(of="recommendations.id", is_key=True)]
    task: Annotated[str, Stored(40)]
    payload: Document


@dataclass(frozen=True)
class StoredReport:
    database_id: OfDatabase
    agent: Annotated[str, Stored(64)]
    epoch: Annotated[str, Stored(64)]
    sequence: Annotated[int, Stored(is_big=True)]
    sent_at: datetime
    received_at: datetime
    settings_hash: Annotated[str, Stored(64)]
    metrics: Document
    context: Document
    outcomes: list[Document]
    session_id: Annotated[str, Stored(of="sessions.id", is_indexed=True)] | None = None
    recommendation_id: OfRecommendation | None = None
    window_start: datetime | None = None
    window_end: datetime | None = None
    configuration: Document | None = None
    p99_source: Annotated[str, Stored(20)] | None = None
    p99_of: Annotated[str, Stored(20)] | None = None
    failure: Annotated[str, Stored(200)] | None = None
    ended_early: Document | None = None
    windows: Annotated[int, Stored(default="1")] = 1
    texts: Document | None = None
    id: Annotated[int, Stored(is_key=True, is_big=True)] | None = None


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
    id: Id
    database_id: OfDatabase
    session_id: Annotated[str, Stored(of="sessions.id", is_indexed=True)] | None
    recommendation_id: Annotated[str, Stored(of="recommendations.id", is_indexed=True)] | None
    agent_event: Annotated[str, Stored(64)]
    guard: Annotated[str, Stored(40)]
    at: datetime
    received_at: datetime
    told: Document


@dataclass(frozen=True)
class Reading:
    """The load and the p99 of one stored window; `windows` is more than one after a merge."""

    id: int
    window_end: datetime
    windows: int
    p99_source: str | None
    p99_of: str | None
    qps: float | None
    tps: float | None
    p99_ms: float | None


@dataclass(frozen=True)
class LoadHour:
    id: Id
    database_id: OfDatabase
    hour: Annotated[datetime, Stored(is_indexed=True)]
    p99_of: Annotated[str, Stored(50)]
    windows: int
    newest: Annotated[int, Stored(is_big=True)]
    qps: float | None = None
    tps: float | None = None
    p99_ms: float | None = None


@dataclass(frozen=True)
class Finding:
    id: Id
    database_id: OfDatabase
    name: Annotated[str, Stored(100)]
    kind: Annotated[Kind, Stored(20)]
    strength: float
    sentence: Annotated[str, Stored(2000)]
    since: datetime
    last_seen: datetime
    gone_at: datetime | None = None


@dataclass(frozen=True)
class Accepted:
    id: Id
    database_id: OfDatabase
    name: Annotated[str, Stored(100)]
    kind: Annotated[Kind, Stored(20)]
    because: Annotated[str, Stored(1000)]
    until: datetime
    accepted_at: datetime
    accepted_by: Annotated[str, Stored(200)]


@dataclass(frozen=True)
class Snapshot:
    id: Id
    database_id: OfDatabase | None
    session_id: OfSession | None
    key: Annotated[str, Stored(64)]
    observations: int
    payload: Document
    created_at: datetime


@dataclass(frozen=True)
class Workload:
    """`history` is empty if only the rest was asked for."""

    id: Id
    key: Annotated[str, Stored(64)]
    name: Annotated[str, Stored(200)]
    engine: Annotated[str, Stored(40)]
    metric: Annotated[str, Stored(128)]
    database_id: OfDatabase | None
    session_id: Annotated[str, Stored(of="sessions.id", is_unique=True)] | None
    observations: int
    history: Document
    created_at: datetime
    changed_at: datetime
    taught: Document | None = None
    snapshot_id: Annotated[str, Stored(40)] | None = None
    fitted_with: Annotated[str, Stored(64)] | None = None
    error: Annotated[str, Stored(1000)] | None = None
    merged_into: Annotated[str, Stored(40)] | None = None


@dataclass(frozen=True)
class Answer:
    """A stored answer to a POST that carried an Idempotency-Key."""

    token_id: Id
    key: Annotated[str, Stored(200, is_key=True)]
    request_hash: Annotated[str, Stored(64)]
    status: int
    response: Document
    created_at: Annotated[datetime, Stored(is_indexed=True)]


@dataclass(frozen=True)
class AuditEntry:
    id: Id
    at: datetime
    database_id: Annotated[str, Stored(40)] | None
    action: Annotated[str, Stored(40)]
    target: Annotated[str, Stored(40)]
    token_id: Annotated[str, Stored(40)] | None
    token_name: Annotated[str, Stored(200)]
    address: Annotated[str, Stored(64)]
    request_id: Annotated[str, Stored(64)]
    before: Document | None
    after: Document | None


@dataclass(frozen=True)
class ModelVersion:
    id: Id
    name: Annotated[str, Stored(200)]
    state: Annotated[ModelState, Stored(20)]
    created_at: datetime
    created_by: Annotated[str, Stored(200)]
    note: Annotated[str, Stored(1000)] = ""
    shadow: bool = False
    package_version: Annotated[str, Stored(40)] | None = None
    packages: Document = field(default_factory=dict)
    options: Document | None = None
    fingerprint: Annotated[str, Stored(16)] | None = None
    former_id: Annotated[str, Stored(40)] | None = None
    promoted_at: datetime | None = None
    retired_at: datetime | None = None
    data: Document | None = None
    scorecard: Document | None = None
    scored_at: datetime | None = None


@dataclass(frozen=True)
class ModelJob:
    id: Id
    model_id: Annotated[str, Stored(of="model_versions.id")]
    kind: Annotated[Literal["score", "shadow"], Stored(20)]
    state: Annotated[Literal["waiting", "done", "failed"], Stored(20)]
    created_at: datetime
    recommendation_id: OfRecommendation | None = None
    sessions: list[str] = field(default_factory=list)
    results: list[Document] = field(default_factory=list)
    predictions: Document | None = None
    error: Annotated[str, Stored(1000)] | None = None
    ended_at: datetime | None = None

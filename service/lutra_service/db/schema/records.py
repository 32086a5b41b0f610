"""What the repositories give and take: plain, frozen records, one per table."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

Document = dict[str, Any]


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
    state: str
    objective_metric: str
    objective_goal: str
    limits: list[Document]
    mode: str
    approval: str
    max_trials: int
    seed: int
    baseline: Document | None
    created_at: datetime
    p99_source: str | None = None
    p99_of: str | None = None
    message: str = ""
    ended_at: datetime | None = None
    identity: Document | None = None
    rebased_at: datetime | None = None
    resumed_at: datetime | None = None
    opened_by_agent: bool = False


@dataclass(frozen=True)
class Recommendation:
    id: str
    database_id: str
    kind: str
    state: str
    key: str
    seed: int
    package_version: str
    before: Document
    created_at: datetime
    session_id: str | None = None
    parent_id: str | None = None
    trial: int | None = None
    origin: str | None = None
    configuration: Document | None = None
    digest: str | None = None
    predictions: Document | None = None
    reasons: list[Document] | None = None
    memory: Document | None = None
    changes: list[Document] | None = None
    restart_needed: bool | None = None
    warnings: list[str] | None = None
    outcome: Document | None = None
    measured: Document | None = None
    error: str | None = None
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


@dataclass(frozen=True)
class Waiting:
    """A computation that nobody works on."""

    recommendation_id: str
    database_id: str


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
    windows: int = 1
    id: int | None = None


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
class Snapshot:
    id: str
    database_id: str
    session_id: str | None
    key: str
    observations: int
    payload: Document
    created_at: datetime


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

"""The tables. State that several processes may change is changed by conditional updates in `repositories`.

Documents (settings, predictions, a memory sum) are JSON columns: they are read whole and never searched.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from sqlalchemy import (
    JSON,
    BigInteger,
    DateTime,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    String,
    TypeDecorator,
    UniqueConstraint,
    false,
    text,
)
from sqlalchemy.engine import Dialect
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from lutra_service.common.documents import Document
from lutra_service.db.schema.dialects import DIALECTS
from lutra_service.db.schema.storable import Unstorable

LEARNED = (
    "session_id IS NOT NULL AND configuration IS NOT NULL "
    "AND (window_end IS NOT NULL AND CAST(metrics AS VARCHAR) != '{}' OR failure IS NOT NULL)"
)
"""Reports that a session can learn from."""
ALIKE = ("settings_hash", "recommendation_id", "p99_source", "p99_of")
"""Reports of a session that agree in these are equivalent."""


def partial(name: str, *columns: str, where: str, unique: bool = False) -> Index:
    """An index over the rows for which `where` holds; a query has to repeat it to use the index."""
    only: dict[str, Any] = {f"{dialect}_where": text(where) for dialect in DIALECTS}
    return Index(name, *columns, unique=unique, **only)


class UtcDateTime(TypeDecorator[datetime]):
    """A moment in UTC on every database; SQLite keeps no zone of its own."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        try:
            return None if value is None else value.astimezone(UTC)
        except OverflowError:
            raise Unstorable(f"{value} is not a moment in UTC") from None

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


class Table(DeclarativeBase):
    metadata = MetaData(
        naming_convention={
            "ix": "ix_%(column_0_label)s",
            "uq": "uq_%(table_name)s_%(column_0_name)s",
            "ck": "ck_%(table_name)s_%(constraint_name)s",
            "fk": "fk_%(table_name)s_%(column_0_name)s_%(referred_table_name)s",
            "pk": "pk_%(table_name)s",
        }
    )
    type_annotation_map = {datetime: UtcDateTime, Document: JSON(none_as_null=True), list[Any]: JSON(none_as_null=True)}  # noqa: RUF012


class DatabaseRow(Table):
    """A registered database server, with its agent's last report.

    `guardrails` are the operator's on the service, and `maintenance_windows` the times at which it may restart.
    `filled_bytes` is the used part of the database's daily quota at `filled_at` (see `ledger`). `reporter` is the
    agent, with the epoch of its state, whose report is the newest, and `reporter_sequence` that report's number.
    `label` names the group of databases that it belongs to (see `Workloads.owners`). `rival` is the latest answer to a
    second agent of the reporter's name, at `rival_at`. A retired database gets no reports. `counts` are the numbers of
    events since it was registered. `looked_at` is the time of the latest check for findings.
    """

    __tablename__ = "databases"
    id: Mapped[str] = mapped_column(String(40), primary_key=True)
    name: Mapped[str] = mapped_column(String(200), unique=True)
    engine: Mapped[str] = mapped_column(String(40))
    policy: Mapped[Document]
    created_at: Mapped[datetime]
    engine_version: Mapped[str | None] = mapped_column(String(64))
    role: Mapped[str | None] = mapped_column(String(20))
    host: Mapped[Document | None]
    context: Mapped[Document | None]
    peak_connections: Mapped[int] = mapped_column(default=0)
    settings_hash: Mapped[str | None] = mapped_column(String(64))
    agent_status: Mapped[Document | None]
    last_report_at: Mapped[datetime | None]
    last_window_end: Mapped[datetime | None]
    identifier: Mapped[str | None] = mapped_column(String(128))
    guardrails: Mapped[Document | None]
    maintenance_windows: Mapped[list[Any] | None]
    filled_bytes: Mapped[int] = mapped_column(BigInteger, default=0, server_default="0")
    filled_at: Mapped[datetime | None]
    reporter: Mapped[str | None] = mapped_column(String(129))
    reporter_sequence: Mapped[int | None] = mapped_column(BigInteger)
    label: Mapped[str | None] = mapped_column(String(200))
    rival: Mapped[str | None] = mapped_column(String(1000))
    rival_at: Mapped[datetime | None]
    retired_at: Mapped[datetime | None]
    counts: Mapped[Document | None]
    looked_at: Mapped[datetime | None]


class SettingsRow(Table):
    """A server's reported settings, once per distinct content; with the unreadable ones and the reasons."""

    __tablename__ = "settings"
    database_id: Mapped[str] = mapped_column(ForeignKey("databases.id"), primary_key=True)
    hash: Mapped[str] = mapped_column(String(64), primary_key=True)
    settings: Mapped[Document]
    first_seen_at: Mapped[datetime]
    unreadable: Mapped[Document | None]


class TokenRow(Table):
    """A bearer token, stored as the SHA-256 of its secret. `database_id` binds an agent's token to one database.

    `last_used_at` is exact to a minute.
    """

    __tablename__ = "tokens"
    id: Mapped[str] = mapped_column(String(40), primary_key=True)
    hash: Mapped[str] = mapped_column(String(64), unique=True)
    name: Mapped[str] = mapped_column(String(200))
    scopes: Mapped[list[Any]]
    database_id: Mapped[str | None] = mapped_column(ForeignKey("databases.id"))
    created_at: Mapped[datetime]
    revoked_at: Mapped[datetime | None]
    expires_at: Mapped[datetime | None]
    last_used_at: Mapped[datetime | None]


class SessionRow(Table):
    """A tuning session; `baseline` is the configuration that was active when it began, `identity` the server then.

    If that server was replaced and the operator continued, both are those of `rebased_at`, and earlier measurements no
    longer count. `resumed_at` is the time at which an operator last confirmed that the obstacle is removed.
    `opened_by_agent`: by a token with an agent's rights only. `verification_rounds`: at most, before a lab's session
    hands over; 0 for no verification. `aim` says under which loads each
    trial is measured and how they count; none for the load that the agent's driver makes by itself. `measured_under`
    are the loads under which the handed-over configuration was measured. `settled` are the circumstances under which no
    change was worthwhile, and the time of the last comparison with the present (see `app.tuning.observe.settling`).
    """

    __tablename__ = "sessions"
    id: Mapped[str] = mapped_column(String(40), primary_key=True)
    database_id: Mapped[str] = mapped_column(ForeignKey("databases.id"), index=True)
    state: Mapped[str] = mapped_column(String(20))
    objective_metric: Mapped[str] = mapped_column(String(128))
    objective_goal: Mapped[str] = mapped_column(String(10))
    limits: Mapped[list[Any]]
    mode: Mapped[str] = mapped_column(String(20))
    approval: Mapped[str] = mapped_column(String(20))
    max_trials: Mapped[int]
    seed: Mapped[int] = mapped_column(BigInteger)
    baseline: Mapped[Document | None]
    p99_source: Mapped[str | None] = mapped_column(String(20))
    p99_of: Mapped[str | None] = mapped_column(String(20))
    message: Mapped[str] = mapped_column(String(1000), default="")
    created_at: Mapped[datetime]
    ended_at: Mapped[datetime | None]
    identity: Mapped[Document | None]
    rebased_at: Mapped[datetime | None]
    resumed_at: Mapped[datetime | None]
    opened_by_agent: Mapped[bool] = mapped_column(default=False, server_default=false())
    verification_rounds: Mapped[int]
    max_changes: Mapped[int | None]
    aim: Mapped[Document | None]
    measured_under: Mapped[str | None] = mapped_column(String(1000))
    exploration: Mapped[int]
    settled: Mapped[Document | None]


class RecommendationRow(Table):
    """A recommendation from its request to its outcome; a row `computing` is also the job (see `app.jobs`).

    `key` makes the request unique: the same question about the same history is one row. `digest` is that of the
    configuration, for look-ups. `trial` numbers the recommendations of a session from 1. `kind` is search, verification
    (one reading of a finalist, see `app.tuning.record.verification`), handover (the end of a session), manual (an
    operator's own settings), subset (a part of another one) or rollback. `curve` is the gain of few of its changes;
    `shortened_from` is the best by posterior that it replaces, with fewer changes. `must_reach` is the reading without
    which its window may be ended early, and `ended_early` the bound of one that was. `looked_at` is the ground of a
    recommendation on a live database (`lutra_models.advice.Basis`). `turned_down` are its declined changes
    (`lutra_models.evidence.TurnedDown`), and `reason` is why. `judgement` is its effect at comparable load
    (`lutra_models.judgement.Judgement`, and its sentence). `handed_to` is the agent that was given it as a directive;
    one that was withdrawn after that keeps its state until this agent's outcome is known. `failure` is the reason why
    it failed or was undone (`lutra_models.errors.Failure`). `model_version` computed it; none if nothing was
    computed. `leaned` names the past workloads that it uses with their weights, the
    configuration without them, and what that model predicts.
    """

    __tablename__ = "recommendations"
    __table_args__ = (
        UniqueConstraint("database_id", "key", name="uq_recommendations_key"),
        Index("ix_recommendations_database_state", "database_id", "state"),
        Index("ix_recommendations_state", "state", "id"),
        Index("ix_recommendations_database", "database_id", "id"),
        Index("ix_recommendations_session", "session_id", "id"),
        Index("ix_recommendations_digest", "database_id", "digest"),
        Index("ix_recommendations_withdrawn", "database_id", "withdrawn_at"),
        Index("ix_recommendations_turned_down", "database_id", "turned_down_at"),
    )
    id: Mapped[str] = mapped_column(String(40), primary_key=True)
    database_id: Mapped[str] = mapped_column(ForeignKey("databases.id"))
    session_id: Mapped[str | None] = mapped_column(ForeignKey("sessions.id"))
    parent_id: Mapped[str | None] = mapped_column(String(40))
    trial: Mapped[int | None]
    kind: Mapped[str] = mapped_column(String(20))
    origin: Mapped[str | None] = mapped_column(String(40))
    state: Mapped[str] = mapped_column(String(20))
    key: Mapped[str] = mapped_column(String(64))
    seed: Mapped[int] = mapped_column(BigInteger)
    package_version: Mapped[str] = mapped_column(String(40))
    before: Mapped[Document]
    configuration: Mapped[Document | None]
    digest: Mapped[str | None] = mapped_column(String(16))
    predictions: Mapped[Document | None]
    reasons: Mapped[list[Any] | None]
    memory: Mapped[Document | None]
    changes: Mapped[list[Any] | None]
    restart_needed: Mapped[bool | None]
    warnings: Mapped[list[Any] | None]
    outcome: Mapped[Document | None]
    measured: Mapped[Document | None]
    failure: Mapped[Document | None]
    lease_until: Mapped[datetime | None]
    attempts: Mapped[int] = mapped_column(default=0)
    created_at: Mapped[datetime]
    proposed_at: Mapped[datetime | None]
    decided_at: Mapped[datetime | None]
    decided_by: Mapped[str | None] = mapped_column(String(40))
    applied_at: Mapped[datetime | None]
    expires_at: Mapped[datetime | None]
    ended_at: Mapped[datetime | None]
    handed_out_at: Mapped[datetime | None]
    handed_to: Mapped[str | None] = mapped_column(String(129))
    withdrawn_at: Mapped[datetime | None]
    withdrawn_by: Mapped[str | None] = mapped_column(String(40))
    curve: Mapped[list[Any] | None]
    shortened_from: Mapped[Document | None]
    must_reach: Mapped[float | None]
    ended_early: Mapped[Document | None]
    looked_at: Mapped[Document | None]
    reason: Mapped[str | None] = mapped_column(String(1000))
    turned_down: Mapped[Document | None]
    turned_down_at: Mapped[datetime | None]
    model_version: Mapped[str | None] = mapped_column(String(40))
    judgement: Mapped[Document | None]
    leaned: Mapped[Document | None]


class RequestRow(Table):
    """The input of a computation, including its history: enough to compute it again, bit by bit."""

    __tablename__ = "requests"
    recommendation_id: Mapped[str] = mapped_column(ForeignKey("recommendations.id"), primary_key=True)
    task: Mapped[str] = mapped_column(String(40))
    payload: Mapped[Document]


class ReportRow(Table):
    """One report: one row, its metrics one document. Unique by (database, agent, epoch, sequence).

    `recommendation_id` is the recommendation whose configuration the window measured; `failure` is the reason for a
    missing measurement; `ended_early` is the bound of a window that was ended before its time. `configuration` is the
    parsed configuration that was active. `windows` is the number of windows in the row: more than one after old ones
    were merged. `texts` are names of the database's objects at the window's end.
    """

    __tablename__ = "reports"
    __table_args__ = (
        UniqueConstraint("database_id", "agent", "epoch", "sequence", name="uq_reports_sequence"),
        Index("ix_reports_database_window", "database_id", "window_end"),
        partial("ix_reports_windows", "database_id", "id", where="window_end IS NOT NULL"),
        Index("ix_reports_database_received", "database_id", "received_at"),
        Index("ix_reports_recommendation", "recommendation_id", "id"),
        partial("ix_reports_learned", "session_id", *ALIKE, "id", where=LEARNED),
        partial("ix_reports_unread", "database_id", "settings_hash", where="configuration IS NULL"),
        partial("ix_reports_together", "database_id", "agent", "epoch", "sequence", where="windows > 1"),
    )
    id: Mapped[int] = mapped_column(BigInteger().with_variant(Integer, "sqlite"), primary_key=True, autoincrement=True)
    database_id: Mapped[str] = mapped_column(ForeignKey("databases.id"))
    session_id: Mapped[str | None] = mapped_column(ForeignKey("sessions.id"), index=True)
    recommendation_id: Mapped[str | None] = mapped_column(ForeignKey("recommendations.id"))
    agent: Mapped[str] = mapped_column(String(64))
    epoch: Mapped[str] = mapped_column(String(64))
    sequence: Mapped[int] = mapped_column(BigInteger)
    sent_at: Mapped[datetime]
    received_at: Mapped[datetime]
    window_start: Mapped[datetime | None]
    window_end: Mapped[datetime | None]
    settings_hash: Mapped[str] = mapped_column(String(64))
    configuration: Mapped[Document | None]
    metrics: Mapped[Document]
    context: Mapped[Document]
    p99_source: Mapped[str | None] = mapped_column(String(20))
    p99_of: Mapped[str | None] = mapped_column(String(20))
    failure: Mapped[str | None] = mapped_column(String(200))
    ended_early: Mapped[Document | None]
    outcomes: Mapped[list[Any]]
    windows: Mapped[int] = mapped_column(default=1, server_default="1")
    texts: Mapped[Document | None]


class EventRow(Table):
    """A guard that fired on a database, with the agent's figures in `told`; repeated reports are stored once."""

    __tablename__ = "events"
    __table_args__ = (
        UniqueConstraint("database_id", "agent_event", name="uq_events_agent_event"),
        Index("ix_events_database", "database_id", "id"),
    )
    id: Mapped[str] = mapped_column(String(40), primary_key=True)
    database_id: Mapped[str] = mapped_column(ForeignKey("databases.id"))
    session_id: Mapped[str | None] = mapped_column(ForeignKey("sessions.id"), index=True)
    recommendation_id: Mapped[str | None] = mapped_column(ForeignKey("recommendations.id"), index=True)
    agent_event: Mapped[str] = mapped_column(String(64))
    guard: Mapped[str] = mapped_column(String(40))
    at: Mapped[datetime]
    received_at: Mapped[datetime]
    told: Mapped[Document]


class FindingRow(Table):
    """A finding that was present on a database without a break: from `since` until `gone_at`, null while it is present.

    `kind`, `strength` and `sentence` are those of `last_seen`.
    """

    __tablename__ = "findings"
    __table_args__ = (
        Index("ix_findings_database", "database_id", "id"),
        Index("ix_findings_name", "database_id", "name", "id"),
    )
    id: Mapped[str] = mapped_column(String(40), primary_key=True)
    database_id: Mapped[str] = mapped_column(ForeignKey("databases.id"))
    name: Mapped[str] = mapped_column(String(100))
    kind: Mapped[str] = mapped_column(String(20))
    strength: Mapped[float]
    sentence: Mapped[str] = mapped_column(String(2000))
    since: Mapped[datetime]
    last_seen: Mapped[datetime]
    gone_at: Mapped[datetime | None]


class AcceptedRow(Table):
    """An accepted risk: a finding of a database, one row each, until it is withdrawn. `kind` is the finding's kind at
    that time.
    """

    __tablename__ = "accepted_findings"
    __table_args__ = (UniqueConstraint("database_id", "name", name="uq_accepted_findings_name"),)
    id: Mapped[str] = mapped_column(String(40), primary_key=True)
    database_id: Mapped[str] = mapped_column(ForeignKey("databases.id"))
    name: Mapped[str] = mapped_column(String(100))
    kind: Mapped[str] = mapped_column(String(20))
    because: Mapped[str] = mapped_column(String(1000))
    until: Mapped[datetime]
    accepted_at: Mapped[datetime]
    accepted_by: Mapped[str] = mapped_column(String(200))


class SnapshotRow(Table):
    """A fitted model as plain numbers; predictions over REST are answered from the newest of a database.

    One without a database was trained for the memory (see `WorkloadRow`), and is used only by recommendations.
    """

    __tablename__ = "snapshots"
    __table_args__ = (
        Index("ix_snapshots_database", "database_id", "id"),
        Index("ix_snapshots_session", "session_id", "id"),
    )
    id: Mapped[str] = mapped_column(String(40), primary_key=True)
    database_id: Mapped[str | None] = mapped_column(ForeignKey("databases.id"))
    session_id: Mapped[str | None] = mapped_column(ForeignKey("sessions.id"))
    key: Mapped[str] = mapped_column(String(64))
    observations: Mapped[int]
    payload: Mapped[Document]
    created_at: Mapped[datetime]


class WorkloadRow(Table):
    """A past workload: a session's, or a data set that was imported, which has neither session nor database.

    `history` are the measurements (packed; none of a session whose request was deleted before there was a memory),
    `key` its digest, and `metric` its objective's. `taught` is a summary of the model `snapshot_id`
    (`lutra_models.gp.transfer.workload`). `fitted_with` are the options and the recipe of both, and `error` is the
    reason of a failed fit. A workload without a lesson beyond another one of its database is `merged_into` that one.
    `lease_until`: a worker fits it.
    """

    __tablename__ = "workloads"
    __table_args__ = (
        Index("ix_workloads_changed_at", "changed_at", "id"),
        Index("ix_workloads_database", "database_id", "id"),
        Index("ix_workloads_key", "key"),
        Index("ix_workloads_snapshot", "snapshot_id"),
    )
    id: Mapped[str] = mapped_column(String(40), primary_key=True)
    key: Mapped[str] = mapped_column(String(64))
    name: Mapped[str] = mapped_column(String(200))
    engine: Mapped[str] = mapped_column(String(40))
    metric: Mapped[str] = mapped_column(String(128))
    database_id: Mapped[str | None] = mapped_column(ForeignKey("databases.id"))
    session_id: Mapped[str | None] = mapped_column(ForeignKey("sessions.id"), unique=True)
    observations: Mapped[int]
    history: Mapped[Document]
    taught: Mapped[Document | None]
    snapshot_id: Mapped[str | None] = mapped_column(String(40))
    fitted_with: Mapped[str | None] = mapped_column(String(64))
    error: Mapped[str | None] = mapped_column(String(1000))
    merged_into: Mapped[str | None] = mapped_column(String(40))
    lease_until: Mapped[datetime | None]
    created_at: Mapped[datetime]
    changed_at: Mapped[datetime]


class IdempotencyRow(Table):
    """The answer to a POST that carried an `Idempotency-Key`, given again to the same request."""

    __tablename__ = "idempotency_keys"
    token_id: Mapped[str] = mapped_column(String(40), primary_key=True)
    key: Mapped[str] = mapped_column(String(200), primary_key=True)
    request_hash: Mapped[str] = mapped_column(String(64))
    status: Mapped[int]
    response: Mapped[Document]
    created_at: Mapped[datetime] = mapped_column(index=True)


class AuditRow(Table):
    """An action with its actor and its object. `token_id` is None for the service itself, or for a person at its
    command line.
    """

    __tablename__ = "audit"
    __table_args__ = (
        Index("ix_audit_database", "database_id", "id"),
        Index("ix_audit_action", "action", "id"),
        Index("ix_audit_at", "at"),
    )
    id: Mapped[str] = mapped_column(String(40), primary_key=True)
    at: Mapped[datetime]
    database_id: Mapped[str | None] = mapped_column(String(40))
    action: Mapped[str] = mapped_column(String(40))
    target: Mapped[str] = mapped_column(String(40))
    token_id: Mapped[str | None] = mapped_column(String(40))
    token_name: Mapped[str] = mapped_column(String(200))
    address: Mapped[str] = mapped_column(String(64))
    request_id: Mapped[str] = mapped_column(String(64))
    before: Mapped[Document | None]
    after: Mapped[Document | None]


class ModelVersionRow(Table):
    """A version that may serve: options of the recommender, and the packages that they need beyond Lutra's own.

    `options` are none for what the installed package ships. One version is the champion; `former_id` is the champion
    before it. `data` says what its `scorecard` was computed from. `shadow`: it predicts beside the champion.
    """

    __tablename__ = "model_versions"
    __table_args__ = (partial("uq_model_versions_champion", "state", where="state = 'champion'", unique=True),)
    id: Mapped[str] = mapped_column(String(40), primary_key=True)
    name: Mapped[str] = mapped_column(String(200))
    note: Mapped[str] = mapped_column(String(1000))
    state: Mapped[str] = mapped_column(String(20))
    shadow: Mapped[bool]
    package_version: Mapped[str | None] = mapped_column(String(40))
    packages: Mapped[Document]
    options: Mapped[Document | None]
    fingerprint: Mapped[str | None] = mapped_column(String(16))
    created_at: Mapped[datetime]
    created_by: Mapped[str] = mapped_column(String(200))
    former_id: Mapped[str | None] = mapped_column(String(40))
    promoted_at: Mapped[datetime | None]
    retired_at: Mapped[datetime | None]
    data: Mapped[Document | None]
    scorecard: Mapped[Document | None]
    scored_at: Mapped[datetime | None]


class ModelJobRow(Table):
    """A computation for a model version: its scorecard, session by session, or one prediction in the shadow.

    `sessions` are those of a scorecard, and `results` the outcomes of the first of them. A prediction is of a
    recommendation; `predictions` stay as long as that does.
    """

    __tablename__ = "model_jobs"
    __table_args__ = (
        UniqueConstraint("model_id", "recommendation_id", name="uq_model_jobs_recommendation"),
        Index("ix_model_jobs_state", "state", "id"),
        Index("ix_model_jobs_model", "model_id", "kind", "id"),
        Index("ix_model_jobs_recommendation", "recommendation_id"),
    )
    id: Mapped[str] = mapped_column(String(40), primary_key=True)
    model_id: Mapped[str] = mapped_column(ForeignKey("model_versions.id"))
    kind: Mapped[str] = mapped_column(String(20))
    state: Mapped[str] = mapped_column(String(20))
    recommendation_id: Mapped[str | None] = mapped_column(ForeignKey("recommendations.id"))
    sessions: Mapped[list[Any]]
    results: Mapped[list[Any]]
    predictions: Mapped[Document | None]
    error: Mapped[str | None] = mapped_column(String(1000))
    lease_until: Mapped[datetime | None]
    created_at: Mapped[datetime]
    ended_at: Mapped[datetime | None]

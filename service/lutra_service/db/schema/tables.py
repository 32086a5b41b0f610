"""The tables. State that several processes may change is changed by conditional updates in `repositories`.

Documents (settings, predictions, a memory sum) are JSON columns: they are read whole and never searched.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import Column, ForeignKey, Index, MetaData, String, UniqueConstraint, text
from sqlalchemy import Table as SqlTable
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column
from sqlalchemy.schema import SchemaItem

from lutra_service.common.documents import Document
from lutra_service.db.schema.columns import DOCUMENT, UtcDateTime
from lutra_service.db.schema.dialects import DIALECTS
from lutra_service.db.schema.notices import Delivery, Receiver
from lutra_service.db.schema.recommendation import Recommendation
from lutra_service.db.schema.records import (
    Accepted,
    Answer,
    AuditEntry,
    Database,
    Event,
    Finding,
    Job,
    LoadHour,
    ModelJob,
    ModelVersion,
    Session,
    Snapshot,
    StoredReport,
    StoredRequest,
    Token,
    Workload,
)
from lutra_service.db.schema.rows import rows_of

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
    type_annotation_map = {datetime: UtcDateTime, Document: DOCUMENT}  # noqa: RUF012


def _table(name: str, record: type, *items: SchemaItem) -> SqlTable:
    """The table of these records: a column for each field, and `items` beside them."""
    columns = [c.stored.column(c.name, c.type, may_lack) for c, may_lack in rows_of(record).all_columns()]
    return SqlTable(name, Table.metadata, *columns, *items)


class DatabaseRow(Table):
    """A registered database server, with its agent's last report.

    `guardrails` are the operator's on the service, and `maintenance_windows` the times at which it may restart.
    `filled_bytes` is the used part of the database's daily quota at `filled_at` (see `ledger`). `reporter` is the
    agent, with the epoch of its state, whose report is the newest, and `reporter_sequence` that report's number.
    `label` names the group of databases that it belongs to (see `Workloads.owners`). `rival` is the latest answer to a
    second agent of the reporter's name, at `rival_at`. A retired database gets no reports. `counts` are the numbers of
    events since it was registered. `looked_at` is the time of the latest check for findings. `silent_since` is the time
    of its agent's last report, if the agent's silence has been noticed and has not ended.
    """

    __table__ = _table("databases", Database)


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

    __table__ = _table("tokens", Token)


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

    __table__ = _table("sessions", Session)


class RecommendationRow(Table):
    """A recommendation from its request to its outcome, by its parts (see `recommendation`).

    One that is `computing` has a job (see `JobRow`). `key` makes the request unique. `digest` is that of the
    configuration, and `turned_down_at` the moment in `turned_down`: rows are found by them.
    """

    __table__ = _table(
        "recommendations",
        Recommendation,
        Column("digest", String(16)),
        Column("turned_down_at", UtcDateTime()),
        UniqueConstraint("database_id", "key", name="uq_recommendations_key"),
        Index("ix_recommendations_database_state", "database_id", "state"),
        Index("ix_recommendations_state", "state", "id"),
        Index("ix_recommendations_database", "database_id", "id"),
        Index("ix_recommendations_session", "session_id", "id"),
        Index("ix_recommendations_digest", "database_id", "digest"),
        Index("ix_recommendations_withdrawn", "database_id", "withdrawn_at"),
        Index("ix_recommendations_turned_down", "database_id", "turned_down_at"),
        partial("ix_recommendations_gain", "database_id", "applied_at", where="gain IS NOT NULL"),
        partial("ix_recommendations_look_at", "look_at", where="look_at IS NOT NULL"),
    )


class RequestRow(Table):
    """The input of a computation, including its history: enough to compute it again, bit by bit."""

    __table__ = _table("requests", StoredRequest)


class JobRow(Table):
    """A computation that is to be done. The row is deleted when the computation ends or is cancelled.

    `id` is the id of its subject: a recommendation, a model job or a workload. Jobs of one database are computed one
    after another, and databases take turns: `ready_at` is the time of the request, or of the end of the database's
    previous job. `owner` is the process that computes it, and no other process may until `lease_until`. `attempts` is
    the number of workers that were lost while they computed it.
    """

    __table__ = _table(
        "jobs",
        Job,
        Index("ix_jobs_kind", "kind", "id"),
        Index("ix_jobs_database", "database_id", "id"),
    )


class ReportRow(Table):
    """One report: one row, its metrics one document. Unique by (database, agent, epoch, sequence).

    `recommendation_id` is the recommendation whose configuration the window measured; `failure` is the reason for a
    missing measurement; `ended_early` is the bound of a window that was ended before its time. `configuration` is the
    parsed configuration that was active. `windows` is the number of windows in the row: more than one after old ones
    were merged. `texts` are names of the database's objects at the window's end.
    """

    __table__ = _table(
        "reports",
        StoredReport,
        UniqueConstraint("database_id", "agent", "epoch", "sequence", name="uq_reports_sequence"),
        Index("ix_reports_database_window", "database_id", "window_end"),
        partial("ix_reports_windows", "database_id", "id", where="window_end IS NOT NULL"),
        Index("ix_reports_database_received", "database_id", "received_at"),
        Index("ix_reports_recommendation", "recommendation_id", "id"),
        partial("ix_reports_learned", "session_id", *ALIKE, "id", where=LEARNED),
        partial("ix_reports_unread", "database_id", "settings_hash", where="configuration IS NULL"),
        partial("ix_reports_together", "database_id", "agent", "epoch", "sequence", where="windows > 1"),
    )


class EventRow(Table):
    """A guard that fired on a database, with the agent's figures in `told`; repeated reports are stored once."""

    __table__ = _table(
        "events",
        Event,
        UniqueConstraint("database_id", "agent_event", name="uq_events_agent_event"),
        Index("ix_events_database", "database_id", "id"),
    )


class LoadHourRow(Table):
    """The load of a database in one hour, which outlasts its windows: means over windows with the same kind of p99.

    `hour` is its start, in UTC. `p99_of` is the source of p99 and what it counts, as in "histogram of statement"; empty
    for windows without p99. `newest` is the number of the newest report in it: the next look begins after that.
    """

    __table__ = _table(
        "load_hours",
        LoadHour,
        UniqueConstraint("database_id", "hour", "p99_of", name="uq_load_hours_hour"),
        Index("ix_load_hours_newest", "database_id", "newest"),
    )


class FindingRow(Table):
    """A finding that was present on a database without a break: from `since` until `gone_at`, null while it is present.

    `kind`, `strength` and `sentence` are those of `last_seen`.
    """

    __table__ = _table(
        "findings",
        Finding,
        Index("ix_findings_database", "database_id", "id"),
        Index("ix_findings_name", "database_id", "name", "id"),
    )


class AcceptedRow(Table):
    """An accepted risk: a finding of a database, one row each, until it is withdrawn. `kind` is the finding's kind at
    that time.
    """

    __table__ = _table(
        "accepted_findings", Accepted, UniqueConstraint("database_id", "name", name="uq_accepted_findings_name")
    )


class SnapshotRow(Table):
    """A fitted model as plain numbers; predictions over REST are answered from the newest of a database.

    One without a database was trained for the memory (see `WorkloadRow`), and is used only by recommendations.
    """

    __table__ = _table(
        "snapshots",
        Snapshot,
        Index("ix_snapshots_database", "database_id", "id"),
        Index("ix_snapshots_session", "session_id", "id"),
    )


class WorkloadRow(Table):
    """A past workload: a session's, or a data set that was imported, which has neither session nor database.

    `history` are the measurements (packed; none of a session whose request was deleted before there was a memory),
    `key` its digest, and `metric` its objective's. `taught` is a summary of the model `snapshot_id`
    (`lutra_models.gp.transfer.workload`). `fitted_with` are the options and the recipe of both, and `error` is the
    reason of a failed fit. A workload without a lesson beyond another one of its database is `merged_into` that one.
    """

    __table__ = _table(
        "workloads",
        Workload,
        Index("ix_workloads_changed_at", "changed_at", "id"),
        Index("ix_workloads_database", "database_id", "id"),
        Index("ix_workloads_key", "key"),
        Index("ix_workloads_snapshot", "snapshot_id"),
    )


class IdempotencyRow(Table):
    """The answer to a POST that carried an `Idempotency-Key`, given again to the same request."""

    __table__ = _table("idempotency_keys", Answer)


class AuditRow(Table):
    """An action with its actor and its object. `token_id` is None for the service itself, or for a person at its
    command line.
    """

    __table__ = _table(
        "audit",
        AuditEntry,
        Index("ix_audit_database", "database_id", "id"),
        Index("ix_audit_action", "action", "id"),
        Index("ix_audit_at", "at"),
    )


class ModelVersionRow(Table):
    """A version that may serve: options of the recommender, and the packages that they need beyond Lutra's own.

    `options` are none for what the installed package ships. One version is the champion; `former_id` is the champion
    before it. `data` says what its `scorecard` was computed from. `shadow`: it predicts beside the champion.
    """

    __table__ = _table(
        "model_versions",
        ModelVersion,
        partial("uq_model_versions_champion", "state", where="state = 'champion'", unique=True),
    )


class ModelJobRow(Table):
    """A computation for a model version: its scorecard, session by session, or one prediction in the shadow. It has a
    job while it is `waiting` (see `JobRow`).

    `sessions` are those of a scorecard, and `results` the outcomes of the first of them. A prediction is of a
    recommendation; `predictions` stay as long as that does.
    """

    __table__ = _table(
        "model_jobs",
        ModelJob,
        UniqueConstraint("model_id", "recommendation_id", name="uq_model_jobs_recommendation"),
        Index("ix_model_jobs_model", "model_id", "kind", "id"),
        Index("ix_model_jobs_recommendation", "recommendation_id"),
    )


class ReceiverRow(Table):
    """A receiver of notices. `kinds`, `databases` and `labels` limit its notices; each is empty for all.

    `secret` signs what a webhook is sent. `quiet_hours` are a start, an end and a time zone. One that is not `enabled`
    gets no notices, for the reason `disabled_because` if the service disabled it. Nothing is sent before `retry_at`,
    and one message at a time: by the process `owner`, until `lease_until`. `summary_at` is when its newest weekly
    summary was written.
    """

    __table__ = _table("receivers", Receiver)


class DeliveryRow(Table):
    """A message for one receiver: written in the transaction of its event, and kept as the log of its delivery.

    Messages go out in the order of `at` and `place`, which counts those of one transaction. `id` is the `webhook-id`
    of every attempt. The first attempt was at `tried_at`; `status` and `error` are those of the latest. A notice that
    is `digested` is part of the message `digest_id`.
    """

    __table__ = _table(
        "deliveries",
        Delivery,
        Index("ix_deliveries_receiver", "receiver_id", "id"),
        Index("ix_deliveries_database", "database_id"),
        partial("ix_deliveries_waiting", "receiver_id", "at", "place", where="state = 'waiting'"),
    )

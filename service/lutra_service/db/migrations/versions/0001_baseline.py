"""The tables of the first release"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa
from alembic import op
from lutra_service.db.schema.columns import UtcDateTime
from lutra_service.db.schema.dialects import DIALECTS

revision = "baseline"
down_revision = None
branch_labels = None
depends_on = None

LEARNED = (
    "session_id IS NOT NULL AND configuration IS NOT NULL "
    "AND (window_end IS NOT NULL AND CAST(metrics AS VARCHAR) != '{}' OR failure IS NOT NULL)"
)


def upgrade() -> None:
    op.create_table(
        "audit",
        sa.Column("id", sa.String(length=40), nullable=False),
        sa.Column("at", UtcDateTime(), nullable=False),
        sa.Column("database_id", sa.String(length=40), nullable=True),
        sa.Column("action", sa.String(length=40), nullable=False),
        sa.Column("target", sa.String(length=40), nullable=False),
        sa.Column("token_id", sa.String(length=40), nullable=True),
        sa.Column("token_name", sa.String(length=200), nullable=False),
        sa.Column("address", sa.String(length=64), nullable=False),
        sa.Column("request_id", sa.String(length=64), nullable=False),
        sa.Column("before", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("after", sa.JSON(none_as_null=True), nullable=True),
        sa.PrimaryKeyConstraint("id", name="pk_audit"),
    )
    op.create_index("ix_audit_action", "audit", ["action", "id"])
    op.create_index("ix_audit_at", "audit", ["at"])
    op.create_index("ix_audit_database", "audit", ["database_id", "id"])

    op.create_table(
        "databases",
        sa.Column("id", sa.String(length=40), nullable=False),
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("engine", sa.String(length=40), nullable=False),
        sa.Column("policy", sa.JSON(none_as_null=True), nullable=False),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.Column("engine_version", sa.String(length=64), nullable=True),
        sa.Column("role", sa.String(length=20), nullable=True),
        sa.Column("host", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("context", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("peak_connections", sa.Integer(), nullable=False),
        sa.Column("settings_hash", sa.String(length=64), nullable=True),
        sa.Column("agent_status", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("last_report_at", UtcDateTime(), nullable=True),
        sa.Column("last_window_end", UtcDateTime(), nullable=True),
        sa.Column("identifier", sa.String(length=128), nullable=True),
        sa.Column("guardrails", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("maintenance_windows", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("filled_bytes", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("filled_at", UtcDateTime(), nullable=True),
        sa.Column("reporter", sa.String(length=129), nullable=True),
        sa.Column("reporter_sequence", sa.BigInteger(), nullable=True),
        sa.Column("label", sa.String(length=200), nullable=True),
        sa.Column("rival", sa.String(length=1000), nullable=True),
        sa.Column("rival_at", UtcDateTime(), nullable=True),
        sa.Column("retired_at", UtcDateTime(), nullable=True),
        sa.Column("counts", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("looked_at", UtcDateTime(), nullable=True),
        sa.Column("silent_since", UtcDateTime(), nullable=True),
        sa.PrimaryKeyConstraint("id", name="pk_databases"),
        sa.UniqueConstraint("name", name="uq_databases_name"),
    )

    op.create_table(
        "idempotency_keys",
        sa.Column("token_id", sa.String(length=40), nullable=False),
        sa.Column("key", sa.String(length=200), nullable=False),
        sa.Column("request_hash", sa.String(length=64), nullable=False),
        sa.Column("status", sa.Integer(), nullable=False),
        sa.Column("response", sa.JSON(none_as_null=True), nullable=False),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.PrimaryKeyConstraint("token_id", "key", name="pk_idempotency_keys"),
    )
    op.create_index("ix_idempotency_keys_created_at", "idempotency_keys", ["created_at"])

    versions = op.create_table(
        "model_versions",
        sa.Column("id", sa.String(length=40), nullable=False),
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("note", sa.String(length=1000), nullable=False),
        sa.Column("state", sa.String(length=20), nullable=False),
        sa.Column("shadow", sa.Boolean(), nullable=False),
        sa.Column("package_version", sa.String(length=40), nullable=True),
        sa.Column("packages", sa.JSON(none_as_null=True), nullable=False),
        sa.Column("options", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("fingerprint", sa.String(length=16), nullable=True),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.Column("created_by", sa.String(length=200), nullable=False),
        sa.Column("former_id", sa.String(length=40), nullable=True),
        sa.Column("promoted_at", UtcDateTime(), nullable=True),
        sa.Column("retired_at", UtcDateTime(), nullable=True),
        sa.Column("data", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("scorecard", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("scored_at", UtcDateTime(), nullable=True),
        sa.PrimaryKeyConstraint("id", name="pk_model_versions"),
    )
    op.create_index(
        "uq_model_versions_champion", "model_versions", ["state"], unique=True, **_where("state = 'champion'")
    )
    op.bulk_insert(versions, [_shipped()])

    op.create_table(
        "accepted_findings",
        sa.Column("id", sa.String(length=40), nullable=False),
        sa.Column("database_id", sa.String(length=40), nullable=False),
        sa.Column("name", sa.String(length=100), nullable=False),
        sa.Column("kind", sa.String(length=20), nullable=False),
        sa.Column("because", sa.String(length=1000), nullable=False),
        sa.Column("until", UtcDateTime(), nullable=False),
        sa.Column("accepted_at", UtcDateTime(), nullable=False),
        sa.Column("accepted_by", sa.String(length=200), nullable=False),
        sa.ForeignKeyConstraint(["database_id"], ["databases.id"], name="fk_accepted_findings_database_id_databases"),
        sa.PrimaryKeyConstraint("id", name="pk_accepted_findings"),
        sa.UniqueConstraint("database_id", "name", name="uq_accepted_findings_name"),
    )

    op.create_table(
        "findings",
        sa.Column("id", sa.String(length=40), nullable=False),
        sa.Column("database_id", sa.String(length=40), nullable=False),
        sa.Column("name", sa.String(length=100), nullable=False),
        sa.Column("kind", sa.String(length=20), nullable=False),
        sa.Column("strength", sa.Double(), nullable=False),
        sa.Column("sentence", sa.String(length=2000), nullable=False),
        sa.Column("since", UtcDateTime(), nullable=False),
        sa.Column("last_seen", UtcDateTime(), nullable=False),
        sa.Column("gone_at", UtcDateTime(), nullable=True),
        sa.ForeignKeyConstraint(["database_id"], ["databases.id"], name="fk_findings_database_id_databases"),
        sa.PrimaryKeyConstraint("id", name="pk_findings"),
    )
    op.create_index("ix_findings_database", "findings", ["database_id", "id"])
    op.create_index("ix_findings_name", "findings", ["database_id", "name", "id"])

    op.create_table(
        "load_hours",
        sa.Column("id", sa.String(length=40), nullable=False),
        sa.Column("database_id", sa.String(length=40), nullable=False),
        sa.Column("hour", UtcDateTime(), nullable=False),
        sa.Column("p99_of", sa.String(length=50), nullable=False),
        sa.Column("windows", sa.Integer(), nullable=False),
        sa.Column("newest", sa.BigInteger(), nullable=False),
        sa.Column("qps", sa.Double(), nullable=True),
        sa.Column("tps", sa.Double(), nullable=True),
        sa.Column("p99_ms", sa.Double(), nullable=True),
        sa.ForeignKeyConstraint(["database_id"], ["databases.id"], name="fk_load_hours_database_id_databases"),
        sa.PrimaryKeyConstraint("id", name="pk_load_hours"),
        sa.UniqueConstraint("database_id", "hour", "p99_of", name="uq_load_hours_hour"),
    )
    op.create_index("ix_load_hours_hour", "load_hours", ["hour"])
    op.create_index("ix_load_hours_newest", "load_hours", ["database_id", "newest"])

    op.create_table(
        "sessions",
        sa.Column("id", sa.String(length=40), nullable=False),
        sa.Column("database_id", sa.String(length=40), nullable=False),
        sa.Column("state", sa.String(length=20), nullable=False),
        sa.Column("objective_metric", sa.String(length=128), nullable=False),
        sa.Column("objective_goal", sa.String(length=10), nullable=False),
        sa.Column("limits", sa.JSON(none_as_null=True), nullable=False),
        sa.Column("mode", sa.String(length=20), nullable=False),
        sa.Column("approval", sa.String(length=20), nullable=False),
        sa.Column("max_trials", sa.Integer(), nullable=False),
        sa.Column("seed", sa.BigInteger(), nullable=False),
        sa.Column("baseline", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("p99_source", sa.String(length=20), nullable=True),
        sa.Column("p99_of", sa.String(length=20), nullable=True),
        sa.Column("message", sa.String(length=1000), nullable=False),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.Column("ended_at", UtcDateTime(), nullable=True),
        sa.Column("identity", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("rebased_at", UtcDateTime(), nullable=True),
        sa.Column("resumed_at", UtcDateTime(), nullable=True),
        sa.Column("opened_by_agent", sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.Column("verification_rounds", sa.Integer(), nullable=False),
        sa.Column("max_changes", sa.Integer(), nullable=True),
        sa.Column("aim", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("measured_under", sa.String(length=1000), nullable=True),
        sa.Column("exploration", sa.Integer(), nullable=False),
        sa.Column("settled", sa.JSON(none_as_null=True), nullable=True),
        sa.ForeignKeyConstraint(["database_id"], ["databases.id"], name="fk_sessions_database_id_databases"),
        sa.PrimaryKeyConstraint("id", name="pk_sessions"),
    )
    op.create_index("ix_sessions_database_id", "sessions", ["database_id"])

    op.create_table(
        "settings",
        sa.Column("database_id", sa.String(length=40), nullable=False),
        sa.Column("hash", sa.String(length=64), nullable=False),
        sa.Column("settings", sa.JSON(none_as_null=True), nullable=False),
        sa.Column("first_seen_at", UtcDateTime(), nullable=False),
        sa.Column("unreadable", sa.JSON(none_as_null=True), nullable=True),
        sa.ForeignKeyConstraint(["database_id"], ["databases.id"], name="fk_settings_database_id_databases"),
        sa.PrimaryKeyConstraint("database_id", "hash", name="pk_settings"),
    )

    op.create_table(
        "tokens",
        sa.Column("id", sa.String(length=40), nullable=False),
        sa.Column("hash", sa.String(length=64), nullable=False),
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("scopes", sa.JSON(none_as_null=True), nullable=False),
        sa.Column("database_id", sa.String(length=40), nullable=True),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.Column("revoked_at", UtcDateTime(), nullable=True),
        sa.Column("expires_at", UtcDateTime(), nullable=True),
        sa.Column("last_used_at", UtcDateTime(), nullable=True),
        sa.ForeignKeyConstraint(["database_id"], ["databases.id"], name="fk_tokens_database_id_databases"),
        sa.PrimaryKeyConstraint("id", name="pk_tokens"),
        sa.UniqueConstraint("hash", name="uq_tokens_hash"),
    )

    op.create_table(
        "recommendations",
        sa.Column("id", sa.String(length=40), nullable=False),
        sa.Column("database_id", sa.String(length=40), nullable=False),
        sa.Column("session_id", sa.String(length=40), nullable=True),
        sa.Column("parent_id", sa.String(length=40), nullable=True),
        sa.Column("trial", sa.Integer(), nullable=True),
        sa.Column("kind", sa.String(length=20), nullable=False),
        sa.Column("state", sa.String(length=20), nullable=False),
        sa.Column("failure", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("ended_at", UtcDateTime(), nullable=True),
        sa.Column("key", sa.String(length=64), nullable=False),
        sa.Column("seed", sa.BigInteger(), nullable=False),
        sa.Column("package_version", sa.String(length=40), nullable=False),
        sa.Column("before", sa.JSON(none_as_null=True), nullable=False),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.Column("model_version", sa.String(length=40), nullable=True),
        sa.Column("configuration", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("origin", sa.String(length=40), nullable=True),
        sa.Column("changes", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("restart_needed", sa.Boolean(), nullable=True),
        sa.Column("reasons", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("predictions", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("warnings", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("memory", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("curve", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("shortened_from", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("must_reach", sa.Double(), nullable=True),
        sa.Column("looked_at", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("leaned", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("proposed_at", UtcDateTime(), nullable=True),
        sa.Column("digest", sa.String(length=16), nullable=True),
        sa.Column("decided_at", UtcDateTime(), nullable=True),
        sa.Column("decided_by", sa.String(length=40), nullable=True),
        sa.Column("expires_at", UtcDateTime(), nullable=True),
        sa.Column("reason", sa.String(length=1000), nullable=True),
        sa.Column("turned_down", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("turned_down_at", UtcDateTime(), nullable=True),
        sa.Column("handed_out_at", UtcDateTime(), nullable=True),
        sa.Column("handed_to", sa.String(length=129), nullable=True),
        sa.Column("applied_at", UtcDateTime(), nullable=True),
        sa.Column("outcome", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("withdrawn_at", UtcDateTime(), nullable=True),
        sa.Column("withdrawn_by", sa.String(length=40), nullable=True),
        sa.Column("measured", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("ended_early", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("judgement", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("gain", sa.String(length=20), nullable=True),
        sa.Column("look_at", UtcDateTime(), nullable=True),
        sa.Column("kept", sa.JSON(none_as_null=True), nullable=True),
        sa.ForeignKeyConstraint(["database_id"], ["databases.id"], name="fk_recommendations_database_id_databases"),
        sa.ForeignKeyConstraint(["session_id"], ["sessions.id"], name="fk_recommendations_session_id_sessions"),
        sa.PrimaryKeyConstraint("id", name="pk_recommendations"),
        sa.UniqueConstraint("database_id", "key", name="uq_recommendations_key"),
    )
    op.create_index("ix_recommendations_database", "recommendations", ["database_id", "id"])
    op.create_index("ix_recommendations_database_state", "recommendations", ["database_id", "state"])
    op.create_index("ix_recommendations_digest", "recommendations", ["database_id", "digest"])
    op.create_index(
        "ix_recommendations_gain", "recommendations", ["database_id", "applied_at"], **_where("gain IS NOT NULL")
    )
    op.create_index("ix_recommendations_look_at", "recommendations", ["look_at"], **_where("look_at IS NOT NULL"))
    op.create_index("ix_recommendations_session", "recommendations", ["session_id", "id"])
    op.create_index("ix_recommendations_state", "recommendations", ["state", "id"])
    op.create_index("ix_recommendations_turned_down", "recommendations", ["database_id", "turned_down_at"])
    op.create_index("ix_recommendations_withdrawn", "recommendations", ["database_id", "withdrawn_at"])

    op.create_table(
        "snapshots",
        sa.Column("id", sa.String(length=40), nullable=False),
        sa.Column("database_id", sa.String(length=40), nullable=True),
        sa.Column("session_id", sa.String(length=40), nullable=True),
        sa.Column("key", sa.String(length=64), nullable=False),
        sa.Column("observations", sa.Integer(), nullable=False),
        sa.Column("payload", sa.JSON(none_as_null=True), nullable=False),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.ForeignKeyConstraint(["database_id"], ["databases.id"], name="fk_snapshots_database_id_databases"),
        sa.ForeignKeyConstraint(["session_id"], ["sessions.id"], name="fk_snapshots_session_id_sessions"),
        sa.PrimaryKeyConstraint("id", name="pk_snapshots"),
    )
    op.create_index("ix_snapshots_database", "snapshots", ["database_id", "id"])
    op.create_index("ix_snapshots_session", "snapshots", ["session_id", "id"])

    op.create_table(
        "workloads",
        sa.Column("id", sa.String(length=40), nullable=False),
        sa.Column("key", sa.String(length=64), nullable=False),
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("engine", sa.String(length=40), nullable=False),
        sa.Column("metric", sa.String(length=128), nullable=False),
        sa.Column("database_id", sa.String(length=40), nullable=True),
        sa.Column("session_id", sa.String(length=40), nullable=True),
        sa.Column("observations", sa.Integer(), nullable=False),
        sa.Column("history", sa.JSON(none_as_null=True), nullable=False),
        sa.Column("taught", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("snapshot_id", sa.String(length=40), nullable=True),
        sa.Column("fitted_with", sa.String(length=64), nullable=True),
        sa.Column("error", sa.String(length=1000), nullable=True),
        sa.Column("merged_into", sa.String(length=40), nullable=True),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.Column("changed_at", UtcDateTime(), nullable=False),
        sa.ForeignKeyConstraint(["database_id"], ["databases.id"], name="fk_workloads_database_id_databases"),
        sa.ForeignKeyConstraint(["session_id"], ["sessions.id"], name="fk_workloads_session_id_sessions"),
        sa.PrimaryKeyConstraint("id", name="pk_workloads"),
        sa.UniqueConstraint("session_id", name="uq_workloads_session_id"),
    )
    op.create_index("ix_workloads_changed_at", "workloads", ["changed_at", "id"])
    op.create_index("ix_workloads_database", "workloads", ["database_id", "id"])
    op.create_index("ix_workloads_key", "workloads", ["key"])
    op.create_index("ix_workloads_snapshot", "workloads", ["snapshot_id"])

    op.create_table(
        "events",
        sa.Column("id", sa.String(length=40), nullable=False),
        sa.Column("database_id", sa.String(length=40), nullable=False),
        sa.Column("session_id", sa.String(length=40), nullable=True),
        sa.Column("recommendation_id", sa.String(length=40), nullable=True),
        sa.Column("agent_event", sa.String(length=64), nullable=False),
        sa.Column("guard", sa.String(length=40), nullable=False),
        sa.Column("at", UtcDateTime(), nullable=False),
        sa.Column("received_at", UtcDateTime(), nullable=False),
        sa.Column("told", sa.JSON(none_as_null=True), nullable=False),
        sa.ForeignKeyConstraint(["database_id"], ["databases.id"], name="fk_events_database_id_databases"),
        sa.ForeignKeyConstraint(
            ["recommendation_id"], ["recommendations.id"], name="fk_events_recommendation_id_recommendations"
        ),
        sa.ForeignKeyConstraint(["session_id"], ["sessions.id"], name="fk_events_session_id_sessions"),
        sa.PrimaryKeyConstraint("id", name="pk_events"),
        sa.UniqueConstraint("database_id", "agent_event", name="uq_events_agent_event"),
    )
    op.create_index("ix_events_database", "events", ["database_id", "id"])
    op.create_index("ix_events_recommendation_id", "events", ["recommendation_id"])
    op.create_index("ix_events_session_id", "events", ["session_id"])

    op.create_table(
        "model_jobs",
        sa.Column("id", sa.String(length=40), nullable=False),
        sa.Column("model_id", sa.String(length=40), nullable=False),
        sa.Column("kind", sa.String(length=20), nullable=False),
        sa.Column("state", sa.String(length=20), nullable=False),
        sa.Column("recommendation_id", sa.String(length=40), nullable=True),
        sa.Column("sessions", sa.JSON(none_as_null=True), nullable=False),
        sa.Column("results", sa.JSON(none_as_null=True), nullable=False),
        sa.Column("predictions", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("error", sa.String(length=1000), nullable=True),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.Column("ended_at", UtcDateTime(), nullable=True),
        sa.ForeignKeyConstraint(["model_id"], ["model_versions.id"], name="fk_model_jobs_model_id_model_versions"),
        sa.ForeignKeyConstraint(
            ["recommendation_id"], ["recommendations.id"], name="fk_model_jobs_recommendation_id_recommendations"
        ),
        sa.PrimaryKeyConstraint("id", name="pk_model_jobs"),
        sa.UniqueConstraint("model_id", "recommendation_id", name="uq_model_jobs_recommendation"),
    )
    op.create_index("ix_model_jobs_model", "model_jobs", ["model_id", "kind", "id"])
    op.create_index("ix_model_jobs_recommendation", "model_jobs", ["recommendation_id"])

    op.create_table(
        "jobs",
        sa.Column("id", sa.String(length=40), nullable=False),
        sa.Column("kind", sa.String(length=20), nullable=False),
        sa.Column("ready_at", UtcDateTime(), nullable=False),
        sa.Column("database_id", sa.String(length=40), nullable=True),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("owner", sa.String(length=40), nullable=True),
        sa.Column("lease_until", UtcDateTime(), nullable=True),
        sa.ForeignKeyConstraint(["database_id"], ["databases.id"], name="fk_jobs_database_id_databases"),
        sa.PrimaryKeyConstraint("id", name="pk_jobs"),
    )
    op.create_index("ix_jobs_database", "jobs", ["database_id", "id"])
    op.create_index("ix_jobs_kind", "jobs", ["kind", "id"])

    op.create_table(
        "reports",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False),
        sa.Column("database_id", sa.String(length=40), nullable=False),
        sa.Column("session_id", sa.String(length=40), nullable=True),
        sa.Column("recommendation_id", sa.String(length=40), nullable=True),
        sa.Column("agent", sa.String(length=64), nullable=False),
        sa.Column("epoch", sa.String(length=64), nullable=False),
        sa.Column("sequence", sa.BigInteger(), nullable=False),
        sa.Column("sent_at", UtcDateTime(), nullable=False),
        sa.Column("received_at", UtcDateTime(), nullable=False),
        sa.Column("window_start", UtcDateTime(), nullable=True),
        sa.Column("window_end", UtcDateTime(), nullable=True),
        sa.Column("settings_hash", sa.String(length=64), nullable=False),
        sa.Column("configuration", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("metrics", sa.JSON(none_as_null=True), nullable=False),
        sa.Column("context", sa.JSON(none_as_null=True), nullable=False),
        sa.Column("p99_source", sa.String(length=20), nullable=True),
        sa.Column("p99_of", sa.String(length=20), nullable=True),
        sa.Column("failure", sa.String(length=200), nullable=True),
        sa.Column("ended_early", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("outcomes", sa.JSON(none_as_null=True), nullable=False),
        sa.Column("windows", sa.Integer(), server_default="1", nullable=False),
        sa.Column("texts", sa.JSON(none_as_null=True), nullable=True),
        sa.ForeignKeyConstraint(["database_id"], ["databases.id"], name="fk_reports_database_id_databases"),
        sa.ForeignKeyConstraint(
            ["recommendation_id"], ["recommendations.id"], name="fk_reports_recommendation_id_recommendations"
        ),
        sa.ForeignKeyConstraint(["session_id"], ["sessions.id"], name="fk_reports_session_id_sessions"),
        sa.PrimaryKeyConstraint("id", name="pk_reports"),
        sa.UniqueConstraint("database_id", "agent", "epoch", "sequence", name="uq_reports_sequence"),
    )
    op.create_index("ix_reports_database_received", "reports", ["database_id", "received_at"])
    op.create_index("ix_reports_database_window", "reports", ["database_id", "window_end"])
    op.create_index(
        "ix_reports_learned",
        "reports",
        ["session_id", "settings_hash", "recommendation_id", "p99_source", "p99_of", "id"],
        **_where(LEARNED),
    )
    op.create_index("ix_reports_recommendation", "reports", ["recommendation_id", "id"])
    op.create_index("ix_reports_session_id", "reports", ["session_id"])
    op.create_index(
        "ix_reports_together", "reports", ["database_id", "agent", "epoch", "sequence"], **_where("windows > 1")
    )
    op.create_index("ix_reports_unread", "reports", ["database_id", "settings_hash"], **_where("configuration IS NULL"))
    op.create_index("ix_reports_windows", "reports", ["database_id", "id"], **_where("window_end IS NOT NULL"))

    op.create_table(
        "requests",
        sa.Column("recommendation_id", sa.String(length=40), nullable=False),
        sa.Column("task", sa.String(length=40), nullable=False),
        sa.Column("payload", sa.JSON(none_as_null=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["recommendation_id"], ["recommendations.id"], name="fk_requests_recommendation_id_recommendations"
        ),
        sa.PrimaryKeyConstraint("recommendation_id", name="pk_requests"),
    )

    op.create_table(
        "receivers",
        sa.Column("id", sa.String(length=40), nullable=False),
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("kind", sa.String(length=20), nullable=False),
        sa.Column("target", sa.String(length=2000), nullable=False),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.Column("secret", sa.String(length=100), nullable=True),
        sa.Column("kinds", sa.JSON(none_as_null=True), nullable=False),
        sa.Column("databases", sa.JSON(none_as_null=True), nullable=False),
        sa.Column("labels", sa.JSON(none_as_null=True), nullable=False),
        sa.Column("quiet_hours", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("enabled", sa.Boolean(), nullable=False),
        sa.Column("disabled_because", sa.String(length=200), nullable=True),
        sa.Column("retry_at", UtcDateTime(), nullable=True),
        sa.Column("owner", sa.String(length=40), nullable=True),
        sa.Column("lease_until", UtcDateTime(), nullable=True),
        sa.Column("summary_at", UtcDateTime(), nullable=True),
        sa.PrimaryKeyConstraint("id", name="pk_receivers"),
        sa.UniqueConstraint("name", name="uq_receivers_name"),
    )

    op.create_table(
        "deliveries",
        sa.Column("id", sa.String(length=40), nullable=False),
        sa.Column("receiver_id", sa.String(length=40), nullable=False),
        sa.Column("kind", sa.String(length=20), nullable=False),
        sa.Column("database_id", sa.String(length=40), nullable=True),
        sa.Column("at", UtcDateTime(), nullable=False),
        sa.Column("place", sa.Integer(), nullable=False),
        sa.Column("text", sa.String(length=2000), nullable=False),
        sa.Column("facts", sa.JSON(none_as_null=True), nullable=False),
        sa.Column("state", sa.String(length=20), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("tried_at", UtcDateTime(), nullable=True),
        sa.Column("status", sa.Integer(), nullable=True),
        sa.Column("error", sa.String(length=200), nullable=True),
        sa.Column("ended_at", UtcDateTime(), nullable=True),
        sa.Column("digest_id", sa.String(length=40), nullable=True),
        sa.ForeignKeyConstraint(["database_id"], ["databases.id"], name="fk_deliveries_database_id_databases"),
        sa.ForeignKeyConstraint(["receiver_id"], ["receivers.id"], name="fk_deliveries_receiver_id_receivers"),
        sa.PrimaryKeyConstraint("id", name="pk_deliveries"),
    )
    op.create_index("ix_deliveries_database", "deliveries", ["database_id"])
    op.create_index("ix_deliveries_ended_at", "deliveries", ["ended_at"])
    op.create_index("ix_deliveries_receiver", "deliveries", ["receiver_id", "id"])
    op.create_index(
        "ix_deliveries_waiting", "deliveries", ["receiver_id", "at", "place"], **_where("state = 'waiting'")
    )


def _where(condition: str) -> dict[str, Any]:
    return {f"{dialect}_where": sa.text(condition) for dialect in DIALECTS}


def _shipped() -> dict[str, Any]:
    """The first champion: the options of the installed package."""
    now = datetime.now(UTC)
    return {
        "id": "mv_0000000000000000000000",
        "name": "shipped",
        "note": "What the installed package ships.",
        "state": "champion",
        "shadow": False,
        "packages": {},
        "created_at": now,
        "created_by": "service",
        "promoted_at": now,
    }

"""The first tables"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from lutra_service.db.schema.tables import UtcDateTime

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
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
        sa.PrimaryKeyConstraint("id", name=op.f("pk_databases")),
        sa.UniqueConstraint("name", name=op.f("uq_databases_name")),
    )
    op.create_table(
        "idempotency_keys",
        sa.Column("token_id", sa.String(length=40), nullable=False),
        sa.Column("key", sa.String(length=200), nullable=False),
        sa.Column("request_hash", sa.String(length=64), nullable=False),
        sa.Column("status", sa.Integer(), nullable=False),
        sa.Column("response", sa.JSON(none_as_null=True), nullable=False),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.PrimaryKeyConstraint("token_id", "key", name=op.f("pk_idempotency_keys")),
    )
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
        sa.ForeignKeyConstraint(["database_id"], ["databases.id"], name=op.f("fk_sessions_database_id_databases")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_sessions")),
    )
    with op.batch_alter_table("sessions", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_sessions_database_id"), ["database_id"], unique=False)

    op.create_table(
        "settings",
        sa.Column("database_id", sa.String(length=40), nullable=False),
        sa.Column("hash", sa.String(length=64), nullable=False),
        sa.Column("settings", sa.JSON(none_as_null=True), nullable=False),
        sa.Column("first_seen_at", UtcDateTime(), nullable=False),
        sa.ForeignKeyConstraint(["database_id"], ["databases.id"], name=op.f("fk_settings_database_id_databases")),
        sa.PrimaryKeyConstraint("database_id", "hash", name=op.f("pk_settings")),
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
        sa.ForeignKeyConstraint(["database_id"], ["databases.id"], name=op.f("fk_tokens_database_id_databases")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_tokens")),
        sa.UniqueConstraint("hash", name=op.f("uq_tokens_hash")),
    )
    op.create_table(
        "recommendations",
        sa.Column("id", sa.String(length=40), nullable=False),
        sa.Column("database_id", sa.String(length=40), nullable=False),
        sa.Column("session_id", sa.String(length=40), nullable=True),
        sa.Column("parent_id", sa.String(length=40), nullable=True),
        sa.Column("trial", sa.Integer(), nullable=True),
        sa.Column("kind", sa.String(length=20), nullable=False),
        sa.Column("origin", sa.String(length=40), nullable=True),
        sa.Column("state", sa.String(length=20), nullable=False),
        sa.Column("key", sa.String(length=64), nullable=False),
        sa.Column("seed", sa.BigInteger(), nullable=False),
        sa.Column("package_version", sa.String(length=40), nullable=False),
        sa.Column("before", sa.JSON(none_as_null=True), nullable=False),
        sa.Column("configuration", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("predictions", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("reasons", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("memory", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("changes", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("restart_needed", sa.Boolean(), nullable=True),
        sa.Column("warnings", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("outcome", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("measured", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("error", sa.String(length=1000), nullable=True),
        sa.Column("lease_until", UtcDateTime(), nullable=True),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.Column("proposed_at", UtcDateTime(), nullable=True),
        sa.Column("decided_at", UtcDateTime(), nullable=True),
        sa.Column("decided_by", sa.String(length=40), nullable=True),
        sa.Column("applied_at", UtcDateTime(), nullable=True),
        sa.Column("expires_at", UtcDateTime(), nullable=True),
        sa.Column("ended_at", UtcDateTime(), nullable=True),
        sa.ForeignKeyConstraint(
            ["database_id"], ["databases.id"], name=op.f("fk_recommendations_database_id_databases")
        ),
        sa.ForeignKeyConstraint(["session_id"], ["sessions.id"], name=op.f("fk_recommendations_session_id_sessions")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_recommendations")),
        sa.UniqueConstraint("database_id", "key", name="uq_recommendations_key"),
    )
    with op.batch_alter_table("recommendations", schema=None) as batch_op:
        batch_op.create_index("ix_recommendations_database_state", ["database_id", "state"], unique=False)
        batch_op.create_index(batch_op.f("ix_recommendations_session_id"), ["session_id"], unique=False)

    op.create_table(
        "snapshots",
        sa.Column("id", sa.String(length=40), nullable=False),
        sa.Column("database_id", sa.String(length=40), nullable=False),
        sa.Column("session_id", sa.String(length=40), nullable=True),
        sa.Column("key", sa.String(length=64), nullable=False),
        sa.Column("observations", sa.Integer(), nullable=False),
        sa.Column("payload", sa.JSON(none_as_null=True), nullable=False),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.ForeignKeyConstraint(["database_id"], ["databases.id"], name=op.f("fk_snapshots_database_id_databases")),
        sa.ForeignKeyConstraint(["session_id"], ["sessions.id"], name=op.f("fk_snapshots_session_id_sessions")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_snapshots")),
    )
    with op.batch_alter_table("snapshots", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_snapshots_database_id"), ["database_id"], unique=False)

    op.create_table(
        "reports",
        sa.Column("id", sa.Integer(), autoincrement=True, nullable=False),
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
        sa.Column("outcomes", sa.JSON(none_as_null=True), nullable=False),
        sa.ForeignKeyConstraint(["database_id"], ["databases.id"], name=op.f("fk_reports_database_id_databases")),
        sa.ForeignKeyConstraint(
            ["recommendation_id"], ["recommendations.id"], name=op.f("fk_reports_recommendation_id_recommendations")
        ),
        sa.ForeignKeyConstraint(["session_id"], ["sessions.id"], name=op.f("fk_reports_session_id_sessions")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_reports")),
        sa.UniqueConstraint("database_id", "agent", "epoch", "sequence", name="uq_reports_sequence"),
    )
    with op.batch_alter_table("reports", schema=None) as batch_op:
        batch_op.create_index("ix_reports_database_window", ["database_id", "window_end"], unique=False)
        batch_op.create_index(batch_op.f("ix_reports_recommendation_id"), ["recommendation_id"], unique=False)
        batch_op.create_index(batch_op.f("ix_reports_session_id"), ["session_id"], unique=False)

    op.create_table(
        "requests",
        sa.Column("recommendation_id", sa.String(length=40), nullable=False),
        sa.Column("task", sa.String(length=40), nullable=False),
        sa.Column("payload", sa.JSON(none_as_null=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["recommendation_id"], ["recommendations.id"], name=op.f("fk_requests_recommendation_id_recommendations")
        ),
        sa.PrimaryKeyConstraint("recommendation_id", name=op.f("pk_requests")),
    )


def downgrade() -> None:
    op.drop_table("requests")
    with op.batch_alter_table("reports", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_reports_session_id"))
        batch_op.drop_index(batch_op.f("ix_reports_recommendation_id"))
        batch_op.drop_index("ix_reports_database_window")

    op.drop_table("reports")
    with op.batch_alter_table("snapshots", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_snapshots_database_id"))

    op.drop_table("snapshots")
    with op.batch_alter_table("recommendations", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_recommendations_session_id"))
        batch_op.drop_index("ix_recommendations_database_state")

    op.drop_table("recommendations")
    op.drop_table("tokens")
    op.drop_table("settings")
    with op.batch_alter_table("sessions", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_sessions_database_id"))

    op.drop_table("sessions")
    op.drop_table("idempotency_keys")
    op.drop_table("databases")

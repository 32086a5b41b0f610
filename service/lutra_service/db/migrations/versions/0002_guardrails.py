"""Guardrails and their events, maintenance windows, and which server a session is for"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from lutra_service.db.schema.tables import UtcDateTime

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("databases", sa.Column("identifier", sa.String(length=128), nullable=True))
    op.add_column("databases", sa.Column("guardrails", sa.JSON(none_as_null=True), nullable=True))
    op.add_column("databases", sa.Column("maintenance_windows", sa.JSON(none_as_null=True), nullable=True))
    op.add_column("sessions", sa.Column("identity", sa.JSON(none_as_null=True), nullable=True))
    op.add_column("sessions", sa.Column("rebased_at", UtcDateTime(), nullable=True))
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
        sa.ForeignKeyConstraint(["database_id"], ["databases.id"], name=op.f("fk_events_database_id_databases")),
        sa.ForeignKeyConstraint(["session_id"], ["sessions.id"], name=op.f("fk_events_session_id_sessions")),
        sa.ForeignKeyConstraint(
            ["recommendation_id"], ["recommendations.id"], name=op.f("fk_events_recommendation_id_recommendations")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_events")),
        sa.UniqueConstraint("database_id", "agent_event", name="uq_events_agent_event"),
    )
    with op.batch_alter_table("events", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_events_session_id"), ["session_id"], unique=False)
        batch_op.create_index(batch_op.f("ix_events_recommendation_id"), ["recommendation_id"], unique=False)


def downgrade() -> None:
    op.drop_table("events")
    for table, column in (
        ("sessions", "rebased_at"),
        ("sessions", "identity"),
        ("databases", "maintenance_windows"),
        ("databases", "guardrails"),
        ("databases", "identifier"),
    ):
        with op.batch_alter_table(table, schema=None) as batch_op:
            batch_op.drop_column(column)

"""What every session taught, for others to lean on; models that belong to no database"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from lutra_service.db.schema.tables import UtcDateTime

revision = "0015"
down_revision = "0014"
branch_labels = None
depends_on = None


def upgrade() -> None:
    with op.batch_alter_table("snapshots", schema=None) as batch_op:
        batch_op.alter_column("database_id", existing_type=sa.String(40), nullable=True)
    op.create_table(
        "workloads",
        sa.Column("id", sa.String(40), nullable=False),
        sa.Column("key", sa.String(64), nullable=False),
        sa.Column("name", sa.String(200), nullable=False),
        sa.Column("engine", sa.String(40), nullable=False),
        sa.Column("metric", sa.String(128), nullable=False),
        sa.Column("database_id", sa.String(40), nullable=True),
        sa.Column("session_id", sa.String(40), nullable=True),
        sa.Column("observations", sa.Integer(), nullable=False),
        sa.Column("history", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("taught", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("snapshot_id", sa.String(40), nullable=True),
        sa.Column("fitted_with", sa.String(64), nullable=True),
        sa.Column("error", sa.String(1000), nullable=True),
        sa.Column("merged_into", sa.String(40), nullable=True),
        sa.Column("lease_until", UtcDateTime(), nullable=True),
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


def downgrade() -> None:
    op.drop_table("workloads")
    op.execute(sa.text("DELETE FROM snapshots WHERE database_id IS NULL"))
    with op.batch_alter_table("snapshots", schema=None) as batch_op:
        batch_op.alter_column("database_id", existing_type=sa.String(40), nullable=False)

"""The audit trail, tokens that expire, and to which agent a recommendation was given"""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op
from lutra_service.db.schema.tables import UtcDateTime

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def added() -> tuple[tuple[str, sa.Column[Any]], ...]:
    return (
        ("tokens", sa.Column("expires_at", UtcDateTime(), nullable=True)),
        ("tokens", sa.Column("last_used_at", UtcDateTime(), nullable=True)),
        ("databases", sa.Column("reporter", sa.String(length=129), nullable=True)),
        ("sessions", sa.Column("opened_by_agent", sa.Boolean(), nullable=False, server_default=sa.false())),
        ("recommendations", sa.Column("handed_out_at", UtcDateTime(), nullable=True)),
        ("recommendations", sa.Column("handed_to", sa.String(length=129), nullable=True)),
        ("recommendations", sa.Column("withdrawn_at", UtcDateTime(), nullable=True)),
        ("recommendations", sa.Column("withdrawn_by", sa.String(length=40), nullable=True)),
    )


def upgrade() -> None:
    for table, column in added():
        op.add_column(table, column)
    # Whatever was approved before may be in an agent's hands.
    op.execute("UPDATE recommendations SET handed_out_at = decided_at WHERE expires_at IS NOT NULL")
    op.create_index("ix_recommendations_withdrawn", "recommendations", ["database_id", "withdrawn_at"])
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
        sa.PrimaryKeyConstraint("id", name=op.f("pk_audit")),
    )
    op.create_index("ix_audit_database", "audit", ["database_id", "id"])
    op.create_index("ix_audit_action", "audit", ["action", "id"])
    op.create_index("ix_audit_at", "audit", ["at"])


def downgrade() -> None:
    op.drop_table("audit")
    op.drop_index("ix_recommendations_withdrawn", "recommendations")
    for table, column in reversed(added()):
        with op.batch_alter_table(table, schema=None) as batch_op:
            batch_op.drop_column(column.name)

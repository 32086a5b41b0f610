"""What was turned down and why; what a settled session looked at"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from lutra_service.db.schema.tables import UtcDateTime

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("recommendations", sa.Column("reason", sa.String(1000), nullable=True))
    op.add_column("recommendations", sa.Column("turned_down", sa.JSON(none_as_null=True), nullable=True))
    op.add_column("recommendations", sa.Column("turned_down_at", UtcDateTime(), nullable=True))
    op.create_index("ix_recommendations_turned_down", "recommendations", ["database_id", "turned_down_at"])
    op.add_column("sessions", sa.Column("settled", sa.JSON(none_as_null=True), nullable=True))


def downgrade() -> None:
    with op.batch_alter_table("sessions", schema=None) as batch_op:
        batch_op.drop_column("settled")
    op.drop_index("ix_recommendations_turned_down", "recommendations")
    with op.batch_alter_table("recommendations", schema=None) as batch_op:
        batch_op.drop_column("turned_down_at")
        batch_op.drop_column("turned_down")
        batch_op.drop_column("reason")

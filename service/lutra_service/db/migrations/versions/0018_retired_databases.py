"""Databases that are retired, second agents of one name, and jobs that get one attempt"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from lutra_service.db.schema.tables import UtcDateTime

revision = "0018"
down_revision = "0017"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("databases", sa.Column("rival", sa.String(length=1000), nullable=True))
    op.add_column("databases", sa.Column("rival_at", UtcDateTime(), nullable=True))
    op.add_column("databases", sa.Column("retired_at", UtcDateTime(), nullable=True))
    op.drop_column("model_jobs", "attempts")


def downgrade() -> None:
    op.add_column("model_jobs", sa.Column("attempts", sa.Integer(), nullable=False, server_default="0"))
    with op.batch_alter_table("databases", schema=None) as batch_op:
        batch_op.drop_column("retired_at")
        batch_op.drop_column("rival_at")
        batch_op.drop_column("rival")

"""How many trials of a session may merely explore, and what a recommendation on a live database rests on"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("sessions", sa.Column("exploration", sa.Integer(), nullable=True))
    op.add_column("recommendations", sa.Column("looked_at", sa.JSON(none_as_null=True), nullable=True))


def downgrade() -> None:
    with op.batch_alter_table("recommendations", schema=None) as batch_op:
        batch_op.drop_column("looked_at")
    with op.batch_alter_table("sessions", schema=None) as batch_op:
        batch_op.drop_column("exploration")

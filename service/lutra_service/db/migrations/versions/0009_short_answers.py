"""How many settings a session may change, and what few changes give"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("sessions", sa.Column("max_changes", sa.Integer(), nullable=True))
    op.add_column("recommendations", sa.Column("curve", sa.JSON(none_as_null=True), nullable=True))
    op.add_column("recommendations", sa.Column("shortened_from", sa.JSON(none_as_null=True), nullable=True))


def downgrade() -> None:
    with op.batch_alter_table("recommendations", schema=None) as batch_op:
        batch_op.drop_column("shortened_from")
        batch_op.drop_column("curve")
    with op.batch_alter_table("sessions", schema=None) as batch_op:
        batch_op.drop_column("max_changes")

"""What a trial must reach, and what a window that was ended early says instead of a value; none of earlier ones"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("recommendations", sa.Column("must_reach", sa.Double(), nullable=True))
    op.add_column("recommendations", sa.Column("ended_early", sa.JSON(none_as_null=True), nullable=True))
    op.add_column("reports", sa.Column("ended_early", sa.JSON(none_as_null=True), nullable=True))


def downgrade() -> None:
    with op.batch_alter_table("reports", schema=None) as batch_op:
        batch_op.drop_column("ended_early")
    with op.batch_alter_table("recommendations", schema=None) as batch_op:
        batch_op.drop_column("ended_early")
        batch_op.drop_column("must_reach")

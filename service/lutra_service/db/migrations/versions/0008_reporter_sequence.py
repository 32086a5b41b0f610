"""The number of the newest report, beside whose it is"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("databases", sa.Column("reporter_sequence", sa.BigInteger(), nullable=True))


def downgrade() -> None:
    with op.batch_alter_table("databases", schema=None) as batch_op:
        batch_op.drop_column("reporter_sequence")

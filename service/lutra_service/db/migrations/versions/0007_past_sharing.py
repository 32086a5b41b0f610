"""Which databases belong together"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("databases", sa.Column("label", sa.String(200), nullable=True))


def downgrade() -> None:
    with op.batch_alter_table("databases", schema=None) as batch_op:
        batch_op.drop_column("label")

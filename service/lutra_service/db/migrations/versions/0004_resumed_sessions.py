"""When a session was last resumed"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from lutra_service.db.schema.tables import UtcDateTime

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("sessions", sa.Column("resumed_at", UtcDateTime(), nullable=True))


def downgrade() -> None:
    with op.batch_alter_table("sessions", schema=None) as batch_op:
        batch_op.drop_column("resumed_at")

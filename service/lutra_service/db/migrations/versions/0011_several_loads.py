"""Over which loads a session's trials are judged, and under which loads what it handed over was measured"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("sessions", sa.Column("aim", sa.JSON(none_as_null=True), nullable=True))
    op.add_column("sessions", sa.Column("measured_under", sa.String(length=1000), nullable=True))


def downgrade() -> None:
    with op.batch_alter_table("sessions", schema=None) as batch_op:
        batch_op.drop_column("measured_under")
        batch_op.drop_column("aim")

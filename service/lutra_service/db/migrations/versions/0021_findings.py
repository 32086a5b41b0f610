"""Since when findings show, when they went, and which of them somebody accepts"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from lutra_service.db.schema.tables import UtcDateTime

revision = "0021"
down_revision = "0020"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("databases", sa.Column("looked_at", UtcDateTime(), nullable=True))
    op.create_table(
        "findings",
        sa.Column("id", sa.String(length=40), nullable=False),
        sa.Column("database_id", sa.String(length=40), nullable=False),
        sa.Column("name", sa.String(length=100), nullable=False),
        sa.Column("kind", sa.String(length=20), nullable=False),
        sa.Column("strength", sa.Double(), nullable=False),
        sa.Column("sentence", sa.String(length=2000), nullable=False),
        sa.Column("since", UtcDateTime(), nullable=False),
        sa.Column("last_seen", UtcDateTime(), nullable=False),
        sa.Column("gone_at", UtcDateTime(), nullable=True),
        sa.ForeignKeyConstraint(["database_id"], ["databases.id"], name=op.f("fk_findings_database_id_databases")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_findings")),
    )
    op.create_index("ix_findings_database", "findings", ["database_id", "id"])
    op.create_index("ix_findings_name", "findings", ["database_id", "name", "id"])
    op.create_table(
        "accepted_findings",
        sa.Column("id", sa.String(length=40), nullable=False),
        sa.Column("database_id", sa.String(length=40), nullable=False),
        sa.Column("name", sa.String(length=100), nullable=False),
        sa.Column("kind", sa.String(length=20), nullable=False),
        sa.Column("because", sa.String(length=1000), nullable=False),
        sa.Column("until", UtcDateTime(), nullable=False),
        sa.Column("accepted_at", UtcDateTime(), nullable=False),
        sa.Column("accepted_by", sa.String(length=200), nullable=False),
        sa.ForeignKeyConstraint(
            ["database_id"], ["databases.id"], name=op.f("fk_accepted_findings_database_id_databases")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_accepted_findings")),
        sa.UniqueConstraint("database_id", "name", name="uq_accepted_findings_name"),
    )


def downgrade() -> None:
    op.drop_table("accepted_findings")
    op.drop_table("findings")
    with op.batch_alter_table("databases", schema=None) as batch_op:
        batch_op.drop_column("looked_at")

"""Model versions, what is computed for them, and which of them computed a recommendation"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa
from alembic import op
from lutra_service.db.schema.dialects import DIALECTS
from lutra_service.db.schema.tables import UtcDateTime

revision = "0016"
down_revision = "0015"
branch_labels = None
depends_on = None

SHIPPED = "mv_0000000000000000000000"


def upgrade() -> None:
    versions = op.create_table(
        "model_versions",
        sa.Column("id", sa.String(length=40), nullable=False),
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("note", sa.String(length=1000), nullable=False),
        sa.Column("state", sa.String(length=20), nullable=False),
        sa.Column("shadow", sa.Boolean(), nullable=False),
        sa.Column("package_version", sa.String(length=40), nullable=True),
        sa.Column("packages", sa.JSON(none_as_null=True), nullable=False),
        sa.Column("options", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("fingerprint", sa.String(length=16), nullable=True),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.Column("created_by", sa.String(length=200), nullable=False),
        sa.Column("former_id", sa.String(length=40), nullable=True),
        sa.Column("promoted_at", UtcDateTime(), nullable=True),
        sa.Column("retired_at", UtcDateTime(), nullable=True),
        sa.Column("data", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("scorecard", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("scored_at", UtcDateTime(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_model_versions")),
    )
    champion: dict[str, Any] = {f"{dialect}_where": sa.text("state = 'champion'") for dialect in DIALECTS}
    op.create_index(
        "uq_model_versions_champion",
        "model_versions",
        ["state"],
        unique=True,
        **champion,
    )
    now = datetime.now(UTC)
    shipped = {"id": SHIPPED, "name": "shipped", "note": "What the installed package ships.", "state": "champion"}
    made = {"shadow": False, "packages": {}, "created_at": now, "created_by": "service", "promoted_at": now}
    op.bulk_insert(versions, [{**shipped, **made}])
    op.create_table(
        "model_jobs",
        sa.Column("id", sa.String(length=40), nullable=False),
        sa.Column("model_id", sa.String(length=40), nullable=False),
        sa.Column("kind", sa.String(length=20), nullable=False),
        sa.Column("state", sa.String(length=20), nullable=False),
        sa.Column("recommendation_id", sa.String(length=40), nullable=True),
        sa.Column("sessions", sa.JSON(none_as_null=True), nullable=False),
        sa.Column("results", sa.JSON(none_as_null=True), nullable=False),
        sa.Column("predictions", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("error", sa.String(length=1000), nullable=True),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("lease_until", UtcDateTime(), nullable=True),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.Column("ended_at", UtcDateTime(), nullable=True),
        sa.ForeignKeyConstraint(["model_id"], ["model_versions.id"], name="fk_model_jobs_model_id_model_versions"),
        sa.ForeignKeyConstraint(
            ["recommendation_id"], ["recommendations.id"], name="fk_model_jobs_recommendation_id_recommendations"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_model_jobs")),
        sa.UniqueConstraint("model_id", "recommendation_id", name="uq_model_jobs_recommendation"),
    )
    op.create_index("ix_model_jobs_state", "model_jobs", ["state", "id"])
    op.create_index("ix_model_jobs_model", "model_jobs", ["model_id", "kind", "id"])
    op.create_index("ix_model_jobs_recommendation", "model_jobs", ["recommendation_id"])
    op.add_column("recommendations", sa.Column("model_version", sa.String(length=40), nullable=True))


def downgrade() -> None:
    with op.batch_alter_table("recommendations", schema=None) as batch_op:
        batch_op.drop_column("model_version")
    op.drop_table("model_jobs")
    op.drop_table("model_versions")

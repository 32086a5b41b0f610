"""Numbers of 64 bits for reports, indices for what is asked of large tables, quotas, and settings nobody can read

On a server each step commits by itself, so that reports come in meanwhile; a run that was killed goes on.
"""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op
from lutra_service.db.schema.in_use import Widening, index_concurrently
from lutra_service.db.schema.tables import UtcDateTime

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

COLUMNS: tuple[tuple[str, sa.Column[Any]], ...] = (
    ("databases", sa.Column("filled_bytes", sa.BigInteger(), nullable=False, server_default="0")),
    ("databases", sa.Column("filled_at", UtcDateTime(), nullable=True)),
    ("settings", sa.Column("unreadable", sa.JSON(none_as_null=True), nullable=True)),
    ("recommendations", sa.Column("digest", sa.String(length=16), nullable=True)),
)
MEASURED = "window_end IS NOT NULL AND CAST(metrics AS VARCHAR) != '{}'"
LEARNED = f"session_id IS NOT NULL AND configuration IS NOT NULL AND ({MEASURED} OR failure IS NOT NULL)"
INDICES = (
    ("ix_reports_windows", "reports (database_id, id) WHERE window_end IS NOT NULL"),
    ("ix_reports_database_received", "reports (database_id, received_at)"),
    ("ix_reports_recommendation", "reports (recommendation_id, id)"),
    (
        "ix_reports_learned",
        f"reports (session_id, settings_hash, recommendation_id, p99_source, p99_of, id) WHERE {LEARNED}",
    ),
    ("ix_reports_unread", "reports (database_id, settings_hash) WHERE configuration IS NULL"),
    ("ix_reports_together", "reports (database_id, agent, epoch, sequence) WHERE windows > 1"),
    ("ix_recommendations_state", "recommendations (state, id)"),
    ("ix_recommendations_database", "recommendations (database_id, id)"),
    ("ix_recommendations_session", "recommendations (session_id, id)"),
    ("ix_recommendations_digest", "recommendations (database_id, digest)"),
    ("ix_events_database", "events (database_id, id)"),
    ("ix_snapshots_database", "snapshots (database_id, id)"),
    ("ix_snapshots_session", "snapshots (session_id, id)"),
    ("ix_idempotency_keys_created_at", "idempotency_keys (created_at)"),
)
REPLACED = (
    ("ix_reports_received_at", "reports (received_at)"),
    ("ix_reports_recommendation_id", "reports (recommendation_id)"),
    ("ix_recommendations_session_id", "recommendations (session_id)"),
    ("ix_snapshots_database_id", "snapshots (database_id)"),
)


def upgrade() -> None:
    if op.get_bind().dialect.name == "sqlite":
        _upgrade_file()
        return
    with op.get_context().autocommit_block():
        _upgrade_in_use()


def _upgrade_file() -> None:
    for table, column in COLUMNS:
        op.add_column(table, column)
    for name, place in INDICES:
        op.execute(sa.text(f"CREATE INDEX {name} ON {place}"))
    for name, _ in REPLACED:
        op.execute(sa.text(f"DROP INDEX {name}"))


def _upgrade_in_use() -> None:
    for table, column in COLUMNS:
        op.add_column(table, column, if_not_exists=True)
    connection = op.get_bind()
    Widening(connection, "reports").run()
    for name, place in INDICES:
        index_concurrently(connection, name, place)
    for name, _ in REPLACED:
        connection.exec_driver_sql(f"DROP INDEX CONCURRENTLY IF EXISTS {name}")


def downgrade() -> None:
    """Reports keep their numbers of 64 bits: nothing older minds them."""
    for name, place in REPLACED:
        op.execute(sa.text(f"CREATE INDEX {name} ON {place}"))
    for name, _ in INDICES:
        op.execute(sa.text(f"DROP INDEX {name}"))
    for table, column in reversed(COLUMNS):
        with op.batch_alter_table(table, schema=None) as batch_op:
            batch_op.drop_column(column.name)

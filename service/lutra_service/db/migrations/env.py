"""Alembic's entry: runs on the connection that `db.migrate` hands over."""

from __future__ import annotations

from alembic import context
from lutra_service.db.schema.tables import Table

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=Table.metadata,
    render_as_batch=True,
    transaction_per_migration=True,
)
with context.begin_transaction():
    context.run_migrations()

"""What an agent is to keep to: the guardrails and maintenance windows that the operator set for its database."""

from __future__ import annotations

from lutra_models.wire import Rules

from lutra_service.db.schema.records import Database


def rules_of(database: Database) -> Rules:
    return Rules.model_validate(
        {"guardrails": database.guardrails or {}, "maintenance_windows": database.maintenance_windows or []}
    )

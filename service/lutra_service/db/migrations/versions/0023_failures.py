"""Why a recommendation came to nothing: a code, a message and who, in place of a text"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0023"
down_revision = "0022"
branch_labels = None
depends_on = None

SHOWN = (
    *("memory_budget_exceeded", "limit_exceeded", "durability_not_allowed", "restart_not_allowed"),
    *("outside_maintenance_window", "mode_forbids", "insufficient_privilege", "setting_shadowed", "invalid_value"),
    *("unknown_setting", "not_primary", "server_changed", "paused", "expired", "did_not_start"),
    *("not_active_after_apply", "database_unavailable", "guardrail", "not_confirmed", "internal_error"),
    *("driver_failed", "space_exhausted", "missing_extension", "broken_extension", "fit_failed", "invalid_answer"),
    *("invalid_configuration", "invalid_options", "not_enough_observations"),
)
"""The codes that stood before their messages."""
SENTENCES = {
    "its agent lost its state": "state_lost",
    "another server took over": "server_replaced",
    "gathered into ": "gathered",
    "undone by the rollback of ": "rolled_back",
    "rolled back on its host ": "rolled_back",
    "no measurement came": "no_measurement",
    "the computation was lost ": "computation_lost",
}
UNDER_WAY = "its agent is carrying it out: it is rolled back once it is applied"
ROWS = sa.table(
    "recommendations",
    *(sa.column(n) for n in ("id", "state", "error", "decided_at", "handed_out_at", "withdrawn_at", "withdrawn_by")),
    sa.column("failure", sa.JSON(none_as_null=True)),
)
BATCH = 1000


def upgrade() -> None:
    op.add_column("recommendations", sa.Column("failure", sa.JSON(none_as_null=True), nullable=True))
    connection, last = op.get_bind(), ""
    told = sa.or_(ROWS.c.error.is_not(None), ROWS.c.state == "rejected")
    while True:
        asked = sa.select(*(c for c in ROWS.c if c.name != "failure")).where(told, ROWS.c.id > last)
        rows = connection.execute(asked.order_by(ROWS.c.id).limit(BATCH)).mappings().all()
        for row in rows:
            connection.execute(sa.update(ROWS).where(ROWS.c.id == row["id"]).values(failure=_failure(row)))
        if len(rows) < BATCH:
            break
        last = rows[-1]["id"]
    op.drop_column("recommendations", "error")


def _failure(row: sa.RowMapping) -> dict[str, str]:
    error = (row["error"] or "").removesuffix(UNDER_WAY).removesuffix(": ")
    word, _, message = error.partition(": ")
    if word in SHOWN:
        return {"code": word, "message": message, "by": _by(row)}
    code = next((code for start, code in SENTENCES.items() if error.startswith(start)), None)
    if code is None and (row["state"] == "rejected" or row["withdrawn_at"] is not None):
        by = "service" if row["withdrawn_by"] == "service" else "operator"
        return {"code": "withdrawn" if error else "rejected", "message": error, "by": by}
    if code is None and row["state"] == "failed" and row["decided_at"] is None:
        code = "computation_failed"
    return {"code": code or "unknown", "message": error, "by": _by(row)}


def _by(row: sa.RowMapping) -> str:
    if row["state"] == "failed" and row["decided_at"] is None:
        return "worker"
    return "agent" if row["handed_out_at"] is not None else "service"


def downgrade() -> None:
    op.add_column("recommendations", sa.Column("error", sa.String(1000), nullable=True))
    connection = op.get_bind()
    asked = sa.select(ROWS.c.id, ROWS.c.failure).where(ROWS.c.failure.is_not(None))
    for id_, failure in connection.execute(asked).all():
        parts = (failure["code"] if failure["code"] in SHOWN else "", failure["message"])
        error = ": ".join(part for part in parts if part)[:1000] or None
        connection.execute(sa.update(ROWS).where(ROWS.c.id == id_).values(error=error))
    op.drop_column("recommendations", "failure")

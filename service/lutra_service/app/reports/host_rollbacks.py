"""What an operator rolled back on the database's own host: it ends these changes, and shows in the session."""

from __future__ import annotations

from lutra_models.lifecycle import RecommendationState as State
from lutra_models.wire import HostRollback

from lutra_service.app.access import audit
from lutra_service.app.lifecycle.session_steps import pause, undone
from lutra_service.app.live import turned_down
from lutra_service.db.schema.records import Database, Recommendation
from lutra_service.db.store import UnitOfWork

ACTIVE = (State.APPLIED, State.CONFIRMED, State.REVERTED)


def record(unit: UnitOfWork, database: Database, told: HostRollback) -> None:
    """Each recommendation of which a setting was still active then is reverted, and remembered as turned down."""
    names = ", ".join(told.settings) or "the differing settings are not known, as the database was down"
    why = f"rolled back on its host to the {told.target.replace('_', '-')}: {names}"
    why = f"{why} ({told.reason})" if told.reason else why
    audit.rolled_back_on_host(unit, database.id, told.model_dump(mode="json"), why)
    for row in unit.recommendations.in_states(database.id, ACTIVE):
        taken_back = _taken_back(row, told)
        if not taken_back:
            continue
        if row.state != State.REVERTED:
            audit.happened(unit, row, State.REVERTED, audit.ON_HOST, why, error=why[:1000], ended_at=unit.now)
        turned_down.remember(unit, row, "rolled_back", told.reason, taken_back)
        undone(unit, row, f"{row.id} was {why}")
        unit.publish(row.id, row.session_id)
    pause(unit, unit.sessions.open_one(database.id), f"{why}; continue with POST …/resume once that is settled")
    unit.publish(database.id)


def _taken_back(row: Recommendation, told: HostRollback) -> set[str]:
    """The settings of `row` that were as it had made them until then. What was reverted before says nothing."""
    reported = row.outcome is not None and row.outcome.reverted_on_host
    if row.state == State.REVERTED and not (reported and row.turned_down is None):
        return set()
    made = {c["setting"]: c["after"] for c in row.changes or ()}
    return {n for n, was in told.settings.items() if n in made and made[n] == was.before}

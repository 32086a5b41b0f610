"""An operator's rollback on the database's own host: it ends these changes, and appears in the session."""

from __future__ import annotations

from lutra_models.errors import DecisionCode, Failure, Party
from lutra_models.lifecycle import RecommendationState as State
from lutra_models.wire import HostRollback

from lutra_service.app.access import audit
from lutra_service.app.tuning.steps.facts import RolledBackOnHost
from lutra_service.app.tuning.steps.session_steps import pause
from lutra_service.db.schema.recommendation import Recommendation
from lutra_service.db.schema.transitions import Declined
from lutra_service.db.store import UnitOfWork

ACTIVE = (State.APPLIED, State.CONFIRMED, State.REVERTED)


def record(unit: UnitOfWork, fact: RolledBackOnHost) -> None:
    """Each recommendation with a setting that was still active is reverted, and recorded as declined."""
    database, rollback = fact.database, fact.told
    names = ", ".join(rollback.settings) or "the differing settings are not known, as the database was down"
    why = f"rolled back on its host to the {rollback.target.replace('_', '-')}: {names}"
    why = f"{why} ({rollback.reason})" if rollback.reason else why
    failure = Failure(DecisionCode.ROLLED_BACK, why, Party.OPERATOR)
    audit.rolled_back_on_host(unit, database.id, rollback.model_dump(mode="json"), why)
    for row in unit.recommendations.in_states(database.id, ACTIVE):
        taken_back = _taken_back(row, rollback)
        if not taken_back:
            continue
        declined = Declined("rolled_back", rollback.reason, taken_back)
        if row.state == State.REVERTED:  # its agent told so before
            unit.recommendations.stay(row, audit.ON_HOST, why, declined=declined)
        else:
            unit.recommendations.step(row, State.REVERTED, audit.ON_HOST, why, failure=failure, declined=declined)
    pause(unit, unit.sessions.open_one(database.id), f"{why}; continue with POST …/resume once the cause is resolved")


def _taken_back(row: Recommendation, rollback: HostRollback) -> set[str]:
    """The settings of `row` that were as it had made them until then. What was reverted before says nothing."""
    reported = row.outcome is not None and row.outcome.reverted_on_host
    if row.state == State.REVERTED and not (reported and not (row.decision and row.decision.turned_down)):
        return set()
    made = {c["setting"]: c["after"] for c in row.changes}
    return {n for n, was in rollback.settings.items() if n in made and made[n] == was.before}

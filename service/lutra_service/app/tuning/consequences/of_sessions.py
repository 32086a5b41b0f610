"""The consequences of a session's transition: the audit trail, and a next step."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict

from lutra_models.lifecycle import SessionState

from lutra_service.app.access import audit
from lutra_service.app.access.audit import Action
from lutra_service.app.tuning.consequences import next_step
from lutra_service.common.actor import SERVICE
from lutra_service.common.documents import Document
from lutra_service.db.schema.records import Session
from lutra_service.db.schema.transitions import SessionTransition
from lutra_service.db.store import UnitOfWork

ACTIONS: Mapping[SessionState, Action] = {
    SessionState.RUNNING: "session.resume",
    SessionState.SETTLED: "session.settle",
    SessionState.PAUSED: "session.pause",
    SessionState.STOPPED: "session.stop",
    SessionState.UNDONE: "session.undone",
}
"""Their names in the audit trail, which does not record that a session ended or resumed by itself."""


def follow(unit: UnitOfWork, transition: SessionTransition) -> None:
    """A session that an operator opens or resumes takes its next step at once."""
    row, to, by = transition.row, transition.to, SERVICE if transition.by == SERVICE else None
    if transition.was is None:
        if to == SessionState.RUNNING:
            audit.record(unit, "session.open", row.id, None, _opened(row), database_id=row.database_id)
            next_step.after_transition(unit, transition)
        return
    if to in ACTIONS and (to, by) != (SessionState.RUNNING, SERVICE):
        after = {"state": to, **({"message": transition.why} if by else {})}
        audit.record(unit, ACTIONS[to], row.id, {"state": transition.was}, after, database_id=row.database_id, by=by)
    if (to, by) == (SessionState.RUNNING, None):
        next_step.after_transition(unit, transition)


def _opened(session: Session) -> Document:
    return {
        "objective_metric": session.objective.metric,
        "objective_goal": session.objective.goal,
        "mode": session.mode,
        "approval": session.approval,
        "max_trials": session.max_trials,
        "verification_rounds": session.verification_rounds,
        "max_changes": session.max_changes,
        "exploration": session.exploration,
        "limits": [asdict(limit) for limit in session.limits],
        "aim": session.aim and session.aim.to_dict(),
    }

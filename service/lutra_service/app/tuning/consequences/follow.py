"""The consequences of a transaction's facts: one table, executed before the commit.

Use cases record facts, and move recommendations and sessions from state to state. All further consequences are in this
package.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Any

from lutra_models.lifecycle import SessionState

from lutra_service.app.access import audit
from lutra_service.app.access.audit import Action
from lutra_service.app.notices import sentences
from lutra_service.app.tuning.consequences import of_recommendations
from lutra_service.app.tuning.deliver import withdrawal
from lutra_service.app.tuning.observe import judge
from lutra_service.app.tuning.result import automatic_undo, drift, host_events, measurements, outcomes
from lutra_service.app.tuning.session.advance import advance
from lutra_service.app.tuning.steps import facts, session_steps
from lutra_service.common.actor import SERVICE
from lutra_service.common.documents import Document
from lutra_service.db.schema.records import AuditEntry, Session
from lutra_service.db.schema.transitions import SessionTransition, Transition
from lutra_service.db.store import UnitOfWork

ACTIONS: Mapping[SessionState, Action] = {
    SessionState.RUNNING: "session.resume",
    SessionState.SETTLED: "session.settle",
    SessionState.PAUSED: "session.pause",
    SessionState.STOPPED: "session.stop",
    SessionState.UNDONE: "session.undone",
}
"""Their names in the audit trail, which does not record that a session ended or resumed by itself."""


def follow_session(unit: UnitOfWork, transition: SessionTransition) -> None:
    """A session that an operator opens or resumes takes its next step at once."""
    row, to, by = transition.row, transition.to, SERVICE if transition.by == SERVICE else None
    if transition.was is None:
        if to == SessionState.RUNNING:
            audit.record(unit, "session.open", row.id, None, _opened(row), database_id=row.database_id)
            session_steps.step_after_transition(unit, transition)
        return
    if to in ACTIONS and (to, by) != (SessionState.RUNNING, SERVICE):
        after = {"state": to, **({"message": transition.why} if by else {})}
        audit.record(unit, ACTIONS[to], row.id, {"state": transition.was}, after, database_id=row.database_id, by=by)
    if to == SessionState.COMPLETED:
        sentences.of_end(unit, row, transition.why)
    if (to, by) == (SessionState.RUNNING, None):
        session_steps.step_after_transition(unit, transition)


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


FOLLOWS: dict[type, tuple[Callable[[UnitOfWork, Any], None], ...]] = {
    Transition: (of_recommendations.follow,),
    SessionTransition: (follow_session,),
    facts.UndoBegun: (session_steps.say,),
    facts.GuardFired: (host_events.record_guard,),
    facts.OutcomeTold: (outcomes.record_outcome,),
    facts.RolledBackOnHost: (host_events.record_host_rollback,),
    facts.SettingsSeen: (outcomes.notice_active, automatic_undo.undo_forgotten),
    facts.SettingsChanged: (drift.record,),
    facts.Measured: (measurements.record_measurement,),
    facts.WindowSeen: (judge.look_again,),
    facts.Heard: (withdrawal.settle, session_steps.step_after_report),
    facts.Reported: (automatic_undo.undo_withdrawn,),
    facts.NextStep: (advance,),
    AuditEntry: (sentences.of_entry,),
}
"""The actions by kind of fact, in the order in which waiting facts are processed."""
PLACES: Mapping[type, int] = {kind: place for place, kind in enumerate(FOLLOWS)}


def follow(unit: UnitOfWork) -> None:
    """Execute the consequences of the unit's facts, and of the facts that follow from them: always the first in the
    order of the table, and for facts of one kind the one recorded first.
    """
    waiting = unit.news.facts
    while waiting:
        fact = min(waiting, key=lambda waits: PLACES[type(waits)])
        waiting.remove(fact)
        for then in FOLLOWS[type(fact)]:
            then(unit, fact)

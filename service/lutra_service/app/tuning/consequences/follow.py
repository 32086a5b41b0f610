"""The consequences of a transaction's facts: one table, executed before the commit.

Use cases record facts, and move recommendations and sessions from state to state. All further consequences are in this
package.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from lutra_service.app.tuning.consequences import next_step, of_recommendations, of_sessions
from lutra_service.app.tuning.deliver import withdrawal
from lutra_service.app.tuning.observe import judge
from lutra_service.app.tuning.result import automatic_undo, guard_events, host_rollbacks, measurements, outcomes
from lutra_service.app.tuning.session.advance import advance
from lutra_service.app.tuning.steps import facts, session_steps
from lutra_service.db.schema.transitions import SessionTransition, Transition
from lutra_service.db.store import UnitOfWork

FOLLOWS: dict[type, tuple[Callable[[UnitOfWork, Any], None], ...]] = {
    Transition: (of_recommendations.follow,),
    SessionTransition: (of_sessions.follow,),
    facts.UndoBegun: (session_steps.say,),
    facts.GuardFired: (guard_events.record,),
    facts.OutcomeTold: (outcomes.record_outcome,),
    facts.RolledBackOnHost: (host_rollbacks.record,),
    facts.SettingsSeen: (outcomes.notice_active, automatic_undo.undo_forgotten),
    facts.Measured: (measurements.record_measurement,),
    facts.WindowSeen: (judge.look_again,),
    facts.Heard: (withdrawal.settle, next_step.after_report),
    facts.Reported: (automatic_undo.undo_withdrawn,),
    facts.NextStep: (advance,),
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

"""The agent's current directive: the one approved recommendation."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from lutra_models.errors import LutraError
from lutra_models.identity import Identity
from lutra_models.lifecycle import RecommendationKind as Kind
from lutra_models.lifecycle import RecommendationState as State
from lutra_models.maintenance import closed
from lutra_models.wire import Directive, MustReach

from lutra_service.app.databases.current_server import context_of, effective_mode
from lutra_service.app.tuning.admit import admission
from lutra_service.app.tuning.admit.change_set import BY_HAND
from lutra_service.app.tuning.deliver import directive_holder
from lutra_service.app.tuning.deliver.directive_holder import Holder
from lutra_service.app.tuning.observe import silence
from lutra_service.common.actor import AUTOMATIC, SERVICE
from lutra_service.db.schema.recommendation import Delivery, Recommendation
from lutra_service.db.schema.records import Database, Session
from lutra_service.db.store import UnitOfWork


def current(unit: UnitOfWork, database: Database, agent: Holder | None) -> tuple[Directive | None, bool]:
    """None if nothing is approved, if another agent holds it, or if this one would not execute it: paused, or in mode
    observe; and whether this agent was given it before. Without a name it is the agent that reported last.

    A restart waits for its maintenance window, if the mode is restart_in_window.
    """
    found = _waiting(unit, database, agent)
    if found is None:
        return None, False
    recommendation, directive = found
    return directive, _is_held(recommendation, directive_holder.asking(database, agent))


def hand_out(unit: UnitOfWork, database: Database, agent: Holder | None) -> Directive | None:
    """The same, and from now on this agent holds it: it can no longer end unnoticed."""
    found = _waiting(unit, database, agent)
    if found is None:
        return None
    recommendation, directive = found
    who = directive_holder.asking(database, agent)
    if not _is_held(recommendation, who):
        delivery = recommendation.delivery or Delivery()
        unit.recommendations.change(
            recommendation.id, delivery=replace(delivery, handed_out_at=unit.now, handed_to=who)
        )
    return directive


def _is_held(recommendation: Recommendation, who: str | None) -> bool:
    delivery = recommendation.delivery
    return delivery is not None and delivery.handed_out_at is not None and delivery.handed_to == who


def _waiting(unit: UnitOfWork, database: Database, agent: Holder | None) -> tuple[Recommendation, Directive] | None:
    if database.agent.paused:
        return None
    for row in unit.recommendations.in_states(database.id, (State.APPROVED,)):
        expires_at = None if row.decision is None else row.decision.expires_at
        if row.is_withdrawn or expires_at is None or expires_at <= unit.now:
            continue
        if waits_for_window(unit, database, row) or _waits_for_another(unit, database, row):
            continue
        asking = directive_holder.asking(database, agent)
        if directive_holder.held_by_another(unit, row, asking) or _not_for(unit, database, row, agent):
            return None
        directive = _directive(unit, database, row, expires_at)
        return None if directive is None else (row, directive)
    return None


def waits_for_window(unit: UnitOfWork, database: Database, row: Recommendation) -> bool:
    """Whether it is approved, was not given to an agent, and needs a maintenance window that is not open now."""
    given = row.state != State.APPROVED or row.is_handed_out
    return not given and _outside_window(unit, database, row)


def _outside_window(unit: UnitOfWork, database: Database, row: Recommendation) -> bool:
    """A restart has to be inside one, where the mode is restart_in_window; not an operator's rollback."""
    if not row.needs_restart or (row.kind == Kind.ROLLBACK and row.decided_by != SERVICE):
        return False
    mode = effective_mode(database, unit.sessions.of(row))
    return mode == "restart_in_window" and closed(database.rules.maintenance_windows, unit.now) is not None


def _waits_for_another(unit: UnitOfWork, database: Database, row: Recommendation) -> bool:
    """Whether another change is still carried out or measured: what waited for its window was approved beside it."""
    if row.kind == Kind.ROLLBACK or row.is_handed_out:
        return False
    others = unit.recommendations.in_states(database.id, (State.APPROVED, State.APPLIED))
    busy = [r for r in others if r.id != row.id and (r.state == State.APPLIED or r.is_handed_out)]
    return any(row.needs_restart or r.needs_restart or Kind.MAINTENANCE in (row.kind, r.kind) for r in busy)


def waits(unit: UnitOfWork, row: Recommendation) -> str | None:
    """Why an approved recommendation is not carried out yet, in words; None if nothing is in its way."""
    if row.state != State.APPROVED or row.is_withdrawn or row.is_handed_out:
        return None
    database = unit.databases.get(row.database_id)
    mode = effective_mode(database, unit.sessions.of(row))
    if database.agent.paused:
        return "the agent is paused on its host: run `lutra-agent resume` there"
    if mode == "observe":
        return _by_hand(unit, database, row)
    if waits_for_window(unit, database, row):
        return f"it needs a restart: {closed(database.rules.maintenance_windows, unit.now)}"
    if _waits_for_another(unit, database, row):
        return "another change is still being measured"
    return silence.sentence(unit, database) or None


def _by_hand(unit: UnitOfWork, database: Database, row: Recommendation) -> str:
    """What of it somebody wrote into the file already is named: it is not active yet."""
    try:
        live = context_of(unit, database).live
        found = {c["setting"]: live.not_active(c["setting"]) for c in row.changes if c["setting"] in live.values}
    except LutraError:
        found = {}
    reasons = [f"{name}: {words}" for name, words in found.items() if words]
    return "; ".join(reasons) or BY_HAND


def _not_for(unit: UnitOfWork, database: Database, row: Recommendation, agent: Holder | None) -> bool:
    """What no operator said yes to is for the agent alone that itself reported last, and in mode lab."""
    session = unit.sessions.of(row)
    if session is None or not session.opened_by_agent or row.decided_by != AUTOMATIC:
        return False
    return agent is None or str(agent) != database.reporter or database.agent.mode != "lab"


def _directive(
    unit: UnitOfWork, database: Database, recommendation: Recommendation, expires_at: datetime
) -> Directive | None:
    session = unit.sessions.of(recommendation)
    mode, rollback = effective_mode(database, session), recommendation.kind == Kind.ROLLBACK
    measure = mode == "lab" and not rollback
    if mode == "observe" or _outside_window(unit, database, recommendation):
        return None
    return Directive(
        id=recommendation.id,
        recommendation=recommendation.id,
        settings=recommendation.configuration,
        restart_allowed=mode in ("lab", "restart_in_window") and database.settings_policy.restart,
        restore=admission.goes_back(unit, recommendation, session),
        rollback=rollback or (mode != "lab" and admission.leads_home(recommendation, session)),
        measure=measure,
        must_reach=_must_reach(recommendation, session),
        loads=session.aim.loads if measure and session is not None and session.aim is not None else (),
        expects=_expected(unit, recommendation, session),
        rules=database.rules,
        expires_at=expires_at,
    )


def _must_reach(recommendation: Recommendation, session: Session | None) -> MustReach | None:
    """Of one load's reading alone: an aim over several is none of a window."""
    value = None if recommendation.proposal is None else recommendation.proposal.must_reach
    if session is None or session.aim is not None or value is None:
        return None
    return MustReach(metric=session.objective.metric, goal=session.objective.goal, value=value)


def _expected(unit: UnitOfWork, recommendation: Recommendation, session: Session | None) -> Identity | None:
    """An operator's rollback is for whatever server is there; the service's own is for the one that was changed."""
    if recommendation.kind != Kind.ROLLBACK:
        return session.identity if session else None
    if recommendation.decided_by != SERVICE or recommendation.parent_id is None:
        return None
    changed = unit.recommendations.get(recommendation.parent_id).outcome
    return changed.server if changed else None

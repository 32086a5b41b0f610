"""The consequences of a recommendation's transition: its job, audit trail, declined changes, session and shadows."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace

from lutra_models.errors import ApplyCode, ComputeCode, DecisionCode, LutraError, MeasureCode, Party
from lutra_models.evidence import Basis, Change, TurnedDown
from lutra_models.lifecycle import RecommendationKind as Kind
from lutra_models.lifecycle import RecommendationState as State

from lutra_service.app.access import audit
from lutra_service.app.access.audit import Action
from lutra_service.app.databases.current_server import context_of
from lutra_service.app.databases.symptoms import evidence_of
from lutra_service.app.model_versions import versions
from lutra_service.app.notices import sentences
from lutra_service.app.tuning.observe import settling
from lutra_service.app.tuning.propose.request import COMPUTED
from lutra_service.app.tuning.steps import session_steps
from lutra_service.db.schema.recommendation import Recommendation
from lutra_service.db.schema.records import Database, Job
from lutra_service.db.schema.transitions import Declined, Transition
from lutra_service.db.store import UnitOfWork

LONGEST = 1000

Is = Callable[[Transition], bool]
Then = Callable[[UnitOfWork, Transition], None]


def follow(unit: UnitOfWork, transition: Transition) -> None:
    """Execute the table's consequences for every kind of the transition."""
    for is_one, follows in TABLE:
        if is_one(transition):
            for then in follows:
                then(unit, transition)


def _is_asked_for(transition: Transition) -> bool:
    """By an operator, as the session's next one or with settings of their own."""
    by_operator = audit.party(transition.by) is Party.OPERATOR
    return transition.was is None and by_operator and transition.row.kind in (*COMPUTED, Kind.MANUAL)


def _is_rollback(transition: Transition) -> bool:
    return transition.was is None and transition.row.kind == Kind.ROLLBACK


def _is_taken_over(transition: Transition) -> bool:
    """By an operator, who rolled something back."""
    return _is_rollback(transition) and transition.declined is not None


def _is_to_be_decided(transition: Transition) -> bool:
    """By an operator: the service proposes it."""
    return (
        transition.to == State.PROPOSED
        and transition.was != transition.to
        and audit.party(transition.by) is Party.SERVICE
    )


def _is_approved(transition: Transition) -> bool:
    return (transition.was, transition.to) == (State.PROPOSED, State.APPROVED)


def _has_lapsed(transition: Transition) -> bool:
    """Nobody decided on it, carried it out or measured it in time; also one whose withdrawal is settled."""
    expired = transition.to == State.EXPIRED and transition.code is ApplyCode.EXPIRED
    settled_now = transition.to == State.REJECTED and transition.row.is_withdrawn
    return expired or settled_now or transition.code is MeasureCode.NO_MEASUREMENT


def _is_called_off(transition: Transition) -> bool:
    """Rejected or withdrawn, at once or in its agent's hands."""
    if transition.was == transition.to:
        return transition.to == State.APPROVED
    ended = transition.was is not None and transition.to in (State.REJECTED, State.EXPIRED)
    return ended and transition.code is not DecisionCode.GATHERED and not _has_lapsed(transition)


def _happened(transition: Transition) -> bool:
    """On the server: it was made active, confirmed, taken back, or was not carried out."""
    if transition.was in (None, transition.to) or transition.to not in audit.ACTIONS:
        return False
    return (
        transition.to != State.FAILED
        or transition.was == State.APPROVED
        or transition.code is DecisionCode.SERVER_REPLACED
    )


def _is_not_carried_out(transition: Transition) -> bool:
    return transition.was == State.APPROVED and transition.to in (State.REFUSED, State.FAILED)


def _was_undone(transition: Transition) -> bool:
    """Also one of which somebody tells so once more, with a reason."""
    return transition.to == State.REVERTED


def _is_to_be_computed(transition: Transition) -> bool:
    return transition.to == State.COMPUTING


def _is_computed_no_longer(transition: Transition) -> bool:
    """Its job may have ended, or somebody called it off."""
    return transition.was == State.COMPUTING


def _was_computed(transition: Transition) -> bool:
    return transition.was == State.COMPUTING and transition.to in (State.PROPOSED, State.UNNEEDED)


def _is_not_needed(transition: Transition) -> bool:
    return (transition.was, transition.to) == (State.COMPUTING, State.UNNEEDED)


def _could_not_be_computed(transition: Transition) -> bool:
    return (transition.was, transition.to) == (State.COMPUTING, State.FAILED)


def _tell_proposal(unit: UnitOfWork, transition: Transition) -> None:
    sentences.of_proposal(unit, unit.recommendations.get(transition.row.id))


def _queue(unit: UnitOfWork, transition: Transition) -> None:
    unit.jobs.add(Job(transition.row.id, "recommendation", unit.now, transition.row.database_id))


def _cancel(unit: UnitOfWork, transition: Transition) -> None:
    unit.jobs.cancel([transition.row.id])


def _decided(action: Action) -> Then:
    def tell(unit: UnitOfWork, transition: Transition) -> None:
        audit.decision(unit, action, transition.row, transition.to, transition.by)

    return tell


def _tell_rejection(unit: UnitOfWork, transition: Transition) -> None:
    part, failure = transition.declined and transition.declined.instead, transition.failure
    why = {"part": part} if part else {"why": failure.text if failure else ""}
    audit.decision(unit, "recommendation.reject", transition.row, transition.to, transition.by, **why)


def _tell_rollback(unit: UnitOfWork, transition: Transition) -> None:
    of = unit.recommendations.get(str(transition.row.parent_id))
    audit.decision(unit, "recommendation.rollback", of, of.state, transition.by, rollback=transition.row.id)


def _remember_declined(unit: UnitOfWork, transition: Transition) -> None:
    """What an operator did not want. A rollback says so of the recommendation that it takes back."""
    if transition.declined is not None:
        id_ = transition.row.parent_id if _is_rollback(transition) else transition.row.id
        remember_declined(unit, unit.recommendations.get(str(id_)), transition.declined)


def _remember_failed(unit: UnitOfWork, transition: Transition) -> None:
    """What stands against its settings themselves. A way back is not held against the settings that it leads to."""
    failure = transition.failure
    if failure is not None and failure.code.is_about_values and transition.row.kind != Kind.ROLLBACK:
        how = Declined("refused" if transition.to == State.REFUSED else "failed", failure.text)
        remember_declined(unit, transition.row, how)


def _remember_undone(unit: UnitOfWork, transition: Transition) -> None:
    """What a guard did not want. A server that did not start says something of the values."""
    if transition.failure is not None and transition.code is ApplyCode.GUARDRAIL:
        remember_declined(unit, transition.row, Declined("reverted", transition.failure.message))
    elif transition.code is ApplyCode.DID_NOT_START:
        _remember_failed(unit, transition)


def _pause_refused(unit: UnitOfWork, transition: Transition) -> None:
    if transition.failure is not None and transition.failure.code.pauses:
        why = f"{transition.row.id} was refused: {transition.failure.text}"
        session_steps.pause(unit, unit.sessions.of(transition.row), why)


def _pause_rolled_back(unit: UnitOfWork, transition: Transition) -> None:
    of = unit.recommendations.get(str(transition.row.parent_id))
    session_steps.pause(unit, unit.sessions.of(of), f"paused by the rollback of {of.id}")


def _pause_open(unit: UnitOfWork, transition: Transition) -> None:
    open_one = unit.sessions.open_one(transition.row.database_id)
    session_steps.pause(unit, open_one, f"paused by the rollback of {transition.row.parent_id}")


def _end_session_undone(unit: UnitOfWork, transition: Transition) -> None:
    session_steps.undone(unit, transition.row, transition.told or f"{transition.row.id} was {transition.why}")


def _settle(unit: UnitOfWork, transition: Transition) -> None:
    """Nothing is worth changing: its session says so, and what was looked at."""
    row, session = unit.recommendations.get(transition.row.id), unit.sessions.of(transition.row)
    if session is not None:
        at = context_of(unit, unit.databases.get(row.database_id), session)
        looked_at = row.proposal and row.proposal.looked_at
        settling.settle(unit, session, at, (looked_at or {}).get("sentence", "Nothing is worth changing."))


def _begin_shadows(unit: UnitOfWork, transition: Transition) -> None:
    versions.begin_shadows(unit, unit.recommendations.get(transition.row.id))


def _go_on_without(unit: UnitOfWork, transition: Transition) -> None:
    """A session whose space has nothing left to try goes on to its end. Another one pauses, for the same question has
    the same answer.
    """
    if transition.code is ComputeCode.SPACE_EXHAUSTED:
        session_steps.step_after_transition(unit, transition)
    elif transition.failure is not None:
        why = f"{transition.row.id} could not be computed: {transition.failure.text}"
        session_steps.pause(unit, unit.sessions.of(transition.row), why)


TABLE: tuple[tuple[Is, tuple[Then, ...]], ...] = (
    (_is_to_be_computed, (_queue,)),
    (_is_computed_no_longer, (_cancel,)),
    (_is_to_be_decided, (_tell_proposal,)),
    (_is_asked_for, (_decided("recommendation.ask"),)),
    (_is_approved, (_decided("recommendation.approve"),)),
    (_is_called_off, (_tell_rejection, _remember_declined)),
    (_has_lapsed, (_decided("recommendation.expire"), session_steps.step_after_transition)),
    (_is_rollback, (_tell_rollback, _remember_declined, _pause_rolled_back)),
    (_is_taken_over, (_pause_open,)),
    (_happened, (audit.happened,)),
    (_is_not_carried_out, (_remember_failed, _pause_refused)),
    (_was_undone, (_remember_declined, _remember_undone, _end_session_undone)),
    (_is_not_needed, (_settle,)),
    (_was_computed, (_begin_shadows, session_steps.step_after_transition)),
    (_could_not_be_computed, (_go_on_without,)),
)
"""The kinds of a transition, of which several may apply at once, and their consequences, in this order."""


def remember_declined(unit: UnitOfWork, row: Recommendation, declined: Declined) -> None:
    """Record that changes of `row` were declined. A lab has no operator whose decisions count.

    The first time counts: a rolled-back change is not stored again when its agent reports the rollback.
    """
    how, reason, names = declined.how, declined.reason, declined.names
    recommendation = unit.recommendations.get(row.id)
    decision = recommendation.decision
    if decision is None or decision.turned_down is not None:
        return
    if reason:
        decision = replace(decision, reason=reason[:LONGEST])
    database = unit.databases.get(row.database_id)
    changed = [c for c in recommendation.changes if names is None or c["setting"] in names]
    counts = changed and database.agent.mode != "lab"
    basis = _basis(unit, database, recommendation, [c["setting"] for c in changed]) if counts else None
    if basis is not None:
        changes = tuple(Change(c["setting"], c["before"], c["after"]) for c in changed)
        one = TurnedDown(changes, how, unit.now, basis, (reason or "")[:LONGEST])
        decision = replace(decision, turned_down=one)
    if decision != recommendation.decision:
        unit.recommendations.change(row.id, decision=decision)


def _basis(unit: UnitOfWork, database: Database, row: Recommendation, settings: Collection[str]) -> Basis | None:
    """What an answer about these settings depends on; None if the server cannot be read.

    What was active may have cured its faults: theirs are the settings and the windows from before it was.
    """
    try:
        earlier = () if row.applied_at is None else unit.reports.windows(database.id, 1, until=row.applied_at)
        for report in earlier:
            database = replace(database, settings_hash=report.settings_hash)
        return evidence_of(unit, context_of(unit, database), None, row.applied_at).basis(settings)
    except LutraError:
        return None

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
from lutra_service.app.notices import told
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


def follow(unit: UnitOfWork, made: Transition) -> None:
    """Execute the table's consequences for every kind of the transition."""
    for is_one, follows in TABLE:
        if is_one(made):
            for then in follows:
                then(unit, made)


def _is_asked_for(made: Transition) -> bool:
    """By an operator, as the session's next one or with settings of their own."""
    by_operator = audit.party(made.by) is Party.OPERATOR
    return made.was is None and by_operator and made.row.kind in (*COMPUTED, Kind.MANUAL)


def _is_rollback(made: Transition) -> bool:
    return made.was is None and made.row.kind == Kind.ROLLBACK


def _is_taken_over(made: Transition) -> bool:
    """By an operator, who rolled something back."""
    return _is_rollback(made) and made.declined is not None


def _is_to_be_decided(made: Transition) -> bool:
    """By an operator: the service proposes it."""
    return made.to == State.PROPOSED and made.was != made.to and audit.party(made.by) is Party.SERVICE


def _is_approved(made: Transition) -> bool:
    return (made.was, made.to) == (State.PROPOSED, State.APPROVED)


def _has_lapsed(made: Transition) -> bool:
    """Nobody decided on it, carried it out or measured it in time; also one whose withdrawal is settled."""
    expired = made.to == State.EXPIRED and made.code is ApplyCode.EXPIRED
    settled_now = made.to == State.REJECTED and made.row.is_withdrawn
    return expired or settled_now or made.code is MeasureCode.NO_MEASUREMENT


def _is_called_off(made: Transition) -> bool:
    """Rejected or withdrawn, at once or in its agent's hands."""
    if made.was == made.to:
        return made.to == State.APPROVED
    ended = made.was is not None and made.to in (State.REJECTED, State.EXPIRED)
    return ended and made.code is not DecisionCode.GATHERED and not _has_lapsed(made)


def _happened(made: Transition) -> bool:
    """On the server: it was made active, confirmed, taken back, or was not carried out."""
    if made.was in (None, made.to) or made.to not in audit.ACTIONS:
        return False
    return made.to != State.FAILED or made.was == State.APPROVED or made.code is DecisionCode.SERVER_REPLACED


def _is_not_carried_out(made: Transition) -> bool:
    return made.was == State.APPROVED and made.to in (State.REFUSED, State.FAILED)


def _was_undone(made: Transition) -> bool:
    """Also one of which somebody tells so once more, with a reason."""
    return made.to == State.REVERTED


def _is_to_be_computed(made: Transition) -> bool:
    return made.to == State.COMPUTING


def _is_computed_no_longer(made: Transition) -> bool:
    """Its job may have ended, or somebody called it off."""
    return made.was == State.COMPUTING


def _was_computed(made: Transition) -> bool:
    return made.was == State.COMPUTING and made.to in (State.PROPOSED, State.UNNEEDED)


def _is_not_needed(made: Transition) -> bool:
    return (made.was, made.to) == (State.COMPUTING, State.UNNEEDED)


def _could_not_be_computed(made: Transition) -> bool:
    return (made.was, made.to) == (State.COMPUTING, State.FAILED)


def _tell_proposal(unit: UnitOfWork, made: Transition) -> None:
    told.of_proposal(unit, unit.recommendations.get(made.row.id))


def _queue(unit: UnitOfWork, made: Transition) -> None:
    unit.jobs.add(Job(made.row.id, "recommendation", unit.now, made.row.database_id))


def _cancel(unit: UnitOfWork, made: Transition) -> None:
    unit.jobs.cancel([made.row.id])


def _decided(action: Action) -> Then:
    def tell(unit: UnitOfWork, made: Transition) -> None:
        audit.decision(unit, action, made.row, made.to, made.by)

    return tell


def _tell_rejection(unit: UnitOfWork, made: Transition) -> None:
    part, failure = made.declined and made.declined.instead, made.failure
    why = {"part": part} if part else {"why": failure.text if failure else ""}
    audit.decision(unit, "recommendation.reject", made.row, made.to, made.by, **why)


def _tell_rollback(unit: UnitOfWork, made: Transition) -> None:
    of = unit.recommendations.get(str(made.row.parent_id))
    audit.decision(unit, "recommendation.rollback", of, of.state, made.by, rollback=made.row.id)


def _remember_declined(unit: UnitOfWork, made: Transition) -> None:
    """What an operator did not want. A rollback says so of the recommendation that it takes back."""
    if made.declined is not None:
        id_ = made.row.parent_id if _is_rollback(made) else made.row.id
        remember_declined(unit, unit.recommendations.get(str(id_)), made.declined)


def _remember_failed(unit: UnitOfWork, made: Transition) -> None:
    """What stands against its settings themselves. A way back is not held against the settings that it leads to."""
    failure = made.failure
    if failure is not None and failure.code.is_about_values and made.row.kind != Kind.ROLLBACK:
        how = Declined("refused" if made.to == State.REFUSED else "failed", failure.text)
        remember_declined(unit, made.row, how)


def _remember_undone(unit: UnitOfWork, made: Transition) -> None:
    """What a guard did not want. A server that did not start says something of the values."""
    if made.failure is not None and made.code is ApplyCode.GUARDRAIL:
        remember_declined(unit, made.row, Declined("reverted", made.failure.message))
    elif made.code is ApplyCode.DID_NOT_START:
        _remember_failed(unit, made)


def _pause_refused(unit: UnitOfWork, made: Transition) -> None:
    if made.failure is not None and made.failure.code.pauses:
        why = f"{made.row.id} was refused: {made.failure.text}"
        session_steps.pause(unit, unit.sessions.of(made.row), why)


def _pause_rolled_back(unit: UnitOfWork, made: Transition) -> None:
    of = unit.recommendations.get(str(made.row.parent_id))
    session_steps.pause(unit, unit.sessions.of(of), f"paused by the rollback of {of.id}")


def _pause_open(unit: UnitOfWork, made: Transition) -> None:
    open_one = unit.sessions.open_one(made.row.database_id)
    session_steps.pause(unit, open_one, f"paused by the rollback of {made.row.parent_id}")


def _end_session_undone(unit: UnitOfWork, made: Transition) -> None:
    session_steps.undone(unit, made.row, made.told or f"{made.row.id} was {made.why}")


def _settle(unit: UnitOfWork, made: Transition) -> None:
    """Nothing is worth changing: its session says so, and what was looked at."""
    row, session = unit.recommendations.get(made.row.id), unit.sessions.of(made.row)
    if session is not None:
        at = context_of(unit, unit.databases.get(row.database_id), session)
        looked_at = row.proposal and row.proposal.looked_at
        settling.settle(unit, session, at, (looked_at or {}).get("sentence", "Nothing is worth changing."))


def _begin_shadows(unit: UnitOfWork, made: Transition) -> None:
    versions.begin_shadows(unit, unit.recommendations.get(made.row.id))


def _go_on_without(unit: UnitOfWork, made: Transition) -> None:
    """A session whose space has nothing left to try goes on to its end. Another one pauses, for the same question has
    the same answer.
    """
    if made.code is ComputeCode.SPACE_EXHAUSTED:
        session_steps.step_after_transition(unit, made)
    elif made.failure is not None:
        why = f"{made.row.id} could not be computed: {made.failure.text}"
        session_steps.pause(unit, unit.sessions.of(made.row), why)


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
    """That changes of `row` were declined now. A lab has no operator to obey.

    The first time counts: a rolled-back change is not stored again when its agent reports the rollback.
    """
    how, reason, names = declined.how, declined.reason, declined.names
    known = unit.recommendations.get(row.id)
    decision = known.decision
    if decision is None or decision.turned_down is not None:
        return
    if reason:
        decision = replace(decision, reason=reason[:LONGEST])
    database = unit.databases.get(row.database_id)
    made = [c for c in known.changes if names is None or c["setting"] in names]
    basis = (
        _basis(unit, database, known, [c["setting"] for c in made]) if made and database.agent.mode != "lab" else None
    )
    if basis is not None:
        changes = tuple(Change(c["setting"], c["before"], c["after"]) for c in made)
        one = TurnedDown(changes, how, unit.now, basis, (reason or "")[:LONGEST])
        decision = replace(decision, turned_down=one)
    if decision != known.decision:
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

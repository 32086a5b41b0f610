"""An operator's decisions on a recommendation: approve (whole or in part), reject, roll back."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from datetime import timedelta

from lutra_models.errors import DecisionCode, Failure, IllegalTransition, InvalidConfiguration, Party
from lutra_models.knobs import Configuration, Value
from lutra_models.lifecycle import Origin, advance_recommendation
from lutra_models.lifecycle import RecommendationKind as Kind
from lutra_models.lifecycle import RecommendationState as State
from lutra_models.maintenance import following

from lutra_service.app.access import audit
from lutra_service.app.databases.current_server import ServerContext, context_of
from lutra_service.app.errors import Conflict
from lutra_service.app.tuning.admit import change_set
from lutra_service.app.tuning.admit.admission import admitted, known_to_run
from lutra_service.app.tuning.deliver import withdrawal
from lutra_service.app.tuning.deliver.directives import waits_for_window
from lutra_service.app.tuning.propose.proposal import propose
from lutra_service.common.actor import SERVICE
from lutra_service.common.documents import Document
from lutra_service.db.schema.recommendation import Decision, Delivery, Recommendation
from lutra_service.db.schema.records import Database, Session
from lutra_service.db.schema.transitions import Declined
from lutra_service.db.store import UnitOfWork

APPROVAL_LASTS = timedelta(hours=24)
UNDER_WAY = (State.APPROVED, State.APPLIED)
REJECTED = Failure(DecisionCode.REJECTED, "", Party.OPERATOR)


def approve(
    unit: UnitOfWork, id_: str, by: str, names: Collection[str] | None = None, reason: str | None = None
) -> Recommendation:
    """Let the agent carry it out. `names` limits it to these settings: a new recommendation, checked again. `reason`
    is the reason for leaving out the others.

    Raises Conflict while another recommendation of the database is pending.
    """
    recommendation, database, session = _held(unit, id_)
    advance_recommendation(recommendation.state, State.APPROVED)
    context = context_of(unit, database, session)
    _require_free_way(unit, context, recommendation)
    assert recommendation.proposal is not None
    wanted = Configuration(recommendation.proposal.configuration)
    if names is not None:
        return _subset(unit, context, recommendation, session, names, by, reason)
    # The server may have changed since it was proposed: what was checked then is checked again, and shown anew.
    moved = {n: v for n, v in wanted.items() if v != context.active.get(n)}
    configuration = admitted(unit, context, moved, known_to_run(recommendation, session))
    if recommendation.kind == Kind.MAINTENANCE:
        configuration = configuration.restrict(wanted)
    proposal = change_set.proposed(context, configuration, recommendation.proposal)
    if context.waits is not None and proposal.restart_needed:  # it undoes nothing of what is changed until then
        configuration = configuration.restrict(c["setting"] for c in proposal.changes)
        proposal = change_set.proposed(context, configuration, proposal)
    unit.recommendations.step(
        recommendation,
        State.APPROVED,
        by,
        request=change_set.asked_now(context, configuration, recommendation.request),
        proposal=proposal,
        decision=_approval(unit, by, context, proposal.restart_needed),
    )
    return _without_change(unit, context, unit.recommendations.get(id_))


def _require_free_way(unit: UnitOfWork, context: ServerContext, wanted: Recommendation) -> None:
    """One change at a time. What waits for its maintenance window is on its way then, and not before."""
    if wanted.needs_restart and context.waits is not None:
        others = [r for r in unit.recommendations.in_states(context.database.id, UNDER_WAY) if r.needs_restart]
    else:
        others = [r for r in under_way(unit, context.database.id) if not waits_for_window(unit, context.database, r)]
    other = next((r for r in others if r.id != wanted.id), None)
    if other is not None:
        raise Conflict(f"{other.id} is {_shown_state(other)}: one change at a time; {_way_on(other)}")


def under_way(unit: UnitOfWork, database_id: str) -> list[Recommendation]:
    """The recommendations that are approved or being measured."""
    return unit.recommendations.in_states(database_id, UNDER_WAY)


def _shown_state(row: Recommendation) -> str:
    return f"{row.state}, withdrawn while its agent applies it" if row.is_withdrawn else row.state


def _way_on(row: Recommendation) -> str:
    if row.is_withdrawn and row.state == State.APPROVED:
        return "the next reports of its agent will end it"
    return "wait for it, reject it or roll it back"


def _subset(
    unit: UnitOfWork,
    context: ServerContext,
    whole: Recommendation,
    session: Session | None,
    names: Collection[str],
    by: str,
    reason: str | None,
) -> Recommendation:
    changed = {c["setting"] for c in whole.changes}
    unknown = sorted(set(names) - changed)
    if unknown or not names:
        raise InvalidConfiguration(
            f"{', '.join(unknown) or 'nothing'} is not a change of {whole.id}; it changes {', '.join(sorted(changed))}"
        )
    part_of = {n: whole.configuration[n] for n in names}
    configuration = admitted(unit, context, part_of, known_to_run(whole, session))
    if context.waits is not None and whole.needs_restart:
        configuration = configuration.restrict(c.name for c in context.live.changes(configuration))
    part = propose(
        unit,
        context,
        configuration,
        kind=Kind.SUBSET,
        origin=Origin.SUBSET,
        session=session,
        parent_id=whole.id,
        trial=whole.trial,
    )
    left_out = Declined("left_out", reason, changed - set(names), part.id)
    rejection, approval = Decision(unit.now, by), _approval(unit, by, context, part.needs_restart)
    unit.recommendations.step(whole, State.REJECTED, by, failure=REJECTED, declined=left_out, decision=rejection)
    unit.recommendations.step(part, State.APPROVED, by, decision=approval)
    return unit.recommendations.get(part.id)


def _without_change(unit: UnitOfWork, context: ServerContext, approved: Recommendation) -> Recommendation:
    """Outside a lab, settings that are already active need no agent: the next windows measure them."""
    if context.mode == "lab" or approved.changes:
        return approved
    unit.recommendations.step(approved, State.APPLIED, SERVICE, delivery=Delivery(applied_at=unit.now))
    return unit.recommendations.get(approved.id)


def reject(unit: UnitOfWork, id_: str, by: str, reason: str | None = None) -> Recommendation:
    """Its changes are stored as declined.

    If its agent has received it, it is withdrawn: rolled back as soon as the agent reports it active.
    """
    recommendation, _, _ = _held(unit, id_)
    advance_recommendation(recommendation.state, State.REJECTED)
    if recommendation.is_withdrawn:
        raise IllegalTransition(f"{id_} was already withdrawn: {withdrawal.UNDER_WAY}")
    rejection = replace(recommendation.decision or Decision(unit.now), decided_at=unit.now, decided_by=by)
    withdrawal.withdraw(unit, recommendation, by, REJECTED, Declined("rejected", reason), decision=rejection)
    unit.conclude()
    return unit.recommendations.get(id_)


def rollback(unit: UnitOfWork, id_: str, by: str, reason: str | None = None) -> Recommendation:
    """A new recommendation that leads back to the settings before `id_`. Never refused for memory. The rolled-back
    changes are stored as declined.

    Other pending recommendations are withdrawn, and an automatic session pauses: the operator has taken over.
    """
    recommendation, database, _ = _held(unit, id_)
    if recommendation.state != State.APPROVED and not recommendation.is_active:
        raise IllegalTransition(f"{id_} is {recommendation.state}: there is nothing to roll back")
    if recommendation.state == State.APPROVED and recommendation.kind == Kind.ROLLBACK:
        raise IllegalTransition(f"{id_} is a rollback that has not been carried out yet: reject it instead")
    return _way_back(unit, recommendation, database, recommendation.request.before, by, Declined("rolled_back", reason))


def take_back(unit: UnitOfWork, id_: str, by: str) -> Recommendation:
    """The same by the service itself, only for the changes of this recommendation.

    Raises before anything is written, if these settings can no longer be set.
    """
    recommendation, database, _ = _held(unit, id_)
    before = {c["setting"]: c["before"] for c in recommendation.changes}
    return _way_back(unit, recommendation, database, before, by)


def _way_back(
    unit: UnitOfWork,
    recommendation: Recommendation,
    database: Database,
    before: Mapping[str, Value],
    by: str,
    declined: Declined | None = None,
) -> Recommendation:
    at, others = context_of(unit, database), unit.recommendations.in_states(database.id, withdrawal.OPEN)
    made = {c["setting"] for c in recommendation.changes}
    back = propose(
        unit,
        at,
        Configuration({n: v for n, v in before.items() if n in made or n in at.active}),
        kind=Kind.ROLLBACK,
        origin=Origin.ROLLBACK,
        parent_id=recommendation.id,
        state=State.APPROVED,
        by=by,
        declined=declined,
    )
    failure = Failure(DecisionCode.WITHDRAWN, f"withdrawn by the rollback of {recommendation.id}", audit.party(by))
    for other in others:
        withdrawal.withdraw(unit, other, by, failure)
    assert back.proposal is not None
    unit.recommendations.change(
        back.id,
        proposal=replace(back.proposal, changes=_undone(at, back.changes, recommendation.changes)),
        decision=Decision(unit.now, by, unit.now + APPROVAL_LASTS),
    )
    return unit.recommendations.get(back.id)


def _undone(context: ServerContext, back: Iterable[Document], changes: Iterable[Document]) -> list[Document]:
    """The way back in the words of each change's own undo: a setting that had no line in the file gets none.

    A value that the server derives follows by itself: its setting was not changed and has no line to take away.
    """
    made = {c["setting"]: c for c in changes}
    told = [c for c in back if c["setting"] in made or context.server.settings[c["setting"]].persisted is not None]
    return [_by_undo(c, made.get(c["setting"])) for c in told]


def _by_undo(back: Document, made: Document | None) -> Document:
    if made is None or made["before"] != back["after"]:
        return back
    return {**back, "do": made["undo"], "do_steps": made["undo_steps"]}


def _held(unit: UnitOfWork, id_: str) -> tuple[Recommendation, Database, Session | None]:
    """The recommendation, read while its database's row is held, and its session."""
    database = unit.databases.lock(unit.recommendations.get(id_).database_id)
    recommendation = unit.recommendations.get(id_)
    session = unit.sessions.of(recommendation)
    return recommendation, database, session


def _approval(unit: UnitOfWork, by: str, context: ServerContext, restart: bool) -> Decision:
    """An approval that has to wait for a maintenance window lasts to that window's end at least."""
    expires_at = unit.now + APPROVAL_LASTS
    upcoming = following(context.windows, unit.now) if context.waits is not None and restart else None
    if upcoming is not None:
        expires_at = max(expires_at, upcoming.end)
    return Decision(unit.now, by, expires_at)

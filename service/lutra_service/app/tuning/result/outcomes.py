"""The outcome of a recommendation on its server: its agent's report, and the active settings."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from lutra_models.errors import ApplyCode, DecisionCode, Failure, Party
from lutra_models.lifecycle import RecommendationKind as Kind
from lutra_models.lifecycle import RecommendationState as State
from lutra_models.wire import Outcome, Report

from lutra_service.app.access import audit
from lutra_service.app.access.audit import named
from lutra_service.app.databases.current_server import effective_mode
from lutra_service.app.tuning.deliver.directive_holder import Holder
from lutra_service.app.tuning.steps.facts import OutcomeTold, SettingsSeen
from lutra_service.common.actor import SERVICE
from lutra_service.common.documents import Document
from lutra_service.db.schema.outcome import ChangeOutcome
from lutra_service.db.schema.recommendation import Delivery, Recommendation
from lutra_service.db.schema.records import Database
from lutra_service.db.store import UnitOfWork

log = logging.getLogger(__name__)

LOST = Failure(
    DecisionCode.STATE_LOST,
    "its agent lost its state before this was confirmed, and could not undo it",
    Party.SERVICE,
)
REPLACED = Failure(DecisionCode.SERVER_REPLACED, "another server took over before this was confirmed", Party.SERVICE)


def record_outcome(unit: UnitOfWork, fact: OutcomeTold) -> None:
    """The outcome that an agent reports. A change that the agent applied is active, whatever was decided meanwhile.

    An outcome for another database's directive, or for one that no agent was given, is ignored.
    """
    database, outcome, holder = fact.database, fact.outcome, Holder(fact.agent, fact.epoch)
    recommendation = unit.recommendations.find(outcome.directive)
    if recommendation is None or recommendation.database_id != database.id:
        return
    if not recommendation.is_handed_out:
        log.warning(
            "%s: an agent reports %s for %s, which was never handed out", database.id, outcome.state, recommendation.id
        )
        return
    state = recommendation.state
    if state == State.APPROVED:
        _first(unit, fact, recommendation)
    elif state in (State.REJECTED, State.EXPIRED, State.REFUSED, State.FAILED) and not recommendation.is_active:
        _late(unit, fact, recommendation)
    elif outcome.state == "confirmed" and state != State.REVERTED:
        _confirmed(unit, recommendation, outcome, holder)
    elif outcome.state == "reverted" and state != State.REVERTED:
        _reverted(unit, recommendation, outcome, holder)


def _late(unit: UnitOfWork, fact: OutcomeTold, ended: Recommendation) -> None:
    """Of one that counted as not carried out."""
    outcome = fact.outcome
    if outcome.state in ("refused", "failed"):
        if ended.outcome is None:
            unit.recommendations.change(ended.id, delivery=_delivered(ended, ChangeOutcome.told(outcome)))
        return
    log.warning("%s was %s and is active: its agent reports %s", ended.id, ended.state, outcome.state)
    _applied(unit, fact, ended)


def _first(unit: UnitOfWork, fact: OutcomeTold, approved: Recommendation) -> None:
    outcome = fact.outcome
    if outcome.state in ("refused", "failed"):
        failure, delivery = _failure(outcome), _delivered(approved, ChangeOutcome.told(outcome))
        to, by = State(outcome.state), audit.agent(fact.agent)
        unit.recommendations.step(approved, to, by, failure.text, failure=failure, delivery=delivery)
    else:
        _applied(unit, fact, approved)


def _applied(unit: UnitOfWork, fact: OutcomeTold, row: Recommendation) -> None:
    outcome, holder = fact.outcome, Holder(fact.agent, fact.epoch)
    change = ChangeOutcome.told(outcome).on(holder.epoch, fact.database.identity)
    by, applied_at = audit.agent(holder.agent), min(outcome.at, unit.now)  # it may have waited in the agent's spool
    delivery = _delivered(row, change, applied_at)
    unit.recommendations.step(row, State.APPLIED, by, outcome.message, delivery=delivery)
    _after_applied(unit, row.id, outcome, holder)


def _confirmed(unit: UnitOfWork, recommendation: Recommendation, outcome: Outcome, holder: Holder) -> None:
    """The agent no longer takes it back by the lapse of time; what was measured under it confirms it here."""
    change = (recommendation.outcome or ChangeOutcome.told(outcome)).confirmed(outcome.at)
    unit.recommendations.change(recommendation.id, delivery=_delivered(recommendation, change))
    if recommendation.state != State.APPLIED:
        return
    if recommendation.kind == Kind.ROLLBACK:
        _rolled_back(unit, recommendation)
    elif recommendation.measured is not None:
        unit.recommendations.step(recommendation, State.CONFIRMED, audit.agent(holder.agent))


def _reverted(unit: UnitOfWork, recommendation: Recommendation, outcome: Outcome, holder: Holder) -> None:
    events = [e.told for e in unit.events.of_recommendation(recommendation.id)]
    change = (recommendation.outcome or ChangeOutcome.told(outcome)).reverted(outcome, events)
    failure, by = _failure(outcome), _who_undid(outcome, holder, events)
    said = f"a guard undid {recommendation.id}: {failure.text}"
    delivery = _delivered(recommendation, change)
    unit.recommendations.step(
        recommendation, State.REVERTED, by, failure.text, told=said, failure=failure, delivery=delivery
    )


def _who_undid(outcome: Outcome, holder: Holder, events: Sequence[Document]) -> str:
    if outcome.code is ApplyCode.GUARDRAIL:
        names = dict.fromkeys(event["guard"] for event in reversed(events))
        return " and ".join(audit.guard(name) for name in names) or f"a guard of {audit.agent(holder.agent)}"
    return audit.ON_HOST if outcome.code is None else audit.agent(holder.agent)


def _after_applied(unit: UnitOfWork, id_: str, outcome: Outcome, holder: Holder) -> None:
    applied = unit.recommendations.get(id_)
    if outcome.state == "reverted":
        _reverted(unit, applied, outcome, holder)
    elif outcome.state == "confirmed":
        _confirmed(unit, applied, outcome, holder)
    elif applied.kind == Kind.ROLLBACK and outcome.confirm_by is None:
        _rolled_back(unit, applied)  # else its agent may still take it back, and with it what it took back is active


def _rolled_back(unit: UnitOfWork, applied: Recommendation) -> None:
    """A rollback needs no measurement, and what it took back is reverted, later changes of the same settings too."""
    by = named(unit, applied.decided_by)
    unit.recommendations.step(applied, State.CONFIRMED, by)
    parent = unit.recommendations.get(applied.parent_id) if applied.parent_id else None
    if parent is not None and parent.state in (State.APPLIED, State.CONFIRMED):
        why, said = _why_declined(parent) or parent.error or "", f"{parent.id} was rolled back by {applied.id}"
        unit.recommendations.step(parent, State.REVERTED, by, why, told=said)
    for later in unit.recommendations.in_states(applied.database_id, (State.APPLIED, State.CONFIRMED)):
        if not _undone_by(applied, parent, later):
            continue
        why = f"undone by the rollback of {applied.parent_id}"
        failure = Failure(DecisionCode.ROLLED_BACK, why, audit.party(applied.decided_by))
        unit.recommendations.step(later, State.REVERTED, by, why, failure=failure)


def _undone_by(back: Recommendation, parent: Recommendation | None, row: Recommendation) -> bool:
    """Whether a rollback set back what `row` had changed."""
    now, changes = back.configuration, row.changes
    if row.state == State.APPLIED:
        return all(c["setting"] in now for c in changes)
    if row.kind == Kind.ROLLBACK or parent is None or row.applied_at is None or parent.applied_at is None:
        return False
    later = row.applied_at > parent.applied_at
    return later and any(now.get(c["setting"], c["after"]) != c["after"] for c in changes)


def forgotten(unit: UnitOfWork, database: Database, report: Report) -> Recommendation | None:
    """The change that would stay unconfirmed forever because its agent lost its state. It is reported and marked once.

    If another server reports, the change has failed with the server on which it was made.
    """
    for applied in unit.recommendations.in_states(database.id, (State.APPLIED,)):
        outcome = applied.outcome
        if outcome is None or not outcome.is_provisional or outcome.epoch in (None, report.epoch):
            continue
        if applied.is_withdrawn or _is_told(applied) or report.status.provisional == applied.id:
            continue
        server, now = outcome.server, database.identity
        if server is not None and now is not None and not server.differences(now):
            unit.recommendations.change(applied.id, failure=LOST)
            return applied
        unit.recommendations.step(applied, State.FAILED, SERVICE, REPLACED.text, failure=REPLACED)
    return None


def notice_active(unit: UnitOfWork, settings_seen: SettingsSeen) -> None:
    """In mode observe, an operator applies an approved recommendation by hand: it then counts as applied.

    Only its own settings count: the server may derive other settings from these (one buffer from the size of another).
    """
    database, configuration = settings_seen.database, settings_seen.configuration
    for approved in unit.recommendations.in_states(database.id, (State.APPROVED,)):
        session = unit.sessions.of(approved)
        wanted = {c["setting"]: c["after"] for c in approved.changes}
        if effective_mode(database, session) != "observe" or any(configuration.get(n) != v for n, v in wanted.items()):
            continue
        delivery = _delivered(approved, ChangeOutcome.found_applied("applied by hand", unit.now), unit.now)
        unit.recommendations.step(approved, State.APPLIED, audit.BY_HAND, delivery=delivery)
        if approved.kind == Kind.ROLLBACK:
            _rolled_back(unit, unit.recommendations.get(approved.id))


def _delivered(row: Recommendation, outcome: ChangeOutcome, applied_at: datetime | None = None) -> Delivery:
    """Its delivery with this outcome, and the moment at which it became active if that is told now."""
    known = row.delivery or Delivery()
    return replace(known, outcome=outcome, applied_at=applied_at or known.applied_at)


def _why_declined(row: Recommendation) -> str | None:
    return None if row.decision is None else row.decision.reason


def _is_told(applied: Recommendation) -> bool:
    return applied.failure is not None and applied.failure.code is DecisionCode.STATE_LOST


def _failure(outcome: Outcome) -> Failure:
    """Why its agent did not carry it out, or took it back. What did not start is told the same by its measurement."""
    if outcome.code is not None:
        return Failure(outcome.code, "" if outcome.code is ApplyCode.DID_NOT_START else outcome.message, Party.AGENT)
    message = outcome.message or outcome.state
    if outcome.state == "reverted":
        return Failure(DecisionCode.ROLLED_BACK, message, Party.OPERATOR)
    return Failure(DecisionCode.UNKNOWN, message, Party.AGENT)

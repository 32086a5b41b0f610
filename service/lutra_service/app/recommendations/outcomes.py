"""What became of a recommendation on its server: what its agent says, and what is found there."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from lutra_models.lifecycle import RecommendationKind as Kind
from lutra_models.lifecycle import RecommendationState as State
from lutra_models.wire import Outcome, Report

from lutra_service.app.access import audit
from lutra_service.app.access.audit import SERVICE, named
from lutra_service.app.databases.current_server import effective_mode
from lutra_service.app.lifecycle.directive_holder import Holder
from lutra_service.app.lifecycle.session_steps import pause, undone
from lutra_service.app.live import turned_down
from lutra_service.common.documents import Document
from lutra_service.db.schema.outcome import ChangeOutcome
from lutra_service.db.schema.records import Database, Recommendation
from lutra_service.db.store import UnitOfWork

log = logging.getLogger(__name__)

PAUSING = ("server_changed", "not_primary", "guardrail", "durability_not_allowed")
"""Refusals after which asking for the next trial at once is of no use."""
ABOUT_VALUES = (
    "memory_budget_exceeded",
    "limit_exceeded",
    "durability_not_allowed",
    "setting_shadowed",
    "invalid_value",
    "unknown_setting",
    "did_not_start",
    "not_active_after_apply",
)
"""What the same settings meet again on the same server."""
LOST = "its agent lost its state before this was confirmed, and could not undo it"
ELSEWHERE = "another server took over before this was confirmed"


def record_outcome(unit: UnitOfWork, database: Database, outcome: Outcome, holder: Holder) -> None:
    """What this agent tells. What it made active is active, whatever was decided meanwhile.

    An outcome for another database's directive, or for one that no agent was given, says nothing and is passed over.
    """
    recommendation = unit.recommendations.find(outcome.directive)
    if recommendation is None or recommendation.database_id != database.id:
        return
    if recommendation.handed_out_at is None:
        log.warning(
            "%s: an agent reports %s for %s, which was never handed out", database.id, outcome.state, recommendation.id
        )
        return
    state = recommendation.state
    if state == State.APPROVED:
        _first(unit, database, recommendation, outcome, holder)
    elif state in (State.REJECTED, State.EXPIRED, State.REFUSED, State.FAILED) and not recommendation.is_active:
        _late(unit, database, recommendation, outcome, holder)
    elif outcome.state == "confirmed" and state != State.REVERTED:
        _confirmed(unit, recommendation, outcome, holder)
    elif outcome.state == "reverted" and state != State.REVERTED:
        _reverted(unit, recommendation, outcome, holder)
    unit.publish(recommendation.id, database.id, recommendation.session_id)


def _late(unit: UnitOfWork, database: Database, ended: Recommendation, outcome: Outcome, holder: Holder) -> None:
    """Of one that counted as not carried out."""
    if outcome.state in ("refused", "failed"):
        if ended.outcome is None:
            unit.recommendations.change(ended.id, outcome=ChangeOutcome.told(outcome))
        return
    log.warning("%s was %s and is active: its agent reports %s", ended.id, ended.state, outcome.state)
    _applied(unit, database, ended, outcome, holder)


def _first(unit: UnitOfWork, database: Database, approved: Recommendation, outcome: Outcome, holder: Holder) -> None:
    if outcome.state in ("refused", "failed"):
        to, error, by = State(outcome.state), _error(outcome), audit.agent(holder.agent)
        ended = {"outcome": ChangeOutcome.told(outcome), "error": error, "ended_at": unit.now}
        audit.happened(unit, approved, to, by, error, **ended)
        _remember(unit, approved, outcome)
        if outcome.code in PAUSING:
            pause(unit, unit.sessions.of(approved), f"{approved.id} was refused: {error}")
        return
    _applied(unit, database, approved, outcome, holder)


def _remember(unit: UnitOfWork, row: Recommendation, outcome: Outcome) -> None:
    """What stands against its settings themselves. A way back is not held against the settings that it leads to."""
    if outcome.code in ABOUT_VALUES and row.kind != Kind.ROLLBACK:
        turned_down.remember(unit, row, "refused" if outcome.state == "refused" else "failed", _error(outcome))


def _applied(unit: UnitOfWork, database: Database, row: Recommendation, outcome: Outcome, holder: Holder) -> None:
    applied_at = min(outcome.at, unit.now)  # it may have waited in the agent's spool
    told = ChangeOutcome.told(outcome).on(holder.epoch, database.identity)
    values = {"outcome": told, "applied_at": applied_at, "ended_at": None}
    audit.happened(unit, row, State.APPLIED, audit.agent(holder.agent), outcome.message, **values)
    _after_applied(unit, row.id, outcome, holder)


def _confirmed(unit: UnitOfWork, recommendation: Recommendation, outcome: Outcome, holder: Holder) -> None:
    """The agent no longer takes it back by the lapse of time; what was measured under it confirms it here."""
    told = (recommendation.outcome or ChangeOutcome.told(outcome)).confirmed(outcome.at)
    unit.recommendations.change(recommendation.id, outcome=told)
    if recommendation.state != State.APPLIED:
        return
    if recommendation.kind == Kind.ROLLBACK:
        _rolled_back(unit, recommendation)
    elif recommendation.measured is not None:
        audit.happened(unit, recommendation, State.CONFIRMED, audit.agent(holder.agent), ended_at=unit.now)


def _reverted(unit: UnitOfWork, recommendation: Recommendation, outcome: Outcome, holder: Holder) -> None:
    events = [e.told for e in unit.events.of_recommendation(recommendation.id)]
    told = (recommendation.outcome or ChangeOutcome.told(outcome)).reverted(outcome, events)
    ended = {"outcome": told, "error": _error(outcome), "ended_at": unit.now}
    audit.happened(unit, recommendation, State.REVERTED, _who_undid(outcome, holder, events), _error(outcome), **ended)
    if outcome.code == "guardrail":
        turned_down.remember(unit, recommendation, "reverted", outcome.message)
    elif outcome.code == "did_not_start":
        _remember(unit, recommendation, outcome)
    undone(unit, recommendation, f"a guard undid {recommendation.id}: {_error(outcome)}")


def _who_undid(outcome: Outcome, holder: Holder, events: Sequence[Document]) -> str:
    if outcome.code == "guardrail":
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
    audit.happened(unit, applied, State.CONFIRMED, by, ended_at=unit.now)
    parent = unit.recommendations.get(applied.parent_id) if applied.parent_id else None
    if parent is not None and parent.state in (State.APPLIED, State.CONFIRMED):
        audit.happened(unit, parent, State.REVERTED, by, parent.reason or parent.error or "", ended_at=unit.now)
        unit.publish(parent.id)
        undone(unit, parent, f"{parent.id} was rolled back by {applied.id}")
    for later in unit.recommendations.in_states(applied.database_id, (State.APPLIED, State.CONFIRMED)):
        if not _undone_by(applied, parent, later):
            continue
        error = f"undone by the rollback of {applied.parent_id}"
        audit.happened(unit, later, State.REVERTED, by, error, error=error, ended_at=unit.now)
        unit.publish(later.id, later.session_id)
        undone(unit, later, f"{later.id} was {error}")


def _undone_by(back: Recommendation, parent: Recommendation | None, row: Recommendation) -> bool:
    """Whether a rollback set back what `row` had changed."""
    now, changes = back.configuration or {}, row.changes or ()
    if row.state == State.APPLIED:
        return all(c["setting"] in now for c in changes)
    if row.kind == Kind.ROLLBACK or parent is None or row.applied_at is None or parent.applied_at is None:
        return False
    later = row.applied_at > parent.applied_at
    return later and any(now.get(c["setting"], c["after"]) != c["after"] for c in changes)


def forgotten(unit: UnitOfWork, database: Database, report: Report) -> Recommendation | None:
    """The change that would stay unconfirmed for good, as its agent goes on without its state. Told once, and marked.

    Where it is another server that reports, the change has failed with the one that it was made on.
    """
    for applied in unit.recommendations.in_states(database.id, (State.APPLIED,)):
        told = applied.outcome
        if told is None or not told.is_provisional or told.epoch in (None, report.epoch):
            continue
        if applied.error is not None or report.status.provisional == applied.id:
            continue
        server, now = told.server, database.identity
        if server is not None and now is not None and not server.differences(now):
            unit.recommendations.change(applied.id, error=LOST)
            return applied
        audit.happened(unit, applied, State.FAILED, SERVICE, ELSEWHERE, error=ELSEWHERE, ended_at=unit.now)
        unit.publish(applied.id, applied.session_id)
    return None


def notice_active(unit: UnitOfWork, database: Database, configuration: Document) -> None:
    """An operator who applies an approved recommendation by hand, in mode observe, has applied it.

    What it changes counts: the server may derive other settings from these (one buffer from the size of another).
    """
    for approved in unit.recommendations.in_states(database.id, (State.APPROVED,)):
        session = unit.sessions.of(approved)
        wanted = {c["setting"]: c["after"] for c in approved.changes or ()}
        if effective_mode(database, session) != "observe" or any(configuration.get(n) != v for n, v in wanted.items()):
            continue
        told = ChangeOutcome.found_applied("applied by hand", unit.now)
        audit.happened(unit, approved, State.APPLIED, audit.BY_HAND, outcome=told, applied_at=unit.now)
        if approved.kind == Kind.ROLLBACK:
            _rolled_back(unit, unit.recommendations.get(approved.id))
        unit.publish(approved.id, database.id)


def _error(outcome: Outcome) -> str:
    if outcome.code == "did_not_start":
        return outcome.code
    return (": ".join(filter(None, (outcome.code, outcome.message))) or outcome.state)[:1000]

"""Tuning sessions: opened, steered, and led from one trial to the next until the best is handed over."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any

from lutra_models.errors import LutraError, NotEnoughObservations
from lutra_models.history import Mode, TuningSession
from lutra_models.identity import identity
from lutra_models.lifecycle import RecommendationKind as Kind
from lutra_models.lifecycle import RecommendationState as State
from lutra_models.lifecycle import SessionState, advance_session

from lutra_service.app.access import audit
from lutra_service.app.access.audit import AUTOMATIC
from lutra_service.app.databases import server_identity
from lutra_service.app.databases.server_context import effective_mode, live
from lutra_service.app.errors import Conflict, Forbidden
from lutra_service.app.lifecycle import withdrawing
from lutra_service.app.lifecycle.pausing import pause
from lutra_service.app.recommendations import decide, request, trial_record
from lutra_service.common.documents import Document
from lutra_service.db.schema.records import Database, Event, Recommendation, Session
from lutra_service.db.store import Unit

FRUITLESS_LIMIT = 5
STEPS: dict[SessionState, str] = {
    SessionState.PAUSED: "pause",
    SessionState.RUNNING: "resume",
    SessionState.STOPPED: "stop",
}


@dataclass(frozen=True)
class Progress:
    """Where a session stands."""

    session: Session
    trials_done: int
    current: str | None
    incumbent: str | None
    handover: str | None
    effective_mode: Mode
    events: list[Event]


def open_session(unit: Unit, database_id: str, asked: TuningSession, seed: int, by_agent: bool) -> Session:
    """Raises Conflict while the database has another open session, and Forbidden for what an agent may not ask for."""
    database = unit.databases.lock(database_id)
    if by_agent:
        _check_agents_own(database, asked)
    other = unit.sessions.open_one(database_id)
    if other is not None:
        raise Conflict(f"{other.id} is {other.state}: one session at a time; POST /v1/sessions/{other.id}/stop ends it")
    session = Session(
        id=unit.new_id("ts"),
        database_id=database_id,
        state=SessionState.RUNNING,
        objective=asked.objective,
        limits=asked.limits,
        mode=asked.mode,
        approval=asked.approval,
        max_trials=asked.max_trials,
        seed=seed,
        baseline=None,
        created_at=unit.now,
        opened_by_agent=by_agent,
    )
    unit.sessions.add(session)
    audit.record(unit, "session.open", session.id, None, _shown(session), database_id=database_id)
    unit.announce(session.id, database_id)
    advance(unit, database, session)
    return unit.sessions.get(session.id)


def _check_agents_own(database: Database, asked: TuningSession) -> None:
    """Nothing is tuned without an operator's yes but a lab."""
    if asked.mode != "lab":
        raise Forbidden(f"an agent's token opens sessions in mode lab, not in {asked.mode}: that needs scope operate")
    if asked.approval == AUTOMATIC and database.agent.mode != "lab":
        raise Forbidden(
            f"the agent of {database.id} reports mode {database.agent.mode}: without an operator, automatic approval "
            "is for an agent in mode lab"
        )


def _shown(session: Session) -> Document:
    return {
        "objective_metric": session.objective.metric,
        "objective_goal": session.objective.goal,
        "mode": session.mode,
        "approval": session.approval,
        "max_trials": session.max_trials,
        "limits": [asdict(limit) for limit in session.limits],
    }


def steer(unit: Unit, id_: str, to: SessionState, by: str) -> Session:
    """Pause, resume or stop. Stopping withdraws what is not yet applied; what its agent is just carrying out is rolled
    back once it is applied. Raises IllegalTransition.

    Resuming on a server that became another one begins anew there. Raises Conflict while that one is no primary.
    """
    database = unit.databases.lock(unit.sessions.get(id_).database_id)
    session = unit.sessions.get(id_)
    advance_session(session.state, to)
    more: dict[str, Any] = {"ended_at": unit.now} if to == SessionState.STOPPED else {}
    if to == SessionState.RUNNING:
        more = {"resumed_at": unit.now, **server_identity.rebased(unit, database, session)}
    unit.sessions.step(session, to, message="", **more)
    if to == SessionState.STOPPED:
        _withdraw(unit, session, by, "the session was stopped")
    audit.record(unit, f"session.{STEPS[to]}", id_, {"state": session.state}, {"state": to}, database_id=database.id)
    unit.announce(id_, database.id)
    session = unit.sessions.get(id_)
    advance(unit, database, session)
    return unit.sessions.get(id_)


def _withdraw(unit: Unit, session: Session, by: str, why: str) -> None:
    """End what is not yet applied."""
    for row in unit.recommendations.outlined(session.id):
        if row.state in withdrawing.OPEN:
            withdrawing.withdraw(unit, unit.recommendations.get(row.id), by, why)


def advance(unit: Unit, database: Database, session: Session | None = None) -> None:
    """Take the next step of the database's running session, if there is one to take. Safe to call at any time."""
    session = unit.sessions.get(session.id) if session else unit.sessions.open_one(database.id)
    if session is None or session.state != SessionState.RUNNING:
        return
    changed = server_identity.change(session, database)
    if changed is not None:
        _withdraw(unit, session, audit.SERVICE, f"server_changed: {changed}")
        pause(unit, session, f"server_changed: {changed}; POST /v1/sessions/{session.id}/resume begins anew on it")
        return
    try:
        session = _with_baseline(unit, database, session)
    except LutraError as error:  # a policy that contradicts the server must not cost the report that shows it
        pause(unit, session, f"{error.code}: {error}")
        return
    handovers = trial_record.since_rebase(session, unit.recommendations.of_kind(session.id, (Kind.HANDOVER,)))
    if _handed_over(handovers):
        ended = handovers[-1]
        told = f"{ended.id} is {ended.state}: {trial_record.failure(ended)}" if trial_record.failure(ended) else ""
        unit.sessions.step(session, SessionState.COMPLETED, ended_at=unit.now, message=told)
        unit.announce(session.id, database.id)
    elif session.approval == AUTOMATIC and session.baseline is not None:
        _next(unit, database, session)


def _next(unit: Unit, database: Database, session: Session) -> None:
    if session.opened_by_agent and database.agent.mode != "lab":
        pause(
            unit, session, f"its agent opened it, and reports mode {database.agent.mode} by now: no operator said yes"
        )
        return
    fruitless = _fruitless(unit, session)
    if fruitless is not None:
        pause(unit, session, fruitless)
        return
    try:
        recommendation, _ = request.ask(unit, database, session)
        busy = unit.recommendations.in_states(database.id, decide.UNDER_WAY)
        if recommendation.state == State.PROPOSED and not busy:
            decide.approve(unit, recommendation.id, AUTOMATIC)
    except LutraError as error:
        pause(unit, session, f"{error.code}: {error}")


def progress(unit: Unit, session: Session) -> Progress:
    rows = unit.recommendations.outlined(session.id)
    counted = trial_record.since_rebase(session, rows)
    waiting = [r.id for r in rows if r.state in request.WAITING]
    handover = [r.id for r in rows if r.kind == Kind.HANDOVER]
    return Progress(
        session=session,
        trials_done=sum(trial_record.counts(r) for r in counted),
        current=waiting[-1] if waiting else None,
        incumbent=_incumbent(session, [r for r in counted if r.state != State.REVERTED]),
        handover=handover[-1] if handover else None,
        effective_mode=effective_mode(unit.databases.get(session.database_id), session),
        events=unit.events.of_session(session.id),
    )


def trials(unit: Unit, session_id: str) -> list[Recommendation]:
    """The session's searched recommendations, and the parts of them that were approved, in order."""
    return [r for r in unit.recommendations.of_session(session_id) if trial_record.is_trial(r)]


def _incumbent(session: Session, rows: list[Recommendation]) -> str | None:
    """The best measured trial that keeps the limits."""
    objective, limits = session.objective, session.limits
    best: tuple[float, str] | None = None
    for row in rows:
        measured = row.measured or {}
        kept = all(limit.metric in measured and limit.holds(measured[limit.metric]) for limit in limits)
        if objective.metric in measured and kept:
            gain = objective.gain(measured[objective.metric])
            best = max(best, (gain, row.id)) if best else (gain, row.id)
    return best[1] if best else None


def _with_baseline(unit: Unit, database: Database, session: Session) -> Session:
    if session.baseline is not None:
        return session
    try:
        at = live(unit, database, session)
    except NotEnoughObservations:
        return session
    baseline, server = dict(at.active.restrict(at.space.names)), identity(at.server)
    unit.sessions.change(session.id, baseline=baseline, identity=server)
    return replace(session, baseline=baseline, identity=server)


def _handed_over(rows: list[Recommendation]) -> bool:
    ended = (State.CONFIRMED, State.REVERTED, State.REJECTED, State.REFUSED, State.FAILED)
    return any(r.state in ended and r.proposed_at is not None for r in rows)


def _fruitless(unit: Unit, session: Session) -> str | None:
    """Why going on is of no use: the last trials since it was resumed all ended without a reading of the objective."""
    since = session.resumed_at or session.created_at
    made_since = session.rebased_at or session.created_at
    last = unit.recommendations.last_ended(session.id, Kind.SEARCH, since, made_since, FRUITLESS_LIMIT)
    if len(last) < FRUITLESS_LIMIT or any(session.objective.metric in (r.measured or {}) for r in last):
        return None
    why = trial_record.failure(last[-1]) or f"{session.objective.metric} was not measured"
    return f"the last {FRUITLESS_LIMIT} trials gave no {session.objective.metric}; the last one: {why}"

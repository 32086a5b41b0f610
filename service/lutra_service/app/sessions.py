"""Tuning sessions: opened, steered, and led from one trial to the next until the best is handed over."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from lutra_models.errors import LutraError, NotEnoughObservations
from lutra_models.history import Approval, Mode, SessionState, TuningSession
from lutra_models.identity import identity
from lutra_models.metrics import Limit, Objective

from lutra_service.app import asking, audit, deciding, histories, identities, known, withdrawing
from lutra_service.app.deciding import AUTOMATIC
from lutra_service.app.errors import Conflict, Forbidden
from lutra_service.app.live import agent_mode, effective_mode, live
from lutra_service.app.pausing import pause
from lutra_service.db.records import Database, Document, Event, Recommendation, Session
from lutra_service.db.store import Unit

FRUITLESS_LIMIT = 5
STEPS: dict[SessionState, str] = {"paused": "pause", "running": "resume", "stopped": "stop"}


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
        state="running",
        objective_metric=asked.objective.metric,
        objective_goal=asked.objective.goal,
        limits=[{"metric": x.metric, "at_most": x.at_most, "at_least": x.at_least} for x in asked.limits],
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
    if asked.approval == AUTOMATIC and agent_mode(database) != "lab":
        raise Forbidden(
            f"the agent of {database.id} reports mode {agent_mode(database)}: without an operator, automatic approval "
            "is for an agent in mode lab"
        )


def _shown(session: Session) -> Document:
    names = ("objective_metric", "objective_goal", "mode", "approval", "max_trials", "limits")
    return {name: getattr(session, name) for name in names}


def tuning_session(
    objective: Objective, limits: Sequence[Limit], mode: Mode, approval: Approval, max_trials: int
) -> TuningSession:
    return TuningSession(objective, tuple(limits), mode, approval, max_trials)


def steer(unit: Unit, id_: str, to: SessionState, by: str) -> Session:
    """Pause, resume or stop. Stopping withdraws what is not yet applied; what its agent is just carrying out is rolled
    back once it is applied. Raises IllegalTransition.

    Resuming on a server that became another one begins anew there. Raises Conflict while that one is no primary.
    """
    database = unit.databases.lock(unit.sessions.get(id_).database_id)
    session = unit.sessions.get(id_)
    _domain(session).step(to)
    more: dict[str, Any] = {"ended_at": unit.now} if to == "stopped" else {}
    if to == "running":
        more = {"resumed_at": unit.now, **identities.rebased(unit, database, session)}
    unit.sessions.step(session, to, message="", **more)
    if to == "stopped":
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
    if session is None or session.state != "running":
        return
    changed = identities.change(session, database)
    if changed is not None:
        _withdraw(unit, session, audit.SERVICE, f"server_changed: {changed}")
        pause(unit, session, f"server_changed: {changed}; POST /v1/sessions/{session.id}/resume starts again on it")
        return
    try:
        session = _with_baseline(unit, database, session)
    except LutraError as error:  # a policy that contradicts the server must not cost the report that shows it
        pause(unit, session, f"{error.code}: {error}")
        return
    handovers = known.since_rebase(session, unit.recommendations.of_kind(session.id, ("handover",)))
    if _handed_over(handovers):
        ended = handovers[-1]
        told = f"{ended.id} is {ended.state}: {known.failure(ended)}" if known.failure(ended) else ""
        unit.sessions.step(session, "completed", ended_at=unit.now, message=told)
        unit.announce(session.id, database.id)
    elif session.approval == AUTOMATIC and session.baseline is not None:
        _next(unit, database, session)


def _next(unit: Unit, database: Database, session: Session) -> None:
    if session.opened_by_agent and agent_mode(database) != "lab":
        pause(
            unit, session, f"its agent opened it, and reports mode {agent_mode(database)} by now: no operator said yes"
        )
        return
    fruitless = _fruitless(unit, session)
    if fruitless is not None:
        pause(unit, session, fruitless)
        return
    try:
        recommendation, _ = asking.ask(unit, database, session)
        busy = unit.recommendations.in_states(database.id, deciding.UNDER_WAY)
        if recommendation.state == "proposed" and not busy:
            deciding.approve(unit, recommendation.id, AUTOMATIC)
    except LutraError as error:
        pause(unit, session, f"{error.code}: {error}")


def progress(unit: Unit, session: Session) -> Progress:
    rows = unit.recommendations.outlined(session.id)
    counted = known.since_rebase(session, rows)
    waiting = [r.id for r in rows if r.state in asking.WAITING]
    handover = [r.id for r in rows if r.kind == "handover"]
    return Progress(
        session=session,
        trials_done=sum(known.counts(r) for r in counted),
        current=waiting[-1] if waiting else None,
        incumbent=_incumbent(session, [r for r in counted if r.state != "reverted"]),
        handover=handover[-1] if handover else None,
        effective_mode=effective_mode(unit.databases.get(session.database_id), session),
        events=unit.events.of_session(session.id),
    )


def trials(unit: Unit, session_id: str) -> list[Recommendation]:
    """The session's searched recommendations, and the parts of them that were approved, in order."""
    return [r for r in unit.recommendations.of_session(session_id) if known.is_trial(r)]


def _incumbent(session: Session, rows: list[Recommendation]) -> str | None:
    """The best measured trial that keeps the limits."""
    objective, limits = histories.objective(session), histories.limits(session)
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
    baseline, server = dict(at.active.restrict(at.space.names)), identities.to_dict(identity(at.server))
    unit.sessions.change(session.id, baseline=baseline, identity=server)
    return replace(session, baseline=baseline, identity=server)


def _handed_over(rows: list[Recommendation]) -> bool:
    ended = ("confirmed", "reverted", "rejected", "refused", "failed")
    return any(r.state in ended and r.proposed_at is not None for r in rows)


def _fruitless(unit: Unit, session: Session) -> str | None:
    """Why going on is of no use: the last trials since it was resumed all ended without a reading of the objective."""
    since = session.resumed_at or session.created_at
    made_since = session.rebased_at or session.created_at
    last = unit.recommendations.last_ended(session.id, "search", since, made_since, FRUITLESS_LIMIT)
    if len(last) < FRUITLESS_LIMIT or any(session.objective_metric in (r.measured or {}) for r in last):
        return None
    why = known.failure(last[-1]) or f"{session.objective_metric} was not measured"
    return f"the last {FRUITLESS_LIMIT} trials gave no {session.objective_metric}; the last one: {why}"


def _domain(session: Session) -> TuningSession:
    return TuningSession(
        histories.objective(session),
        histories.limits(session),
        session.mode,  # type: ignore[arg-type]
        session.approval,  # type: ignore[arg-type]
        session.max_trials,
        session.state,  # type: ignore[arg-type]
    )

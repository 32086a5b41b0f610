"""Tuning sessions: opened and controlled."""

from __future__ import annotations

from typing import Any

from lutra_models.errors import DecisionCode, Failure, Party
from lutra_models.history import TuningSession
from lutra_models.lifecycle import SessionState, advance_session

from lutra_service.app.access.tokens import Principal
from lutra_service.app.databases import current_server
from lutra_service.app.errors import Conflict, DatabaseRetired, Forbidden
from lutra_service.app.tuning.observe import baseline_windows
from lutra_service.app.tuning.session.advance import withdraw_open
from lutra_service.common.actor import AUTOMATIC
from lutra_service.db.schema.records import Database, Session
from lutra_service.db.store import UnitOfWork


def open_session(unit: UnitOfWork, database_id: str, asked: TuningSession, seed: int, who: Principal) -> Session:
    """Raises Conflict while the database has another open session, and Forbidden if `who` may not open it."""
    database = unit.databases.lock(database_id)
    if database.retired_at is not None:
        raise DatabaseRetired(
            f"{database_id} is retired: put it back into use first (`lutra databases unretire {database_id}`)"
        )
    if who.is_agent:
        _check_agents_own(database, asked)
    elif asked.approval == AUTOMATIC and not who.decides:
        raise Forbidden("automatic approval decides for a person: it needs scope operate; ask for approval manual")
    other = unit.sessions.open_one(database_id)
    if other is not None:
        raise Conflict(
            f"{other.id} is {other.state}: one session at a time; end it with POST /v1/sessions/{other.id}/stop"
        )
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
        opened_by_agent=who.is_agent,
        verification_rounds=asked.verification_rounds,
        max_changes=asked.max_changes,
        aim=asked.aim,
        exploration=asked.exploration,
    )
    unit.sessions.add(session)
    baseline_windows.bind_p99(unit, session)
    unit.conclude()
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


def steer(unit: UnitOfWork, id_: str, to: SessionState, by: str) -> Session:
    """Pause, resume or stop. Stopping withdraws recommendations that are not yet applied; a change in progress is
    rolled back once it is applied. Raises IllegalTransition.

    After the server was replaced, resuming starts the session again on the new one. Raises Conflict while that one is
    not a primary.
    """
    database = unit.databases.lock(unit.sessions.get(id_).database_id)
    session = unit.sessions.get(id_)
    advance_session(session.state, to)
    more: dict[str, Any] = {"ended_at": unit.now} if to == SessionState.STOPPED else {}
    if to == SessionState.RUNNING:
        more = {"resumed_at": unit.now, **current_server.rebased(unit, database, session)}
    unit.sessions.step(session, to, by, **more)
    if to == SessionState.STOPPED:
        withdraw_open(unit, session, by, Failure(DecisionCode.WITHDRAWN, "the session was stopped", Party.OPERATOR))
    unit.conclude()
    return unit.sessions.get(id_)

"""The progress of a session."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from lutra_models.errors import LutraError
from lutra_models.history import Mode
from lutra_models.lifecycle import RecommendationKind as Kind
from lutra_models.lifecycle import RecommendationState as State
from lutra_models.lifecycle import SessionState
from lutra_models.scores import Comparison

from lutra_service.app.databases.current_server import context_of, effective_mode
from lutra_service.app.tuning.deliver import directives
from lutra_service.app.tuning.observe import objectives, observation_progress, outages, settling, silence, verdicts
from lutra_service.app.tuning.propose import request
from lutra_service.app.tuning.record import histories, trial_record, verification
from lutra_service.app.tuning.record.verification import Verification
from lutra_service.app.workloads import benefit
from lutra_service.db.schema.recommendation import Recommendation
from lutra_service.db.schema.records import Event, Session
from lutra_service.db.store import UnitOfWork

SHORT = timedelta(seconds=10)
"""A request that is no longer being computed needs no message."""


@dataclass(frozen=True)
class Progress:
    """The progress of a session."""

    session: Session
    message: str
    trials_done: int
    current: str | None
    incumbent: str | None
    handover: str | None
    for_window: str | None
    effective_mode: Mode
    events: list[Event]
    verification: Verification | None
    leaning: Comparison


def progress(unit: UnitOfWork, session: Session) -> Progress:
    rows = unit.recommendations.outlined(session.id)
    counted = trial_record.since_rebase(session, rows)
    waiting = [r.id for r in rows if r.state in request.WAITING and r.kind != Kind.MAINTENANCE]
    for_window = [r.id for r in rows if r.kind == Kind.MAINTENANCE and r.state in request.WAITING]
    handover = [r.id for r in rows if r.kind == Kind.HANDOVER]
    return Progress(
        session=session,
        message=_message(unit, session, rows),
        trials_done=sum(trial_record.counts(r) for r in counted),
        current=waiting[-1] if waiting else None,
        incumbent=_incumbent(session, [r for r in counted if _may_lead(r)]),
        for_window=for_window[-1] if for_window else None,
        handover=handover[-1] if handover else None,
        effective_mode=effective_mode(unit.databases.get(session.database_id), session),
        events=unit.events.of_session(session.id),
        verification=verification.of_session(unit, session, rows),
        leaning=benefit.of_session(unit, session),
    )


def _message(unit: UnitOfWork, session: Session, rows: list[Recommendation]) -> str:
    status = _told(unit, session, rows)
    hindered = [line for line in _outages(unit, session) if line not in status]
    return "\n".join(part for part in (*hindered, status) if part)


def _outages(unit: UnitOfWork, session: Session) -> list[str]:
    """Of an open session outside a lab: they are said first, whatever else it is at."""
    open_ = (SessionState.RUNNING, SessionState.SETTLED, SessionState.PAUSED)
    if session.mode == "lab" or session.state not in open_:
        return []
    try:
        return outages.lines(unit, context_of(unit, unit.databases.get(session.database_id), session))
    except LutraError:
        return []


def _told(unit: UnitOfWork, session: Session, rows: list[Recommendation]) -> str:
    if session.state == SessionState.SETTLED:
        status = settling.sentence(session, rows)
    else:
        status = session.message or _present(unit, session, rows)
    return " ".join(part for part in (status, verdicts.sentence_of(unit, session.database_id, session)) if part)


def _present(unit: UnitOfWork, session: Session, rows: list[Recommendation]) -> str:
    """What an open session is at, where that is not plain: what it observes, why a computation or an approval waits,
    and that nothing is heard of the database. In a lab nothing is heard while a driver runs.
    """
    if session.state != SessionState.RUNNING:
        return ""
    late = next((r for r in rows if r.state == State.COMPUTING and unit.now - r.request.created_at >= SHORT), None)
    if late is not None:
        return _computed(unit, late)
    quiet = "" if session.mode == "lab" else silence.sentence(unit, unit.databases.get(session.database_id))
    if any(r.state == State.OBSERVING for r in rows):
        if quiet:
            return f"observing: {quiet}"
        try:
            context = context_of(unit, unit.databases.get(session.database_id), session)
            seen, elsewhere = (
                histories.measured(unit, context, session),
                observation_progress.other_source(unit, session),
            )
            return observation_progress.sentence(seen, elsewhere)
        except LutraError as error:
            return f"{error.code}: {error}"
    waiting = ((r.id, directives.waits(unit, r)) for r in rows if r.state == State.APPROVED)
    status = next((f"{id_} is approved and waits: {why}" for id_, why in waiting if why is not None), "")
    return status or quiet or objectives.unserved(unit, session)


def _computed(unit: UnitOfWork, late: Recommendation) -> str:
    """What a computation that takes its time waits for."""
    since = f"{late.id} was requested {(unit.now - late.request.created_at).total_seconds():.0f} s ago"
    job = unit.jobs.find(late.id)
    if job is not None and job.lease_until is not None and job.lease_until >= unit.now:
        lost = f", after a worker was lost {job.attempts} times" if job.attempts else ""
        return f"{since} and is being computed{lost}"
    computed, waiting = unit.jobs.count("recommendation", unit.now)
    others = f"{computed} are being computed, and {waiting - 1} others wait"
    return f"{since} and waits for a free worker (LUTRA_WORKERS): {others}"


def trials(unit: UnitOfWork, session_id: str) -> list[Recommendation]:
    """The session's searched recommendations, and the parts of them that were approved, in order."""
    return [r for r in unit.recommendations.of_session(session_id) if trial_record.is_trial(r)]


def _may_lead(row: Recommendation) -> bool:
    """A verification's readings are told by themselves: the luckiest of them is no news."""
    return row.state != State.REVERTED and row.kind != Kind.VERIFICATION


def _incumbent(session: Session, rows: list[Recommendation]) -> str | None:
    """In a lab the best measured trial that keeps the limits; elsewhere the latest that was judged better at comparable
    load, by itself or with the changes before it.
    """
    kept = [r for r in rows if _keeps_limits(session, r)]
    if session.mode != "lab":
        better = [r.id for r in kept if verdicts.gained(r)]
        return better[-1] if better else None
    objective = session.judged
    read = [(objective.gain(m[objective.metric]), r.id) for r in kept if objective.metric in (m := r.measured or {})]
    return max(read)[1] if read else None


def _keeps_limits(session: Session, row: Recommendation) -> bool:
    measured = row.measured or {}
    return all(limit.metric in measured and limit.holds(measured[limit.metric]) for limit in session.judged_limits)

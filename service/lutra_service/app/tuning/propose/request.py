"""Asking for a recommendation: the next of a session (computed elsewhere), or an operator's own configuration."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from lutra_models import __version__, serial
from lutra_models.digest import fingerprint
from lutra_models.errors import SessionClosed
from lutra_models.history import History
from lutra_models.lifecycle import Origin, SessionState
from lutra_models.lifecycle import RecommendationKind as Kind
from lutra_models.lifecycle import RecommendationState as State
from lutra_models.verification import ORIGINS, FinalistName, contest_to_dict

from lutra_service.app.access import quota
from lutra_service.app.databases.current_server import ServerContext, context_of
from lutra_service.app.model_versions.serving import Serving, asked_of, serving
from lutra_service.app.tuning.admit.admission import admitted
from lutra_service.app.tuning.deliver.directives import waits_for_window
from lutra_service.app.tuning.observe import observation_progress
from lutra_service.app.tuning.propose.proposal import propose
from lutra_service.app.tuning.record import histories, trial_record, verification
from lutra_service.app.tuning.record.verification import Verification
from lutra_service.app.tuning.steps.session_steps import wake
from lutra_service.app.workloads import benefit, choose
from lutra_service.common.actor import SERVICE
from lutra_service.common.documents import Document
from lutra_service.db.schema.recommendation import Recommendation, Request
from lutra_service.db.schema.records import Database, Session, StoredRequest
from lutra_service.db.store import UnitOfWork

WAITING = (State.OBSERVING, State.COMPUTING, State.PROPOSED, State.APPROVED, State.APPLIED)
COMPUTED = (Kind.SEARCH, Kind.HANDOVER, Kind.VERIFICATION)
HANDOVER_ENTROPY = 2**32


def ask(unit: UnitOfWork, database: Database, session: Session | None, by: str = SERVICE) -> Recommendation:
    """The session's pending recommendation, else a new one that is now being computed.

    Raises SessionClosed without a running session, and NotEnoughObservations before the agent's first report.
    """
    if session is None:
        raise SessionClosed(
            f"{database.id} has no open session: open one with POST /v1/databases/{database.id}/sessions"
        )
    if session.state == SessionState.SETTLED:
        session = wake(unit, session)
    if session.state != SessionState.RUNNING:
        why = f" ({session.message})" if session.message else ""
        raise SessionClosed(
            f"{session.id} is {session.state}{why}: continue it with POST /v1/sessions/{session.id}/resume"
        )
    waiting = unit.recommendations.of_kind(session.id, (*COMPUTED, Kind.SUBSET), WAITING)
    # A part of what is for the maintenance window holds nothing up until then, as the whole does not.
    pending = [r for r in waiting if r.kind != Kind.SUBSET or not waits_for_window(unit, database, r)]
    if pending:
        return pending[0]
    quota.verify_room(unit, database.id)
    own = unit.recommendations.outlined(session.id)
    trials_done = sum(trial_record.counts(r) for r in trial_record.since_rebase(session, own))
    context = context_of(unit, database, session)
    if trials_done < session.max_trials and trial_record.exhausted(session, own) is None:
        return _search(unit, context, session, own, by)
    return _last(unit, context, session, own, by)


def go_on(unit: UnitOfWork, database: Database, session: Session) -> None:
    """Compute the recommendations that wait for windows, once there are enough."""
    for row in unit.recommendations.of_kind(session.id, (Kind.SEARCH,), (State.OBSERVING,)):
        context = context_of(unit, database, session)
        if observation_progress.missing(histories.measured(unit, context, session)) == 0:
            own = [r for r in unit.recommendations.outlined(session.id) if r.id != row.id]
            made, request = _question(unit, context, session, own, Kind.SEARCH)
            asked = replace(made.request, created_at=row.request.created_at)
            unit.recommendations.step(row, State.COMPUTING, SERVICE, request=asked)
            unit.requests.add(replace(request, recommendation_id=row.id))


def _search(
    unit: UnitOfWork, context: ServerContext, session: Session, own: Sequence[Recommendation], by: str
) -> Recommendation:
    """Outside a lab, the current settings have to be observed first; a proposal follows."""
    if session.mode == "lab" or observation_progress.missing(histories.measured(unit, context, session)) == 0:
        return _compute(unit, context, session, own, Kind.SEARCH, by)
    made, _ = _question(unit, context, session, own, Kind.SEARCH)
    observing = replace(made, state=State.OBSERVING, request=replace(made.request, key=made.id))
    return unit.recommendations.add(observing, by)


def _last(
    unit: UnitOfWork, context: ServerContext, session: Session, own: Sequence[Recommendation], by: str
) -> Recommendation:
    """After its trials a session in a lab verifies, one reading at a time, before it hands over."""
    if context.mode != "lab" or not session.verification_rounds:
        return _compute(unit, context, session, own, Kind.HANDOVER, by)
    found = verification.of_session(unit, session, own)
    if found is None:
        return _compute(unit, context, session, own, Kind.VERIFICATION, by)
    turn = found.contest.turn()
    if turn is None:
        return _compute(unit, context, session, own, Kind.HANDOVER, by, found)
    return _measure(unit, context, found, turn, by)


def _measure(
    unit: UnitOfWork, context: ServerContext, verification: Verification, name: FinalistName, by: str
) -> Recommendation:
    """Propose to measure this finalist once more. What may move no longer stays where it is."""
    session, origin = verification.session, Origin(ORIGINS[name])
    wanted = verification.contest.by_name[name].configuration
    known = [session.baseline or {}, verification.named.request.before]
    configuration = admitted(unit, context, {n: v for n, v in wanted.items() if n in context.space}, known)
    return propose(
        unit,
        context,
        configuration,
        kind=Kind.VERIFICATION,
        origin=origin,
        session=session,
        parent_id=verification.named.id,
        by=by,
    )


def _compute(
    unit: UnitOfWork,
    context: ServerContext,
    session: Session,
    own: Sequence[Recommendation],
    kind: Kind,
    by: str,
    verified: Verification | None = None,
) -> Recommendation:
    """A row `computing` with everything that the worker needs.

    A verification begins with what would be handed over without one: the model's best.
    """
    recommendation, request = _question(unit, context, session, own, kind, verified)
    unit.recommendations.add(recommendation, by)
    unit.requests.add(request)
    return recommendation


def _question(
    unit: UnitOfWork,
    context: ServerContext,
    session: Session,
    own: Sequence[Recommendation],
    kind: Kind,
    verified: Verification | None = None,
) -> tuple[Recommendation, StoredRequest]:
    """What is asked of a worker, beside `own`: neither of both is stored yet.

    A handover that came to nothing is asked for again over the same history: what came before is part of the key.
    """
    seen, served = histories.history(unit, context, session), serving(unit)
    task = "recommend" if kind == Kind.SEARCH else "handover"
    number, handovers, verifications = (sum(r.kind == k for r in own) + 1 for k in COMPUTED)
    entropy = [session.seed, number if kind == Kind.SEARCH else HANDOVER_ENTROPY]
    payload = _payload(unit, context, session, seen, entropy, served)
    if verified is not None:
        payload["verification"] = {**contest_to_dict(verified.contest), "named": _told_of(verified.named)}
    asked = [session.id, task, entropy, number, handovers, verifications, seen.key]
    asked += [context.server.settings_hash, __version__, served.fingerprint, session.max_changes]
    recommendation = Recommendation(
        id=unit.new_id("rec"),
        database_id=context.database.id,
        session_id=session.id,
        trial=number if kind == Kind.SEARCH else None,
        kind=kind,
        state=State.COMPUTING,
        request=Request(
            key=fingerprint(asked),
            seed=session.seed,
            package_version=__version__,
            before=dict(context.active.restrict(seen.space.names)),
            created_at=unit.now,
            model_version=served.version.id,
        ),
    )
    return recommendation, StoredRequest(recommendation.id, task, payload)


def _told_of(named: Recommendation) -> Document:
    """What the model said of its best, which a handover of that one says again."""
    assert named.proposal is not None
    return {"curve": named.proposal.curve, "shortened_from": named.proposal.shortened_from}


def _payload(
    unit: UnitOfWork,
    context: ServerContext,
    session: Session,
    history: History,
    entropy: Sequence[int],
    served: Serving,
) -> Document:
    return {
        "history": serial.history_to_dict(history, context.server, context.policy),
        "entropy": list(entropy),
        "baseline": dict(context.active.replace(session.baseline or {}).restrict(history.space.names)),
        "safe": context.mode != "lab",
        "max_changes": session.max_changes,
        "exploration": None if context.mode == "lab" else _left_to_explore(unit, session),
        **_past(unit, context, session, history, served),
        **asked_of(served),
    }


def _past(unit: UnitOfWork, context: ServerContext, session: Session, history: History, served: Serving) -> Document:
    """The ids of the workloads that it may lean on and of their models, the likeliest first: what is chosen stays
    chosen. None if the past harms the session."""
    harmed = benefit.harms(unit, session)
    rows = [] if harmed else choose.likeliest(unit, context.database, session.id, history, served.options)
    return {"workloads": [row.id for row in rows], "past": [str(row.snapshot_id) for row in rows]}


def _left_to_explore(unit: UnitOfWork, session: Session) -> int:
    """Trials that may still be made only to learn."""
    own = unit.recommendations.outlined(session.id)
    done = sum(r.origin == Origin.EXPLORATION and r.decision is not None for r in own)
    return max(session.exploration - done, 0)


def manual(
    unit: UnitOfWork, database: Database, settings: Mapping[str, Any], session: Session | None, by: str
) -> Recommendation:
    """An operator's own settings merged with the current ones: the same checks, and a prediction if there is one."""
    context = context_of(unit, database, session)
    configuration = admitted(unit, context, context.parse(settings))
    return propose(unit, context, configuration, kind=Kind.MANUAL, origin=Origin.MANUAL, session=session, by=by)

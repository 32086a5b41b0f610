"""Asking for a recommendation: the next of a session (computed elsewhere), or an operator's own configuration."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from lutra_models import __version__, serial
from lutra_models.errors import SessionClosed
from lutra_models.gp.options import DEFAULT as OPTIONS
from lutra_models.knobs import fingerprint
from lutra_models.lifecycle import Origin, SessionState
from lutra_models.lifecycle import RecommendationKind as Kind
from lutra_models.lifecycle import RecommendationState as State

from lutra_service.app.access import audit, quota
from lutra_service.app.databases.current_server import context_of
from lutra_service.app.databases.server_context import ServerContext
from lutra_service.app.recommendations import histories, trial_record
from lutra_service.app.recommendations.admission import admitted
from lutra_service.app.recommendations.proposal import propose
from lutra_service.db.schema.records import Database, Recommendation, Request, Session
from lutra_service.db.store import UnitOfWork

WAITING = (State.COMPUTING, State.PROPOSED, State.APPROVED, State.APPLIED)
HANDOVER_ENTROPY = 2**32
PAST_WORKLOADS = 5
"""Earlier sessions of the same engine, the latest first, whose models a recommendation may lean on."""


def ask(unit: UnitOfWork, database: Database, session: Session | None) -> tuple[Recommendation, bool]:
    """The session's pending recommendation, else a new one that is now being computed; and whether it is new.

    Raises SessionClosed without a running session, and NotEnoughObservations before the agent's first report.
    """
    if session is None:
        raise SessionClosed(f"{database.id} has no open session: POST /v1/databases/{database.id}/sessions opens one")
    if session.state != SessionState.RUNNING:
        why = f" ({session.message})" if session.message else ""
        raise SessionClosed(f"{session.id} is {session.state}{why}: POST /v1/sessions/{session.id}/resume goes on")
    pending = unit.recommendations.of_kind(session.id, (Kind.SEARCH, Kind.HANDOVER), WAITING)
    if pending:
        return pending[0], False
    quota.verify_room(unit, database.id)
    own = unit.recommendations.outlined(session.id)
    trials_done = sum(trial_record.counts(r) for r in trial_record.since_rebase(session, own))
    return _compute(unit, context_of(unit, database, session), session, own, trials_done >= session.max_trials), True


def ask_for(unit: UnitOfWork, database: Database, session: Session | None, by: str) -> Recommendation:
    """The same, asked by somebody."""
    recommendation, new = ask(unit, database, session)
    if new:
        audit.decision(unit, "ask", recommendation, by)
    return recommendation


def _compute(
    unit: UnitOfWork, at: ServerContext, session: Session, own: Sequence[Recommendation], over: bool
) -> Recommendation:
    """A row `computing` with everything that the worker needs; whoever computes it finds it by its state.

    A handover that came to nothing is asked for again over the same history: what came before is part of the key.
    """
    seen = histories.history(unit, at, session)
    task = "handover" if over else "recommend"
    number, handovers = (sum(r.kind == kind for r in own) + 1 for kind in (Kind.SEARCH, Kind.HANDOVER))
    entropy = [session.seed, HANDOVER_ENTROPY if over else number]
    payload = {
        "history": serial.history_to_dict(seen, at.server, at.policy),
        "entropy": entropy,
        "baseline": {**at.active.restrict(seen.space.names), **(session.baseline or {})},
        "safe": at.mode != "lab",
        "max_changes": session.max_changes,
        "past": unit.snapshots.of_others(session.id, at.database, PAST_WORKLOADS),
        "options": OPTIONS.to_dict(),
    }
    asked = [session.id, task, entropy, number, handovers, seen.key, at.server.settings_hash, __version__]
    asked += [OPTIONS.fingerprint, session.max_changes]
    recommendation = Recommendation(
        id=unit.new_id("rec"),
        database_id=at.database.id,
        session_id=session.id,
        trial=None if over else number,
        kind=Kind.HANDOVER if over else Kind.SEARCH,
        state=State.COMPUTING,
        key=fingerprint(asked),
        seed=session.seed,
        package_version=__version__,
        before=dict(at.active.restrict(seen.space.names)),
        created_at=unit.now,
    )
    unit.recommendations.add(recommendation)
    unit.requests.add(Request(recommendation.id, task, payload))
    unit.publish(recommendation.id, session.id, at.database.id)
    return recommendation


def manual(
    unit: UnitOfWork, database: Database, settings: Mapping[str, Any], session: Session | None, by: str
) -> Recommendation:
    """An operator's own settings merged with the current ones: the same checks, and a prediction where there is one."""
    at = context_of(unit, database, session)
    configuration = admitted(unit, at, at.parse(settings))
    made = propose(unit, at, configuration, kind=Kind.MANUAL, origin=Origin.MANUAL, session=session)
    audit.decision(unit, "ask", made, by)
    return made

"""Asking for a recommendation: the next of a session (computed elsewhere), or an operator's own configuration."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from lutra_models import __version__, serial
from lutra_models.advice import Prediction
from lutra_models.errors import InvalidConfiguration, SessionClosed
from lutra_models.gp.options import DEFAULT as OPTIONS
from lutra_models.knobs import Configuration, fingerprint

from lutra_service.app import audit, details, histories, known, plain, quota
from lutra_service.app.live import Live, live
from lutra_service.app.predictions import predict
from lutra_service.db.records import Database, Recommendation, Request, Session
from lutra_service.db.store import Unit

WAITING = ("computing", "proposed", "approved", "applied")
HANDOVER_ENTROPY = 2**32
PAST_WORKLOADS = 5
"""Earlier sessions of the same engine, the latest first, whose models a recommendation may lean on."""


def ask(unit: Unit, database: Database, session: Session | None) -> tuple[Recommendation, bool]:
    """The session's pending recommendation, else a new one that is now being computed; and whether it is new.

    Raises SessionClosed without a running session, and NotEnoughObservations before the agent's first report.
    """
    if session is None:
        raise SessionClosed(f"{database.id} has no open session: POST /v1/databases/{database.id}/sessions opens one")
    if session.state != "running":
        why = f" ({session.message})" if session.message else ""
        raise SessionClosed(f"{session.id} is {session.state}{why}: POST /v1/sessions/{session.id}/resume goes on")
    pending = unit.recommendations.of_kind(session.id, ("search", "handover"), WAITING)
    if pending:
        return pending[0], False
    quota.verify_room(unit, database.id)
    own = unit.recommendations.outlined(session.id)
    trials_done = sum(known.counts(r) for r in known.since_rebase(session, own))
    return _compute(unit, live(unit, database, session), session, own, trials_done >= session.max_trials), True


def ask_for(unit: Unit, database: Database, session: Session | None, by: str) -> Recommendation:
    """The same, asked by somebody."""
    recommendation, new = ask(unit, database, session)
    if new:
        audit.decision(unit, "ask", recommendation, by)
    return recommendation


def _compute(unit: Unit, at: Live, session: Session, own: Sequence[Recommendation], over: bool) -> Recommendation:
    """A row `computing` with everything that the worker needs; whoever computes it finds it by its state.

    A handover that came to nothing is asked for again over the same history: what came before is part of the key.
    """
    seen = histories.history(unit, at, session)
    task = "handover" if over else "recommend"
    number, handovers = (sum(r.kind == kind for r in own) + 1 for kind in ("search", "handover"))
    entropy = [session.seed, HANDOVER_ENTROPY if over else number]
    payload = {
        "history": serial.history_to_dict(seen, at.server, at.policy),
        "entropy": entropy,
        "baseline": {**at.active.restrict(seen.space.names), **(session.baseline or {})},
        "safe": at.mode != "lab",
        "past": unit.snapshots.of_others(session.id, at.database, PAST_WORKLOADS),
        "options": OPTIONS.to_dict(),
    }
    asked = [session.id, task, entropy, number, handovers, seen.key, at.server.settings_hash, __version__]
    asked.append(OPTIONS.fingerprint)
    recommendation = Recommendation(
        id=unit.new_id("rec"),
        database_id=at.database.id,
        session_id=session.id,
        trial=None if over else number,
        kind="handover" if over else "search",
        state="computing",
        key=fingerprint(asked),
        seed=session.seed,
        package_version=__version__,
        before=dict(at.active.restrict(seen.space.names)),
        created_at=unit.now,
    )
    unit.recommendations.add(recommendation)
    unit.requests.add(Request(recommendation.id, task, payload))
    unit.announce(recommendation.id, session.id, at.database.id)
    return recommendation


def manual(
    unit: Unit, database: Database, settings: Mapping[str, Any], session: Session | None, by: str
) -> Recommendation:
    """An operator's own settings laid over the current ones: the same checks, and a prediction where there is one."""
    at = live(unit, database, session)
    configuration = checked(unit, at, at.parse(settings))
    made = propose(unit, at, configuration, kind="manual", origin="manual", session=session)
    audit.decision(unit, "ask", made, by)
    return made


def checked(unit: Unit, at: Live, settings: Mapping[str, Any]) -> Configuration:
    """`settings` over the current ones, complete for what may move. Raises InvalidConfiguration.

    What is active, and what was measured on this database before, is always allowed: going back is never refused.
    """
    space = at.space_with(settings)
    unknown = [n for n in settings if n not in space]
    if unknown:
        raise InvalidConfiguration("; ".join(f"{n} may not move: {_why_not(at, n)}" for n in unknown))
    wanted = at.active.restrict(space.names).replace(settings)
    if wanted == at.active.restrict(space.names) or known.measured_before(unit, at.database.id, wanted):
        return space.normalise(wanted)
    refusal = details.memory_refusal(at, wanted)
    if refusal is not None:
        raise known.refused(refusal)
    outside = {n: v for n, v in settings.items() if v != at.active[n]}
    for name, value in outside.items():
        if value not in space[name].domain:
            raise InvalidConfiguration(f"{name}: {value} is outside {space[name].domain}")
    normal = space.normalise(wanted)
    rule = space.refusal(normal)
    if rule is not None:
        raise known.refused(rule)
    return normal


def _why_not(at: Live, name: str) -> str:
    setting = at.server.settings[name]
    if name in at.policy.pins:
        return f"the policy pins it to {at.policy.pins[name]}"
    if setting.shadowed:
        return f"{setting.shadowed} outranks what the agent could write"
    if setting.applies == "restart" and not at.policy.restart:
        if at.mode == "restart_in_window" and not at.windows:
            return "it needs a restart, and no maintenance window is set: PUT …/maintenance-windows sets them"
        return f"it needs a restart, which the policy or mode {at.mode} does not allow"
    return f"this server, or its policy, leaves it at {at.catalog.text(name, at.active[name], setting.unit)}"


def propose(
    unit: Unit,
    at: Live,
    configuration: Configuration,
    *,
    kind: str,
    origin: str,
    session: Session | None = None,
    parent_id: str | None = None,
    trial: int | None = None,
    state: str = "proposed",
    decided_by: str | None = None,
) -> Recommendation:
    """Store a recommendation that needs no computing."""
    id_ = unit.new_id("rec")
    predictions: dict[str, Prediction] = predict(unit, at, configuration)
    return unit.recommendations.add(
        Recommendation(
            id=id_,
            database_id=at.database.id,
            session_id=session.id if session else None,
            parent_id=parent_id,
            trial=trial,
            kind=kind,
            origin=origin,
            state=state,
            key=id_,
            seed=0,
            package_version=__version__,
            predictions=plain.predictions_to_dict(predictions),
            reasons=[],
            created_at=unit.now,
            proposed_at=unit.now,
            decided_at=unit.now if decided_by else None,
            decided_by=decided_by,
            **details.change_details(at, configuration),
        )
    )

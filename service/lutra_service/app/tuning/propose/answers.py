"""The result of an answer: a proposal (on a live database also one for the maintenance window), or nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from lutra_models.errors import DecisionCode, Failure, Party
from lutra_models.knobs import Configuration
from lutra_models.lifecycle import Origin
from lutra_models.lifecycle import RecommendationKind as Kind
from lutra_models.lifecycle import RecommendationState as State

from lutra_service.app.databases.current_server import ServerContext
from lutra_service.app.tuning.admit import change_set
from lutra_service.app.tuning.observe import settling
from lutra_service.app.tuning.propose.proposal import propose
from lutra_service.app.workloads import lessons
from lutra_service.common.actor import SERVICE
from lutra_service.common.documents import Document
from lutra_service.db.schema.recommendation import Parts, Proposal, Recommendation
from lutra_service.db.schema.records import Session, Snapshot
from lutra_service.db.store import UnitOfWork

SHOWN = 5
"""The maximum number of settings that the sentence names."""


def take(
    unit: UnitOfWork,
    row: Recommendation,
    session: Session | None,
    context: ServerContext,
    configuration: Configuration,
    result: Mapping[str, Any],
) -> None:
    """Store what a worker answered for `row`: `configuration`, admitted, and the rest of `result`."""
    may_end_early = session is not None and session.mode == "lab" and session.aim is None
    proposal = Proposal(
        configuration=dict(configuration),
        origin=Origin(result["origin"]),
        reasons=result["reasons"],
        predictions=result["predictions"],
        curve=result.get("curve") or [],
        shortened_from=result.get("shortened_from"),
        must_reach=result.get("must_reach") if may_end_early else None,
        looked_at=result.get("looked_at"),
        leaned=_leaned(unit, row, result.get("leaned")),
        proposed_at=unit.now,
    )
    if result.get("snapshot"):
        kept = _keep_snapshot(unit, row, result)
        if session is not None:
            _remember(unit, row, session, context, result["lesson"], kept)
    if session is not None and proposal.origin == Origin.NOTHING:
        _nothing(unit, row, context, proposal)
    elif session is not None and row.kind == Kind.SEARCH and context.mode == "restart_in_window":
        _in_parts(unit, row, session, context, configuration, proposal)
    else:
        _proposed(unit, row, context, configuration, proposal)


def _leaned(unit: UnitOfWork, row: Recommendation, answer: Document | None) -> Document | None:
    """With the workloads' ids in place of their places in the request."""
    if answer is None:
        return None
    ids = unit.requests.get(row.id).payload["workloads"]
    on = [{"workload": ids[each["place"]], "weight": each["weight"]} for each in answer["on"]]
    return {**answer, "on": sorted(on, key=lambda each: -each["weight"])}


def _proposed(
    unit: UnitOfWork, row: Recommendation, context: ServerContext, configuration: Configuration, proposal: Proposal
) -> None:
    unit.recommendations.step(row, State.PROPOSED, SERVICE, **_answered(row, context, configuration, proposal))


def _nothing(unit: UnitOfWork, row: Recommendation, context: ServerContext, proposal: Proposal) -> None:
    """Nobody is asked for approval."""
    answered = _answered(row, context, context.active.restrict(context.space.names), proposal)
    unit.recommendations.step(row, State.UNNEEDED, SERVICE, **answered)


def _answered(row: Recommendation, context: ServerContext, configuration: Configuration, proposal: Proposal) -> Parts:
    return {
        "request": change_set.asked_now(context, configuration, row.request),
        "proposal": change_set.proposed(context, configuration, proposal),
    }


def _in_parts(
    unit: UnitOfWork,
    row: Recommendation,
    session: Session,
    context: ServerContext,
    configuration: Configuration,
    whole: Proposal,
) -> None:
    """What needs a restart is one proposal by itself, for the maintenance window; the rest needs not wait for it."""
    changes = context.live.changes(configuration)
    restart = {c.name: c.after for c in changes if c.applies == "restart"}
    if not restart:
        return _proposed(unit, row, context, configuration, whole)
    rest = configuration.replace({c.name: c.before for c in changes if c.name in restart})
    waiting = settling.for_window(unit.recommendations.of_kind(session.id, (Kind.MAINTENANCE,)))
    gathered = _gathered(context, waiting, restart)
    known = next((r for r in waiting if r.configuration == gathered), None)
    parts = _told_apart(whole, restart)
    if rest != context.active.restrict(rest):
        _proposed(unit, row, context, rest, parts[0])
        return None if known is not None else _gather(unit, context, session, row.id, waiting, gathered, parts[1])
    if known is not None:
        return _nothing(unit, row, context, whole)
    for_window = Configuration(gathered)
    answered = _answered(row, context, for_window, parts[1])
    answered |= {"kind": Kind.MAINTENANCE, "trial": None, "request": replace(answered["request"], key=row.id)}
    unit.recommendations.step(row, State.PROPOSED, SERVICE, **answered)
    return _end(unit, waiting, row.id)


def _gather(
    unit: UnitOfWork,
    context: ServerContext,
    session: Session,
    parent_id: str,
    waiting: list[Recommendation],
    gathered: Document,
    told: Proposal,
) -> None:
    made = propose(
        unit,
        context,
        Configuration(gathered),
        kind=Kind.MAINTENANCE,
        origin=told.origin,
        session=session,
        parent_id=parent_id,
    )
    assert made.proposal is not None
    proposal = replace(made.proposal, reasons=told.reasons, looked_at=told.looked_at)
    unit.recommendations.change(made.id, proposal=proposal)
    _end(unit, waiting, made.id)


def _end(unit: UnitOfWork, waiting: list[Recommendation], into: str) -> None:
    """One proposal holds what needs a restart: what was only proposed before is in it."""
    failure = Failure(DecisionCode.GATHERED, f"gathered into {into}", Party.SERVICE)
    for row in waiting:
        if row.state == State.PROPOSED:
            unit.recommendations.step(row, State.EXPIRED, SERVICE, failure=failure)


def _gathered(context: ServerContext, waiting: list[Recommendation], restart: Mapping[str, Any]) -> Document:
    """With what earlier proposals want besides, and is not active yet."""
    earlier = {c["setting"]: c["after"] for r in waiting if r.state == State.PROPOSED for c in r.changes}
    wanted = {**earlier, **restart}
    return {n: v for n, v in wanted.items() if n in context.active and context.active[n] != v}


def _told_apart(whole: Proposal, restart: Mapping[str, Any]) -> tuple[Proposal, Proposal]:
    """What is told of the rest, and of the restart part. What was predicted is of both together."""
    rest = [r for r in whole.reasons if r["setting"] not in restart]
    part = [r for r in whole.reasons if r["setting"] in restart]
    leaned = whole.leaned and {**whole.leaned, "predictions": {}}
    alone = replace(whole, predictions={}, curve=[], shortened_from=None, leaned=leaned)
    return replace(alone if part and rest else whole, reasons=rest), replace(alone if rest else whole, reasons=part)


def _remember(
    unit: UnitOfWork, row: Recommendation, session: Session, context: ServerContext, lesson: Document, snapshot_id: str
) -> None:
    """What the session taught so far; at its end, as one with what an earlier session taught already."""
    workload = lessons.of_session(unit, session, context.database, lesson, snapshot_id)
    if row.kind == Kind.HANDOVER:
        lessons.merge(unit, workload, context.database.id)


def _keep_snapshot(unit: UnitOfWork, recommendation: Recommendation, result: Mapping[str, Any]) -> str:
    snapshot = Snapshot(
        id=unit.new_id("snap"),
        database_id=recommendation.database_id,
        session_id=recommendation.session_id,
        key=recommendation.request.key,
        observations=result["observations"],
        payload=result["snapshot"],
        created_at=unit.now,
    )
    return unit.snapshots.add(snapshot).id


def leans_on(unit: UnitOfWork, row: Recommendation) -> Document | None:
    """None if it uses none. For another database's workload only the id is shown, without its name."""
    if row.proposal is None or row.proposal.leaned is None:
        return None
    leaned, chosen = row.proposal.leaned, row.proposal.configuration
    found = unit.workloads.some([each["workload"] for each in leaned["on"]])
    names = {id_: w.name for id_, w in found.items() if w.database_id in (None, row.database_id)}
    workloads = [{**each, "name": names.get(each["workload"])} for each in leaned["on"]]
    without = leaned["configuration"]
    differs = [name for name, value in without.items() if name in chosen and chosen[name] != value]
    return {
        "workloads": workloads,
        "without": without,
        "differs": differs,
        "predictions": leaned["predictions"],
        "sentence": _sentence(workloads, without, differs),
    }


def _sentence(workloads: list[Document], without: Document, differs: list[str]) -> str:
    named = ", ".join(f"{each['name'] or each['workload']} (weight {each['weight']:.2f})" for each in workloads)
    told = f"It uses {'a past workload' if len(workloads) == 1 else 'past workloads'}: {named}."
    if not differs:
        return f"{told} Without them, it would propose the same."
    values = ", ".join(f"{name} = {without[name]}" for name in differs[:SHOWN])
    more = f" and {len(differs) - SHOWN} more" if len(differs) > SHOWN else ""
    return f"{told} Without them, it would propose {values}{more}."

"""Advances a session from trial to trial, until it hands over the best configuration."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from lutra_models.errors import ApplyCode, DecisionCode, Failure, LutraError, NotEnoughObservations, Party
from lutra_models.identity import identity
from lutra_models.lifecycle import RecommendationKind as Kind
from lutra_models.lifecycle import RecommendationState as State
from lutra_models.lifecycle import SessionState
from lutra_models.verification import verdict

from lutra_service.app.databases import current_server
from lutra_service.app.databases.current_server import context_of, effective_mode
from lutra_service.app.tuning.decide import decisions
from lutra_service.app.tuning.deliver import withdrawal
from lutra_service.app.tuning.deliver.directives import waits_for_window
from lutra_service.app.tuning.observe import settling, verdicts
from lutra_service.app.tuning.propose import request
from lutra_service.app.tuning.record import trial_record, verification
from lutra_service.app.tuning.session.known_metrics import missing_load
from lutra_service.app.tuning.steps.facts import NextStep
from lutra_service.app.tuning.steps.session_steps import pause, wake
from lutra_service.common.actor import AUTOMATIC, SERVICE
from lutra_service.db.schema.recommendation import Recommendation
from lutra_service.db.schema.records import Database, Session
from lutra_service.db.store import UnitOfWork

LONGEST = 1000


COUNTS = ("clients", "threads")
"""Keys of a driver's context with the number of clients; the first one present counts."""
OF_LOADS = "p99_of."
"""The prefix of each load's names in a window's context."""

log = logging.getLogger(__name__)

FRUITLESS_LIMIT = 5
MEASURED = (Kind.SEARCH, Kind.VERIFICATION)


def advance(unit: UnitOfWork, step: NextStep) -> None:
    """Take the next step of the database's running session, if there is one. Safe to call at any time."""
    database, session = unit.databases.get(step.database_id), unit.sessions.open_one(step.database_id)
    if session is None or session.state not in (SessionState.RUNNING, SessionState.SETTLED):
        return
    changed = current_server.identity_change(session, database)
    if changed is not None:
        withdraw_open(unit, session, SERVICE, Failure(ApplyCode.SERVER_CHANGED, changed, Party.SERVICE))
        pause(unit, session, f"server_changed: {changed}; POST /v1/sessions/{session.id}/resume starts over on it")
        return
    if session.state == SessionState.SETTLED:
        session = _looked_again(unit, database, session)
    if session.state != SessionState.RUNNING:
        return
    if (missing := missing_load(database, session.aim)) is not None:
        pause(unit, session, missing)
        return
    try:
        session = _with_baseline(unit, database, session)
    except LutraError as error:  # a policy that contradicts the server must not cost the report that shows it
        pause(unit, session, f"{error.code}: {error}")
        return
    handovers = trial_record.since_rebase(session, unit.recommendations.of_kind(session.id, (Kind.HANDOVER,)))
    ended = _handed_over(handovers)
    if ended is not None:
        failed = trial_record.failure(ended)
        result = _verified(unit, session) if failed is None else f"{ended.id} is {ended.state}: {failed}"
        under = loads_sentence(unit, ended) if failed is None else None
        if ended.state == State.CONFIRMED:  # it is active: what was asked for in its place is not needed
            why = f"{ended.id} is the session's final configuration"
            withdraw_open(unit, session, SERVICE, Failure(DecisionCode.WITHDRAWN, why, Party.SERVICE))
        values = {"ended_at": unit.now, "measured_under": under}
        unit.sessions.step(session, SessionState.COMPLETED, SERVICE, result, **values)
    elif session.approval == AUTOMATIC and session.baseline is not None:
        _next(unit, database, session)
    elif effective_mode(database, session) != "lab":
        _without_asking(unit, database, session)


def _looked_again(unit: UnitOfWork, database: Database, session: Session) -> Session:
    """A settled session asks again by itself where its load, its settings or its symptoms are others, and where its
    last change turns out to be a loss.
    """
    try:
        lost = verdicts.unanswered_loss(unit, database, session)
        if not lost and not settling.has_changed(unit, session, context_of(unit, database, session)):
            return session
        session = wake(unit, session)
        request.ask(unit, database, _with_baseline(unit, database, session))
    except LutraError as error:
        log.warning("%s cannot re-evaluate: %s", session.id, error)
        if session.state == SessionState.RUNNING:
            pause(unit, session, f"{error.code}: {error}")
    return unit.sessions.get(session.id)


def _without_asking(unit: UnitOfWork, database: Database, session: Session) -> None:
    """What needs no operator: to propose once enough was observed, or where a change turns out to be a loss, and to
    measure again what is active already.
    """
    try:
        request.go_on(unit, database, session)
        if verdicts.unanswered_loss(unit, database, session):
            request.ask(unit, database, session)
        if _busy(unit, database):
            return
        proposed = unit.recommendations.of_kind(session.id, request.COMPUTED, (State.PROPOSED,))
        row = next((r for r in proposed if not r.changes), None)
        if row is not None:
            decisions.approve(unit, row.id, AUTOMATIC)
    except LutraError as error:
        pause(unit, session, f"{error.code}: {error}")


def _busy(unit: UnitOfWork, database: Database) -> bool:
    """Whether a change is carried out or measured: what waits for its maintenance window is in nothing's way."""
    return any(not waits_for_window(unit, database, r) for r in decisions.under_way(unit, database.id))


def _approve_for_window(unit: UnitOfWork, database: Database, session: Session) -> None:
    """What needs a restart, once nothing is in its way: it waits for the maintenance window by itself."""
    for row in unit.recommendations.of_kind(session.id, (Kind.MAINTENANCE,), (State.PROPOSED,)):
        if not decisions.under_way(unit, database.id):
            decisions.approve(unit, row.id, AUTOMATIC)


def _next(unit: UnitOfWork, database: Database, session: Session) -> None:
    if session.opened_by_agent and database.agent.mode != "lab":
        pause(
            unit, session, f"its agent opened it, but now reports mode {database.agent.mode}: no operator approved this"
        )
        return
    fruitless = _fruitless(unit, session)
    if fruitless is not None:
        pause(unit, session, fruitless)
        return
    try:
        request.go_on(unit, database, session)
        recommendation = request.ask(unit, database, session)
        if recommendation.state == State.PROPOSED and not _busy(unit, database):
            decisions.approve(unit, recommendation.id, AUTOMATIC)
        _approve_for_window(unit, database, session)
    except LutraError as error:
        pause(unit, session, f"{error.code}: {error}")


def withdraw_open(unit: UnitOfWork, session: Session, by: str, failure: Failure) -> None:
    """End recommendations that are not yet applied."""
    for row in unit.recommendations.outlined(session.id):
        if row.state in withdrawal.OPEN:
            withdrawal.withdraw(unit, unit.recommendations.get(row.id), by, failure)


def _with_baseline(unit: UnitOfWork, database: Database, session: Session) -> Session:
    """Outside a lab it is every setting: evidence may ask for one that is not searched."""
    if session.baseline is not None:
        return session
    try:
        context = context_of(unit, database, session)
    except NotEnoughObservations:
        return session
    began = context.active.restrict(context.space.names) if session.mode == "lab" else context.active
    baseline, server = dict(began), identity(context.server)
    unit.sessions.change(session.id, baseline=baseline, identity=server)
    return replace(session, baseline=baseline, identity=server)


def _handed_over(rows: list[Recommendation]) -> Recommendation | None:
    """The newest that has ended: an agent may tell late what it did of one that had expired."""
    ended = (State.CONFIRMED, State.REVERTED, State.REJECTED, State.REFUSED, State.FAILED)
    return next((r for r in reversed(rows) if r.state in ended and r.proposal is not None), None)


def _verified(unit: UnitOfWork, session: Session) -> str:
    """What its verification found, where it had one, and what closed its space before its last trial."""
    rows = unit.recommendations.outlined(session.id)
    found, closed = verification.of_session(unit, session, rows), trial_record.exhausted(session, rows)
    result = verdict(found.contest) if found is not None else None
    return "; ".join(part for part in (result.sentence if result is not None else "", closed or "") if part)


def _fruitless(unit: UnitOfWork, session: Session) -> str | None:
    """Why going on is of no use: the last trials since it was resumed all ended without a reading of the objective."""
    since = session.resumed_at or session.created_at
    made_since = session.rebased_at or session.created_at
    last = unit.recommendations.last_ended(session.id, MEASURED, since, made_since, FRUITLESS_LIMIT)
    metric = session.judged.metric
    read = [r for r in last if r.measurement is not None and r.measurement.is_about(metric)]
    if len(last) < FRUITLESS_LIMIT or read:
        return None
    why = trial_record.failure(last[-1]) or f"{metric} was not measured"
    return f"the last {FRUITLESS_LIMIT} trials had no reading of {metric}; the last one: {why}"


def loads_sentence(unit: UnitOfWork, handed_over: Recommendation) -> str | None:
    """Of every window that any recommendation of these very settings got on this database; None without a driver."""
    ids = unit.recommendations.measured_alike(handed_over.database_id, handed_over.configuration)
    reports = [report for id_ in ids for report in unit.reports.of_recommendation(id_)]
    loads = [report.context for report in reports if report.window_end is not None and report.context]
    if not loads:
        return None
    counted = any(name.partition(".")[0] in COUNTS for context in loads for name in context)
    others = "at other numbers of clients" if counted else "under other loads"
    told = ", and ".join(dict.fromkeys(map(_load, loads)))
    return f"measured {told}; it was not measured {others}"[:LONGEST]


def _load(context: Mapping[str, Any]) -> str:
    """As in `at 16 clients of tpcb-like`, or `under few (at 16 clients) and many (at 64 clients)`."""
    names = [key.removeprefix(OF_LOADS) for key in context if key.startswith(OF_LOADS)]
    if not names:
        return _clients(context)
    parts = {x: {k.removesuffix(f".{x}"): v for k, v in context.items() if k.endswith(f".{x}")} for x in names}
    return f"under {' and '.join(f'{x} ({_clients(part)})' for x, part in parts.items())}"


def _clients(context: Mapping[str, Any]) -> str:
    count = next((context[name] for name in COUNTS if name in context), None)
    work = context.get("script", context.get("command"))
    if count is None:
        return f"under the load of {work or context.get('driver', 'its driver')}"
    rate = context.get("rate")
    shown = f"{rate:g}" if isinstance(rate, int | float) else rate
    return f"at {count} clients{f' of {work}' if work else ''}{f', {shown} per second' if rate else ''}"

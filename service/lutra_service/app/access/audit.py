"""The audit trail: actions with their actors and objects, stored in the transaction of the action.

An event on a database's server is counted and logged with its entry, in one place.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any, Literal

from lutra_models.errors import Party, printable
from lutra_models.lifecycle import RecommendationState as State

from lutra_service.common.actor import AUTOMATIC, SERVICE, Actor, current_actor
from lutra_service.common.documents import Document
from lutra_service.db.schema.judged import Look
from lutra_service.db.schema.notices import NoticeKind
from lutra_service.db.schema.recommendation import Recommendation
from lutra_service.db.schema.records import AuditEntry
from lutra_service.db.schema.transitions import Transition
from lutra_service.db.store import UnitOfWork

log = logging.getLogger(__name__)

Action = Literal[
    "database.register",
    "database.policy",
    "database.label",
    "database.retire",
    "database.unretire",
    "database.delete",
    "guardrails.set",
    "windows.set",
    "session.open",
    "session.pause",
    "session.resume",
    "session.stop",
    "session.settle",
    "session.undone",
    "recommendation.ask",
    "recommendation.approve",
    "recommendation.reject",
    "recommendation.rollback",
    "recommendation.expire",
    "recommendation.apply",
    "recommendation.confirm",
    "recommendation.revert",
    "recommendation.refuse",
    "recommendation.fail",
    "recommendation.gain_lost",
    "symptom.accept",
    "symptom.withdraw",
    "guard.fire",
    "host.rollback",
    "settings.drift",
    "agent.silent",
    "agent.back",
    "receiver.create",
    "receiver.change",
    "receiver.delete",
    "receiver.disable",
    "receiver.test",
    "token.create",
    "token.rotate",
    "token.revoke",
    "enrolment.create",
    "enrolment.use",
    "model.register",
    "model.score",
    "model.shadow",
    "model.promote",
    "model.rollback",
    "model.retire",
    "workload.import",
    "tool.call",
    "tool.refuse",
]
"""Every kind of entry. An event has the name of its verb, for every actor."""
KEPT = timedelta(days=400)
LONGEST_TEXT = 1000
LARGEST_DOCUMENT = 16_000
"""The maximum length of a state's details as JSON. Of larger details only the names of their parts are stored."""


ACTIONS: Mapping[State, Action] = {
    State.APPLIED: "recommendation.apply",
    State.CONFIRMED: "recommendation.confirm",
    State.REVERTED: "recommendation.revert",
    State.REFUSED: "recommendation.refuse",
    State.FAILED: "recommendation.fail",
}
NOTICED: Mapping[str, NoticeKind] = {
    "recommendation.apply": "applied",
    "recommendation.confirm": "confirmed",
    "recommendation.revert": "reverted",
    "recommendation.refuse": "not_applied",
    "recommendation.fail": "not_applied",
    "recommendation.gain_lost": "gain_lost",
    "session.pause": "session_paused",
    "session.stop": "session_ended",
    "session.undone": "session_ended",
    "guard.fire": "guard",
    "host.rollback": "drift",
    "settings.drift": "drift",
    "agent.silent": "agent_silent",
    "agent.back": "agent_back",
}
"""The actions of which receivers are notified, each with its kind of notice. Their state has `changes` by setting, as
`moved` gives them, and `why` or `message` as a sentence.
"""
BY_HAND = "somebody at the server"
ON_HOST = "an operator on the host"


def record(
    unit: UnitOfWork,
    action: Action,
    target: str,
    before: Mapping[str, Any] | None,
    after: Mapping[str, Any] | None,
    *,
    database_id: str | None,
    by: str | None = None,
) -> None:
    """`by` is the actor, if it is not the bearer of the request: the service, an agent, its guard.

    Receivers are notified of an action of NOTICED before the commit, by `app.tuning.consequences`.
    """
    actor = current_actor.get()
    who = actor if by is None else Actor(None, by, "", actor.request_id)
    entry = unit.audit.add(
        AuditEntry(
            id=unit.new_id("aud"),
            at=unit.now,
            database_id=database_id,
            action=action,
            target=target,
            token_id=who.token_id,
            token_name=who.token_name[:200],
            address=who.address[:64],
            request_id=who.request_id[:64],
            before=_bounded(before),
            after=_bounded(after),
        )
    )
    if action in NOTICED:
        unit.record(entry)


def decision(unit: UnitOfWork, action: Action, row: Recommendation, to: State, by: str, **told: Any) -> None:
    """What was decided of a recommendation, by a token or by the service; `row` as it was before."""
    record(
        unit,
        action,
        row.id,
        {"state": row.state},
        {"state": to, "by": by, "changes": moved(unit.recommendations.get(row.id)), **told},
        database_id=row.database_id,
        by=SERVICE if by not in (current_actor.get().token_id, None) else None,
    )


def named(unit: UnitOfWork, by: str | None) -> str:
    """The name of the token that decided, or of another party."""
    token = None if by is None else unit.tokens.find(by)
    return by or SERVICE if token is None else token.name


def party(by: str | None) -> Party:
    """The kind of the party that decided: the service, by itself or for a session, or an operator."""
    return Party.SERVICE if by in (None, SERVICE, AUTOMATIC) else Party.OPERATOR


def moved(row: Recommendation, back: bool = False) -> dict[str, list[str]]:
    """By setting its value before and after, as people write them; the other way `back`, where it is undone."""
    ends = ("after_text", "before_text") if back else ("before_text", "after_text")
    return {c["setting"]: [c[end] for end in ends] for c in row.changes}


def in_words(moves: Mapping[str, Sequence[str]]) -> str:
    """As in "one 4MB → 24MB, another on → off"."""
    return ", ".join(f"{name} {before} → {after}" for name, (before, after) in moves.items())


def agent(name: str) -> str:
    """An agent as the actor."""
    return f"agent {name}"


def guard(name: str) -> str:
    return f"guard {name}"


def happened(unit: UnitOfWork, made: Transition) -> None:
    """The outcome of a change on its server. A recommendation that changes no setting is not recorded."""
    row, to, by, why = made.row, made.to, made.by, made.why
    moves = moved(row, back=to == State.REVERTED)
    if not moves:
        return
    told = {"state": to, "changes": moves, **({"why": why} if why else {})}
    record(unit, ACTIONS[to], row.id, {"state": made.was}, told, database_id=row.database_id, by=by)
    words = f"{row.id}: {to} by {by}: {in_words(moves)}" + (f": {why}" if why else "")
    _log(unit, row.database_id, words, to not in (State.APPLIED, State.CONFIRMED), recommendation=row.id, changes=moves)
    unit.databases.count(row.database_id, to)


def gain_lost(unit: UnitOfWork, row: Recommendation, look: Look) -> None:
    """A reported gain no longer holds, by this look at it."""
    judged = row.judgement
    told = None if judged is None else {"ratio": judged.found.ratio, "sentence": judged.sentence}
    left = {"hours": look.hours, "held": look.held, "since": look.since, "sentence": look.sentence}
    record(unit, "recommendation.gain_lost", row.id, told, left, database_id=row.database_id, by=SERVICE)
    _log(unit, row.database_id, f"{row.id}: its gain {look.sentence}", warn=True, recommendation=row.id)


def guard_fired(
    unit: UnitOfWork, database_id: str, event: str, name: str, told: Document, undone: Recommendation | None
) -> None:
    """A guard fired; `undone` is the change that its agent undoes for it."""
    moves = {} if undone is None else moved(undone, back=True)
    taken_back = {} if undone is None else {"recommendation": undone.id, "changes": moves}
    _record(unit, database_id, "guard.fire", event, {**told, **taken_back}, guard(name))
    words = f"the guard fired: {told['message']}" + (f"; it undoes {in_words(moves)}" if moves else "")
    _log(unit, database_id, words, warn=True, guard=name, **taken_back)
    unit.databases.count(database_id, guard(name))


def rolled_back_on_host(unit: UnitOfWork, database_id: str, told: Document, why: str) -> None:
    """An operator restored settings with the agent's command there, after any change."""
    _record(unit, database_id, "host.rollback", database_id, told, ON_HOST)
    _log(unit, database_id, why, warn=True)


def drifted(unit: UnitOfWork, database_id: str, told: Document) -> None:
    """Settings were changed by no recommendation, and by no rollback on the host."""
    _record(unit, database_id, "settings.drift", database_id, told, BY_HAND)
    words = f"settings were changed outside Lutra: {in_words(told['changes'])}"
    _log(unit, database_id, words, warn=True, changes=told["changes"])


def _record(unit: UnitOfWork, database_id: str, action: Action, target: str, told: Document, by: str) -> None:
    """Agents may report as many of these as they like: each counts against the database's quota."""
    record(unit, action, target, None, told, database_id=database_id, by=by)
    unit.ledger.add(database_id, told)


def _log(unit: UnitOfWork, database_id: str, words: str, warn: bool, **fields: Any) -> None:
    """The database's name and the values are text from outside."""
    name = unit.databases.get(database_id).name
    level = logging.WARNING if warn else logging.INFO
    log.log(level, "%s", printable(f"{name}: {words}"), extra={"fields": {"database": database_id, **fields}})


def _bounded(document: Mapping[str, Any] | None) -> Document | None:
    if document is None:
        return None
    kept: Document = _shortened(dict(document))
    if len(json.dumps(kept, default=str)) <= LARGEST_DOCUMENT:
        return kept
    return {"too_large": True, "parts": [str(name)[:100] for name in list(kept)[:100]]}


def _shortened(value: Any) -> Any:
    if isinstance(value, str):
        return value[:LONGEST_TEXT]
    if isinstance(value, Mapping):
        return {name: _shortened(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [_shortened(part) for part in value]
    return value

"""The audit trail: who did what to what, kept in the transaction that did it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any, Literal

from lutra_service.common.actor import Actor, current_actor
from lutra_service.common.documents import Document
from lutra_service.db.schema.records import AuditEntry, Recommendation
from lutra_service.db.store import UnitOfWork

Action = Literal[
    "database.register",
    "database.policy",
    "database.label",
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
    "guard.fire",
    "host.rollback",
    "token.create",
    "token.rotate",
    "token.revoke",
    "model.register",
    "model.score",
    "model.shadow",
    "model.promote",
    "model.rollback",
    "model.retire",
    "workload.import",
]
"""Everything that leaves an entry. What happened is named by its verb, whoever did it."""
SERVICE = "service"
"""Who decided, where no token did."""
AUTOMATIC = "automatic"
"""Who approved, where a session approves its own."""
KEPT = timedelta(days=400)
LONGEST_TEXT = 1000
LARGEST_DOCUMENT = 16_000
"""Characters of what a state is told by, as JSON. A larger one is kept as the names of its parts alone."""


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
    """`by`: who did it, where that is not whoever makes the request: the service, an agent, its guard."""
    actor = current_actor.get()
    who = actor if by is None else Actor(None, by, "", actor.request_id)
    unit.audit.add(
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


def decision(unit: UnitOfWork, action: Action, before: Recommendation, by: str, **told: Any) -> None:
    """What was decided of a recommendation, by a token or by the service."""
    after = unit.recommendations.get(before.id)
    record(
        unit,
        action,
        before.id,
        {"state": before.state},
        {"state": after.state, "by": by, "changes": moved(after), **told},
        database_id=before.database_id,
        by=SERVICE if by not in (current_actor.get().token_id, None) else None,
    )


def named(unit: UnitOfWork, by: str | None) -> str:
    """The name of the token that decided, or who else did."""
    token = None if by is None else unit.tokens.find(by)
    return by or SERVICE if token is None else token.name


def moved(row: Recommendation, back: bool = False) -> dict[str, list[str]]:
    """By setting its value before and after, as people write them; the other way `back`, where it is undone."""
    ends = ("after_text", "before_text") if back else ("before_text", "after_text")
    return {c["setting"]: [c[end] for end in ends] for c in row.changes or ()}


def in_words(moves: Mapping[str, Sequence[str]]) -> str:
    """As in "work_mem 4MB → 24MB, jit on → off"."""
    return ", ".join(f"{name} {before} → {after}" for name, (before, after) in moves.items())


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

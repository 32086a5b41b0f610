"""The audit trail: who did what to what, kept in the transaction that did it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from lutra_service.common.actor import Actor, current_actor
from lutra_service.common.documents import Document
from lutra_service.db.schema.records import AuditEntry, Recommendation
from lutra_service.db.store import UnitOfWork

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
    action: str,
    target: str,
    before: Mapping[str, Any] | None,
    after: Mapping[str, Any] | None,
    *,
    database_id: str | None,
    automatic: bool = False,
) -> None:
    """`automatic`: the service decided it, whoever's request it was in."""
    actor = current_actor.get()
    who = Actor(None, SERVICE, "", actor.request_id) if automatic else actor
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


def decision(unit: UnitOfWork, verb: str, before: Recommendation, by: str, **told: Any) -> None:
    """What was decided of a recommendation, by a token or by the service."""
    after = unit.recommendations.get(before.id)
    changes = {c["setting"]: [c["before"], c["after"]] for c in after.changes or ()}
    record(
        unit,
        f"recommendation.{verb}",
        before.id,
        {"state": before.state},
        {"state": after.state, "by": by, "changes": changes, **told},
        database_id=before.database_id,
        automatic=by not in (current_actor.get().token_id, None),
    )


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

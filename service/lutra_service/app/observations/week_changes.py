"""The changes of a span, through Lutra and outside of it, with their effect; and the guards that fired."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from lutra_models.lifecycle import RecommendationState as State

from lutra_service.app.access import audit
from lutra_service.common.documents import Document
from lutra_service.db.schema.recommendation import Recommendation
from lutra_service.db.schema.records import AuditEntry
from lutra_service.db.store import UnitOfWork

LISTED = 50
"""The most items of a list, except that of the databases."""
THROUGH_LUTRA: Mapping[str, str] = {
    **{action: state.value for state, action in audit.ACTIONS.items()},
    "recommendation.reject": "rejected",
}
OUTSIDE: Mapping[str, str] = {"settings.drift": "changed outside Lutra", "host.rollback": "rolled back on the host"}
GUARDS: Mapping[str, str] = {"guard.fire": "guard fired"}
LISTS: Mapping[str, Mapping[str, str]] = {"changes": THROUGH_LUTRA, "outside": OUTSIDE, "guards": GUARDS}
"""By the field of the summary, the actions of the audit trail that it lists, and their names."""
Names = Mapping[str, str]


def happened(unit: UnitOfWork, since: datetime, only: str | None, names: Names) -> Document:
    """The newest entries of each list, and the number of each kind. Of the databases in `names` alone."""
    found: Document = {"counts": {}}
    for field, verbs in LISTS.items():
        entries, counted = unit.audit.within(since, list(verbs), LISTED, only)
        known = unit.recommendations.named([e.target for e in entries])
        found["counts"] |= {what: counted.get(action, 0) for action, what in verbs.items()}
        found[field] = [
            _event(unit, e, verbs[e.action], known.get(e.target), names) for e in entries if e.database_id in names
        ]
    return found


def _event(unit: UnitOfWork, entry: AuditEntry, what: str, row: Recommendation | None, names: Names) -> Document:
    after: Mapping[str, Any] = entry.after or {}
    applied = row is not None and entry.action == audit.ACTIONS[State.APPLIED]
    judged = None if row is None or not applied else row.judgement
    return {
        "at": entry.at,
        "database": names[entry.database_id or ""],
        "what": what,
        "recommendation": after.get("recommendation") if row is None else row.id,
        "change": audit.in_words(after.get("changes") or _rolled_back(after)),
        "by": audit.named(unit, row.decided_by) if row is not None and applied else entry.token_name,
        "why": after.get("why") or after.get("message") or after.get("reason") or "",
        "effect": None if judged is None else judged.part,
    }


def _rolled_back(after: Mapping[str, Any]) -> dict[str, list[str]]:
    """The settings of a rollback on the host."""
    found = after.get("settings") or {}
    return {name: [str(moved.get("before")), str(moved.get("after"))] for name, moved in found.items()}

"""The changes of a span: through Lutra, with what they gave, and outside of it; the guards that fired."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any

from lutra_models.lifecycle import RecommendationState as State

from lutra_service.app.access import audit
from lutra_service.app.access.audit import Action
from lutra_service.app.summary.load import Week
from lutra_service.common.documents import Document
from lutra_service.db.schema.recommendation import Recommendation
from lutra_service.db.schema.records import AuditEntry
from lutra_service.db.store import UnitOfWork

MOST = 50
"""The most changes, and the most guards, that a summary lists."""
GUARD: Action = "guard.fire"
ON_HOST: Action = "host.rollback"
VERBS: Mapping[str, str] = {
    **{action: state.value for state, action in audit.ACTIONS.items()},
    "recommendation.reject": "rejected",
    GUARD: "guard fired",
    ON_HOST: "rolled back on the host",
}
"""By the audit trail's actions; a summary counts each of them."""
OUTSIDE = "changed outside Lutra"
EARLIEST = timedelta(hours=2)
"""Settings that Lutra changed are first seen in the hour of the change, or in a window soon after it."""
Names = Mapping[str, str]


def happened(unit: UnitOfWork, since: datetime, only: str | None, names: Names) -> Document:
    """The newest changes and guards, and the number of each kind. Of databases in `names` alone."""
    guarded = (GUARD,)
    others = tuple(v for v in VERBS if v != GUARD)
    changes, counted = unit.audit.within(since, others, MOST, only)
    fired, guards = unit.audit.within(since, guarded, MOST, only)
    known = unit.recommendations.named([e.target for e in changes])
    return {
        "counts": {verb: {**counted, **guards}.get(action, 0) for action, verb in VERBS.items()},
        "changes": [_change(unit, e, known.get(e.target), names) for e in changes if e.database_id in names],
        "guards": [_guard(e, names) for e in fired if e.database_id in names],
    }


def _change(unit: UnitOfWork, entry: AuditEntry, row: Recommendation | None, names: Names) -> Document:
    told: Mapping[str, Any] = entry.after or {}
    decided = row is not None and entry.action == audit.ACTIONS[State.APPLIED]
    judged = None if row is None else row.judgement
    return {
        **_event(entry, names),
        "recommendation": None if row is None else row.id,
        "change": audit.in_words(told.get("changes") or _rolled_back(told)),
        "by": audit.named(unit, row.decided_by) if row is not None and decided else entry.token_name,
        "why": told.get("why") or told.get("reason") or "",
        "effect": judged.part if judged is not None and decided else None,
    }


def _rolled_back(told: Mapping[str, Any]) -> dict[str, list[str]]:
    """The settings of a rollback on the host."""
    found = told.get("settings") or {}
    return {name: [str(moved.get("before")), str(moved.get("after"))] for name, moved in found.items()}


def _guard(entry: AuditEntry, names: Names) -> Document:
    told: Mapping[str, Any] = entry.after or {}
    change = audit.in_words(told.get("changes") or {})
    return {
        **_event(entry, names),
        "recommendation": told.get("recommendation"),
        "change": change,
        "by": entry.token_name,
        "why": told.get("message", ""),
        "effect": None,
    }


def _event(entry: AuditEntry, names: Names) -> Document:
    return {"at": entry.at, "database": names[entry.database_id or ""], "what": VERBS[entry.action]}


def outside(unit: UnitOfWork, found: Mapping[str, Week], since: datetime, names: Names) -> list[Document]:
    """The settings that somebody else changed, the newest first: they differ between two reports, and no recommendation
    of that time changed them.
    """
    seen = [
        (at, id_, was, now)
        for id_, week in found.items()
        for (_, was), (at, now) in pairwise(week.hashes)
        if at >= since and id_ in names
    ]
    newest = sorted(seen, reverse=True)[:MOST]
    stored = unit.databases.settings_by_hash({(id_, hash_) for _, id_, *both in newest for hash_ in both})
    own = _own(unit, {id_ for _, id_, _, _ in newest}, since)
    return [
        _outside(at, names[id_], moved)
        for at, id_, was, now in newest
        if (moved := dict(_moved(stored.get((id_, was)), stored.get((id_, now)), own.get(id_, Counter()))))
    ]


def _own(unit: UnitOfWork, databases: Collection[str], since: datetime) -> dict[str, Collection[str]]:
    """By database the settings that Lutra changed, or undid, since shortly before the span."""
    actions = [*audit.ACTIONS.values(), ON_HOST]
    found: dict[str, set[str]] = {}
    for id_ in sorted(databases):
        entries, _ = unit.audit.within(since - EARLIEST, actions, 10 * MOST, id_)
        for entry in entries:
            told: Mapping[str, Any] = entry.after or {}
            found.setdefault(id_, set()).update(told.get("changes") or told.get("settings") or ())
    return dict(found)


def _moved(was: Document | None, now: Document | None, own: Collection[str]) -> Iterator[tuple[str, Sequence[str]]]:
    """The settings with another value, as the server writes it; nothing if one of both is no longer stored."""
    if was is None or now is None:
        return
    for name in sorted(was.keys() & now.keys()):
        if name not in own and not _same(was[name]["value"], now[name]["value"]):
            yield name, [f"{s[name]['value']}{_unit(s[name])}" for s in (was, now)]


def _same(one: str, other: str) -> bool:
    """4.0 is 4."""
    try:
        return float(one) == float(other)
    except ValueError:
        return one == other


def _unit(setting: Mapping[str, Any]) -> str:
    return f" {setting['unit']}" if setting.get("unit") else ""


def _outside(at: datetime, database: str, moved: Mapping[str, Sequence[str]]) -> Document:
    return {
        "at": at,
        "database": database,
        "what": OUTSIDE,
        "recommendation": None,
        "change": audit.in_words(moved),
        "by": "",
        "why": "",
        "effect": None,
    }

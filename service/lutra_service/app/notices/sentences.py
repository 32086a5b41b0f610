"""The notices of an audit entry, of a proposal and of a session's end, with the change, the figures and a command."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lutra_models.history import Mode

from lutra_service.app.access.audit import NOTICED, in_words, moved
from lutra_service.app.notices.outbox import notify
from lutra_service.common.documents import Document
from lutra_service.db.schema.notices import NoticeKind
from lutra_service.db.schema.recommendation import Recommendation
from lutra_service.db.schema.records import AuditEntry, Session
from lutra_service.db.store import UnitOfWork

WORDS: Mapping[NoticeKind, str] = {
    "proposed": "a change is proposed",
    "applied": "a change was applied",
    "confirmed": "a change was confirmed",
    "reverted": "a change was undone",
    "not_applied": "a change was not carried out",
    "guard": "a guard fired",
    "session_ended": "a session ended",
    "session_paused": "a session was paused",
    "agent_silent": "its agent is silent",
    "agent_back": "its agent reports again",
    "drift": "settings were changed outside Lutra",
    "gain_lost": "the gain of a change no longer holds",
    "summary": "a summary",
}
"""By kind, the beginning of a notice."""
OF_RECOMMENDATION = ("proposed", "applied", "confirmed", "reverted", "not_applied", "gain_lost")
FACTS = (
    *("state", "changes", "why", "message", "guard", "metric", "value", "bound", "held_s", "recommendation"),
    *("settings", "sources", "reason", "target"),
)
"""The parts of an entry's state that a notice has."""
UNSIGNED = ("agent_silent", "agent_back", "gain_lost", "guard")
"""The kinds of notices that name no actor."""
MOST_CHANGES = 5
"""The changes that a sentence names; the facts name all of them."""
LAB: Mode = "lab"


def of_entry(unit: UnitOfWork, entry: AuditEntry) -> None:
    """Notify of an audit entry; its action is one of NOTICED."""
    kind, after = NOTICED[entry.action], entry.after or {}
    row = unit.recommendations.find(entry.target) if kind in OF_RECOMMENDATION else None
    if row is not None and _is_trial(unit, row):
        return
    by = "" if kind in UNSIGNED else f" by {entry.token_name}"
    moves, why = after.get("changes") or {}, after.get("why") or after.get("message")
    sentence = _sentence(f"{WORDS[kind]}{by}", _changes(moves), why, _evidence(row), _command(row, entry.target))
    facts = {"by": entry.token_name, "target": entry.target, **{n: after[n] for n in FACTS if n in after}}
    notify(unit, kind, entry.database_id, sentence, {**facts, **_link(row)})


def of_proposal(unit: UnitOfWork, row: Recommendation) -> None:
    """Notify of a recommendation that waits for an operator's decision."""
    if _is_trial(unit, row):
        return
    sentence = _sentence(WORDS["proposed"], _changes(moved(row)), _evidence(row), _command(row, row.id))
    notify(unit, "proposed", row.database_id, sentence, {"target": row.id, "changes": moved(row), **_link(row)})


def of_end(unit: UnitOfWork, session: Session, why: str) -> None:
    """Notify of a session that ended by itself, which the audit trail leaves out."""
    sentence = _sentence(WORDS["session_ended"], why)
    notify(unit, "session_ended", session.database_id, sentence, {"target": session.id, "why": why})


def _sentence(*parts: str | None) -> str:
    return ": ".join(part for part in parts if part)


def _changes(moves: Mapping[str, Any]) -> str:
    shown = dict(list(moves.items())[:MOST_CHANGES])
    more = len(moves) - len(shown)
    return in_words(shown) + (f" and {more} more" if more else "")


def _evidence(row: Recommendation | None) -> str:
    """The effect as it was measured, or else as it is predicted, or the first reason."""
    if row is None or row.proposal is None:
        return ""
    if row.judgement is not None:
        return row.judgement.sentence
    predicted = [
        f"{metric} {p['median']:.4g} ({p['low']:.4g} to {p['high']:.4g})"
        for metric, p in row.proposal.predictions.items()
    ]
    if predicted:
        return f"predicted {', '.join(predicted)}"
    return next((r["sentence"] for r in row.proposal.reasons), "")


def _command(row: Recommendation | None, target: str) -> str:
    return "" if row is None else f"`lutra show {target}`"


def _link(row: Recommendation | None) -> Document:
    return {} if row is None else {"link": f"/v1/recommendations/{row.id}"}


def _is_trial(unit: UnitOfWork, row: Recommendation) -> bool:
    """Whether it is a trial of a lab's session, which needs no decision."""
    session = unit.sessions.of(row)
    return session is not None and LAB in (session.mode, unit.databases.get(row.database_id).agent.mode)

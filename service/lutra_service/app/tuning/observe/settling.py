"""A session in which no change is worthwhile: it reports that, and checks again once something has changed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime, timedelta

from lutra_models.lifecycle import RecommendationKind as Kind
from lutra_models.lifecycle import RecommendationState as State
from lutra_models.lifecycle import SessionState

from lutra_service.app.databases.current_server import ServerContext
from lutra_service.app.databases.symptoms import MINUTES
from lutra_service.app.tuning.observe import circumstances, observation_progress, outages
from lutra_service.common.actor import SERVICE
from lutra_service.common.documents import Document
from lutra_service.db.schema.recommendation import Recommendation
from lutra_service.db.schema.records import Session
from lutra_service.db.store import UnitOfWork

SYMPTOMS_EVERY = timedelta(minutes=5)
"""The interval at which the windows since the last comparison are examined for symptoms."""
WHOLE_EVERY = timedelta(minutes=MINUTES)
"""The interval at which all windows of the evidence are examined; a new symptom causes it as well."""
UNAPPLIED = (State.EXPIRED, State.REFUSED, State.FAILED, State.REVERTED)
KNOWN = 20
"""Circumstances under which no change was worthwhile: a recurring load is checked once at each level."""


def settle(unit: UnitOfWork, session: Session, at: ServerContext, why: str) -> None:
    """Settle a running session. `why`: the evidence examined, in words."""
    if session.state != SessionState.RUNNING:
        return
    before = (session.settled or {}).get("known", [])
    now = circumstances.present(unit, at, MINUTES)
    content: Document = {
        "known": [*before, now.to_dict()][-KNOWN:],
        "symptoms_at": unit.now.isoformat(),
        "whole_at": unit.now.isoformat(),
        "unread": not _is_read(unit, session),
        "for_window": [r.id for r in for_window(unit.recommendations.outlined(session.id))],
    }
    unit.sessions.step(session, SessionState.SETTLED, SERVICE, why, settled=content)


def for_window(rows: Iterable[Recommendation]) -> list[Recommendation]:
    """Those that wait for a maintenance window, or for the approval to."""
    waiting = (State.PROPOSED, State.APPROVED)
    return [r for r in rows if r.kind == Kind.MAINTENANCE and r.state in waiting and not r.is_withdrawn]


def sentence(session: Session, rows: Iterable[Recommendation]) -> str:
    """The sentence of a settled session: the changes that still wait for a maintenance window, and the evidence
    examined.

    An earlier outage is reported in its current form.
    """
    waiting = [f"{r.id} waits, for a maintenance window." for r in for_window(rows)]
    return " ".join([*waiting, outages.without(session.message or "")])


def has_changed(unit: UnitOfWork, session: Session, at: ServerContext) -> bool:
    """Whether the current load, settings or symptoms differ from all under which no change was worthwhile. Two more
    cases: the objective has a reading now and had none; or a change that waited for its maintenance window ended
    without being applied, and no operator rejected it.

    Under a new load, it waits for enough windows to measure it.
    """
    kept = session.settled or {}
    waited = [unit.recommendations.get(id_) for id_ in kept["for_window"]]
    if any(r.state in UNAPPLIED for r in waited):
        return True
    if kept["unread"] and _is_read(unit, session):
        return True
    known = [circumstances.read(one) for one in kept["known"]]
    now = circumstances.present(unit, at)
    alike = [one for one in known if one.alike(now)]
    last, whole = (datetime.fromisoformat(kept[name]) for name in ("symptoms_at", "whole_at"))
    if not alike or unit.now - last < SYMPTOMS_EVERY:
        return not alike
    entire = unit.now - whole >= WHOLE_EVERY
    minutes = MINUTES if entire else (unit.now - last) / timedelta(minutes=1)
    now = replace(now, strengths=circumstances.strengths(unit, at, minutes))
    if not entire and not any(one.alike(now) for one in alike):
        entire = True
        now = replace(now, strengths=circumstances.strengths(unit, at, MINUTES))
    looked = {"symptoms_at": unit.now.isoformat(), **({"whole_at": unit.now.isoformat()} if entire else {})}
    unit.sessions.change(session.id, settled={**kept, **looked})
    return not any(one.alike(now) for one in alike)


def _is_read(unit: UnitOfWork, session: Session) -> bool:
    """Whether the newest windows have the objective."""
    windows = unit.reports.windows(session.database_id, observation_progress.WINDOWS)
    return len(windows) == observation_progress.WINDOWS and all(session.judged.metric in r.metrics for r in windows)

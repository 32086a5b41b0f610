"""What a change on a live database did: windows from before and after it, compared at like load."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from lutra_models.judgement import LoadedWindow, judge, sentence
from lutra_models.lifecycle import RecommendationKind as Kind
from lutra_models.metrics import P99, Objective

from lutra_service.app.databases.current_server import effective_mode
from lutra_service.common.documents import Document
from lutra_service.db.schema.records import Database, Recommendation, StoredReport
from lutra_service.db.store import UnitOfWork

ENOUGH = 12
"""Windows at like load after a change: what they say stays."""
AFTER = 48
"""Windows after it that are waited for at most."""
BEFORE = 120
"""The newest windows before it, of the settings that were active then."""
RECENT = timedelta(hours=24)
"""How far back these are looked for: a load comes and goes in a day."""
WITHOUT_SESSION = Objective(P99.name, "minimize")


def look_again(unit: UnitOfWork, database: Database) -> None:
    """With a new window: judge the last change, as long as it is not judged for good."""
    row = unit.recommendations.last_change(database.id)
    if row is None or row.applied_at is None or row.kind == Kind.ROLLBACK:
        return
    session = unit.sessions.of(row)
    if effective_mode(database, session) == "lab" or (row.judgement or {}).get("after", 0) >= ENOUGH:
        return
    was, now = _windows(unit, row)
    if not now:
        return
    judgement = judge(_loaded(was, "before"), _loaded(now, "after"), session.judged if session else WITHOUT_SESSION)
    told: Document = {**judgement.to_dict(), "sentence": sentence(judgement)}
    unit.recommendations.change(row.id, judgement=told)
    unit.publish(row.id, row.session_id)


def told(row: Recommendation) -> str:
    """What is said of it in its session; empty where nothing is."""
    return "" if row.judgement is None else f"{row.id}: {row.judgement['sentence']}."


def _windows(unit: UnitOfWork, row: Recommendation) -> tuple[list[StoredReport], list[StoredReport]]:
    """From before and after, under one configuration each, with p99 from one source; none where more than this change
    was made between both. The first window after is its warm-up.
    """
    assert row.applied_at is not None
    since = unit.reports.windows(row.database_id, AFTER + 1, since=row.applied_at)
    later = [r for r in since if r.window_start is not None and r.window_start >= row.applied_at]
    earlier = unit.reports.windows(row.database_id, BEFORE, since=row.applied_at - RECENT, until=row.applied_at)
    ended = [r for r in earlier if r.window_end is not None and r.window_end <= row.applied_at]
    if len(later) > AFTER or not later or not ended or not _only_this(row, ended[0], later[0]):
        return [], []
    return _alike(ended, ended[0], later[0])[::-1], _alike(later[:-1], later[0], later[0])[::-1]


def _only_this(row: Recommendation, before: StoredReport, after: StoredReport) -> bool:
    """Whether what differs is what it changed, or what its agent saw become active with it."""
    was, now = before.configuration, after.configuration
    if was is None or now is None:
        return False
    made = {c["setting"] for c in row.changes or ()}
    differs = {name for name in was.keys() | now.keys() if was.get(name) != now.get(name)}
    return made <= differs <= made | set(row.outcome.active if row.outcome else ())


def _alike(windows: Sequence[StoredReport], one: StoredReport, of: StoredReport) -> list[StoredReport]:
    return [
        r
        for r in windows
        if r.failure is None
        and r.configuration == one.configuration
        and (r.p99_source, r.p99_of) == (of.p99_source, of.p99_of)
    ]


def _loaded(windows: Sequence[StoredReport], group: str) -> list[LoadedWindow]:
    found = ((r, r.window_start, r.window_end) for r in windows)
    return [
        LoadedWindow(start.timestamp(), (end - start).total_seconds(), r.metrics, r.context, group)
        for r, start, end in found
        if start is not None and end is not None
    ]

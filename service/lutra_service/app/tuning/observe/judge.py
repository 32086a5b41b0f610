"""The effect of a change on a live database: windows from before and after it, compared at comparable load."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

from lutra_models.judgement import Judgement, judge, sentence
from lutra_models.lifecycle import RecommendationKind as Kind
from lutra_models.metrics import P99, Objective

from lutra_service.app.databases.current_server import effective_mode
from lutra_service.app.databases.loaded import loaded
from lutra_service.app.tuning.observe import lasting
from lutra_service.app.tuning.observe.verdicts import changes_of
from lutra_service.app.tuning.steps.facts import WindowSeen
from lutra_service.common.documents import Document
from lutra_service.db.schema.judged import Judged
from lutra_service.db.schema.recommendation import Recommendation, net_changes
from lutra_service.db.schema.records import StoredReport
from lutra_service.db.store import UnitOfWork

ENOUGH = 12
"""The number of windows at comparable load after a change that make its judgement final."""
AFTER = 48
"""The maximum number of windows to wait for after it."""
BEFORE = 120
"""The newest windows before it, of the settings that were active then."""
RECENT = timedelta(hours=24)
"""The time over which these are searched, and over which a change is judged: a load repeats daily."""
WITHOUT_SESSION = Objective(P99.name, "minimize")


def look_again(unit: UnitOfWork, seen: WindowSeen) -> None:
    """After a new window: judge the last change until its judgement is final, including after its session's end."""
    database = seen.database
    row = unit.recommendations.last_change(database.id)
    if row is None or row.applied_at is None or row.kind == Kind.ROLLBACK:
        return
    session = unit.sessions.of(row)
    known = row.judgement
    if effective_mode(database, session) == "lab" or (known is not None and known.found.after >= ENOUGH):
        return
    objective = session.judged if session else WITHOUT_SESSION
    found = _judged(unit, [row], objective)
    if found is None:
        return
    earlier = [] if session is None else changes_of(unit, session)
    together = _judged(unit, earlier, objective) if len(earlier) > 1 and earlier[-1].id == row.id else None
    both = None if together is None else Judged(together, sentence(together))
    told = Judged(found, sentence(found), _follows(unit, row, found), both)
    if told.is_loss:
        told = replace(told, lost_at=(known and known.lost_at) or unit.now)
    if known is not None:
        told = replace(told, lasting=known.lasting)
    unit.recommendations.change(row.id, measurement=lasting.begun(database, row, told))


def _follows(unit: UnitOfWork, row: Recommendation, found: Judgement) -> str:
    """What an operator may do about it; empty if that is nothing."""
    undo = f"POST /v1/recommendations/{row.id}/rollback undoes it"
    if found.verdict == "worse":
        return f"The next recommendation of an open session proposes to undo it; {undo} at once."
    made = {c["setting"] for c in row.changes}
    costs = dict.fromkeys(r["against"] for r in _reasons(unit, row) if r["setting"] in made and r.get("against"))
    if found.verdict != "no_difference_seen" or found.after < ENOUGH or not costs:
        return ""
    return f"The cost: {'; '.join(costs)}. {undo}."


def _reasons(unit: UnitOfWork, row: Recommendation) -> Sequence[Document]:
    """Its own; of a part, those of the whole."""
    own = [] if row.proposal is None else row.proposal.reasons
    if own or row.parent_id is None:
        return own
    whole = unit.recommendations.get(row.parent_id).proposal
    return [] if whole is None else whole.reasons


def _judged(unit: UnitOfWork, rows: Sequence[Recommendation], objective: Objective) -> Judgement | None:
    """What the changes did together; None if no windows say so."""
    was, now = _windows(unit, rows)
    return judge(loaded(was, "before"), loaded(now, "after"), objective) if now else None


def _windows(unit: UnitOfWork, rows: Sequence[Recommendation]) -> tuple[list[StoredReport], list[StoredReport]]:
    """From before the first and after the last, under one configuration each, with p99 from one source; none where
    more than these changes were made between both. The first window after is its warm-up.
    """
    database_id, began, changed = rows[-1].database_id, rows[0].applied_at, rows[-1].applied_at
    assert began is not None
    assert changed is not None
    since = unit.reports.windows(database_id, AFTER + 1, since=changed)
    later = [r for r in since if r.window_start is not None and r.window_start >= changed]
    earlier = unit.reports.windows(database_id, BEFORE, since=began - RECENT, until=began)
    ended = [r for r in earlier if r.window_end is not None and r.window_end <= began]
    if len(later) > AFTER or not later or not ended or not _only_these(rows, ended[0], later[0]):
        return [], []
    return _alike(ended, ended[0], later[0])[::-1], _alike(later[:-1], later[0], later[0])[::-1]


def _only_these(rows: Sequence[Recommendation], before: StoredReport, after: StoredReport) -> bool:
    """Whether what differs is what they changed, or what their agent saw become active with it."""
    was, now = before.configuration, after.configuration
    if was is None or now is None:
        return False
    made = {c.setting for c in net_changes(rows)}
    seen = {name for r in rows if r.outcome for name in r.outcome.active}
    differs = {name for name in was.keys() | now.keys() if was.get(name) != now.get(name)}
    return bool(made) and made <= differs <= made | seen


def _alike(windows: Sequence[StoredReport], one: StoredReport, of: StoredReport) -> list[StoredReport]:
    return [
        r
        for r in windows
        if r.failure is None
        and r.configuration == one.configuration
        and (r.p99_source, r.p99_of) == (of.p99_source, of.p99_of)
    ]

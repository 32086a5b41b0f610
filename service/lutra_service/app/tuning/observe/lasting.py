"""Reported gains, judged again while nothing else changes: after a day and after a week, and in between too."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from lutra_models.errors import LutraError
from lutra_models.identity import Identity
from lutra_models.judgement import HOST, JUST_AFTER_S, SPAN_S, STEP_S, Judgement, Lasting, LoadedWindow, lasts, spaced
from lutra_models.metrics import QPS, TPS, Objective

from lutra_service.app.access import audit
from lutra_service.app.databases.loaded import loaded
from lutra_service.app.tuning.observe.verdicts import changes_of
from lutra_service.common.documents import Document
from lutra_service.db.repositories.recommendations import digest_of
from lutra_service.db.schema.judged import Judged, Look
from lutra_service.db.schema.recommendation import Measurement, Recommendation
from lutra_service.db.schema.records import Database, StoredReport
from lutra_service.db.store import Store, UnitOfWork

log = logging.getLogger(__name__)

DAY, WEEK = timedelta(days=1), timedelta(days=7)
JUST_AFTER, SPAN = timedelta(seconds=JUST_AFTER_S), timedelta(seconds=SPAN_S)
EVERY = timedelta(hours=6)
"""The time between two looks at a gain: of the looks within a day, the last one sees most of that day's load."""
TOGETHER = 3
"""The number of gains that one turn looks at."""
UNLIKELY = (LutraError, ValueError, TypeError, LookupError, ArithmeticError)
"""The errors that unusual windows may cause; the gains of other databases are still looked at."""


@dataclass(frozen=True)
class LookResult:
    """The result of a look that was due at `due`, None if it failed; with the windows that later looks need."""

    id: str
    due: datetime
    lasting: Lasting | None
    kept: Document | None


def begun(database: Database, row: Recommendation, judged: Judged) -> Measurement:
    """The row's measurement with this judgement. A gain is judged again after a day."""
    known = replace(row.measurement or Measurement(), judgement=judged)
    if known.gain not in (None, "told") or row.applied_at is None:
        return known
    if not judged.is_gain:
        return replace(known, gain=None, look_at=None, kept=None)
    server = database.identity and asdict(database.identity)
    return replace(known, gain="told", look_at=row.applied_at + DAY, kept={"server": server})


def look(store: Store) -> None:
    """One turn: the gains that are due."""
    for id_ in store.read(lambda unit: unit.recommendations.gains_due(unit.now, TOGETHER)):
        found = store.read(partial(_looked, id_=id_))
        if found is not None:
            store.write(partial(keep, found=found))


def keep(unit: UnitOfWork, found: LookResult) -> None:
    """Store the look and the time of the next one, unless another process has looked meanwhile."""
    unit.databases.lock(unit.recommendations.get(found.id).database_id)
    row = unit.recommendations.get(found.id)
    known, changed = row.measurement, row.applied_at
    if known is None or known.judgement is None or known.look_at != found.due or changed is None:
        return
    is_last = unit.now >= changed + WEEK
    if found.lasting is not None:
        is_last = is_last or found.lasting.is_over or found.lasting.state == "decayed"
        made = _look(found.lasting, unit.now, changed)
        known = _with(known, known.judgement, made, is_last)
        if made.state == "decayed":
            audit.gain_lost(unit, row, made)
    next_at = None if is_last else min(unit.now + EVERY, max(changed + WEEK, unit.now))
    kept = None if is_last else found.kept
    unit.recommendations.change(row.id, measurement=replace(known, look_at=next_at, kept=kept))


def _with(known: Measurement, judgement: Judged, made: Look, is_last: bool) -> Measurement:
    """Keep the first look and the last one. A look whose state is known replaces an unknown one."""
    looks, is_known = judgement.lasting, made.state != "unknown"
    if looks and looks[-1].state == "unknown" and is_known:
        looks = looks[:-1]
    elif looks and not is_last:
        return known
    gain = made.state if is_known or known.gain == "told" else known.gain
    return replace(known, judgement=replace(judgement, lasting=(*looks, made)), gain=gain)


def _look(lasting: Lasting, now: datetime, changed: datetime) -> Look:
    hours = (now - changed).total_seconds() / 3600
    return Look(now, hours, lasting.state, lasting.because, lasting.sentence, _span(lasting.held), _span(lasting.since))


def _span(judgement: Judgement | None) -> Document | None:
    return None if judgement is None else {"ratio": judgement.ratio, "low": judgement.low, "high": judgement.high}


def _looked(unit: UnitOfWork, id_: str) -> LookResult | None:
    row = unit.recommendations.get(id_)
    if row.measurement is None or row.measurement.look_at is None:
        return None
    due, kept = row.measurement.look_at, row.measurement.kept
    try:
        lasting, kept = _compared(unit, row, row.measurement)
    except UNLIKELY as error:
        log.warning("%s: its gain cannot be judged again: %s", id_, error)
        return LookResult(id_, due, None, kept)
    return LookResult(id_, due, lasting, kept)


def _compared(unit: UnitOfWork, row: Recommendation, measurement: Measurement) -> tuple[Lasting, Document]:
    judgement, changed, kept = measurement.judgement, row.applied_at, measurement.kept or {}
    assert judgement is not None
    assert changed is not None
    because = _altered(unit, row, kept)
    if because:
        return Lasting("unknown", because, is_over=True), kept
    session, metric = unit.sessions.of(row), judgement.found.metric
    if "after" not in kept:
        kept = {**kept, **_sides(unit, row, judgement, changed)}
    later = _windows(unit, row.database_id, max(changed + JUST_AFTER, unit.now - SPAN), unit.now)
    before, after = _unpacked(kept["before"]), _unpacked(kept["after"])
    objective = Objective(metric, session.judged.goal if session else "minimize")
    return lasts(before, after, _grouped(later, kept["source"]), objective), kept


def _altered(unit: UnitOfWork, row: Recommendation, kept: Mapping[str, Any]) -> str:
    """What else changed beside its settings, in words; empty if nothing did."""
    last = unit.recommendations.last_change(row.database_id)
    if not row.is_active or last is None:
        return "the change was undone"
    if last.id != row.id:
        return f"{last.id} changed further settings"
    server, now = kept.get("server"), unit.databases.get(row.database_id).identity
    return "; ".join(Identity(**server).differences(now)) if server and now else ""


def _sides(unit: UnitOfWork, row: Recommendation, judgement: Judged, changed: datetime) -> Document:
    """The windows from before the change, or those before all changes of its session that gained together, and the
    ones just after it without its warm-up.
    """
    session = unit.sessions.of(row)
    rows = [row] if judgement.found.verdict == "better" or session is None else changes_of(unit, session)
    began = rows[0].applied_at if rows else changed
    before = _windows(unit, row.database_id, (began or changed) - SPAN, began or changed, 2 * STEP_S)
    after = _windows(unit, row.database_id, changed, changed + JUST_AFTER)[1:]
    source = [after[0].p99_source, after[0].p99_of] if after else [None, None]
    metric, active = judgement.found.metric, before[-1:]
    was = [w for w in before if w.configuration == active[0].configuration]
    sides = {"before": _grouped(was, source), "after": _grouped(after, source)}
    return {"source": source, **{name: _packed(windows, metric) for name, windows in sides.items()}}


def _windows(
    unit: UnitOfWork, database_id: str, since: datetime, until: datetime, step_s: float = STEP_S
) -> list[StoredReport]:
    """Of the windows between both, oldest first, some that are at least so far apart."""
    moments = unit.reports.moments(database_id, since, until)
    chosen = spaced([start.timestamp() for _, start in moments], step_s)
    return unit.reports.of_ids([moments[place][0] for place in chosen])


def _grouped(windows: Sequence[StoredReport], source: Sequence[str | None]) -> list[LoadedWindow]:
    """Those whose p99 is from this source, grouped by their whole configuration."""
    known = [w for w in windows if w.configuration is not None and [w.p99_source, w.p99_of] == list(source)]
    return [made for w in known for made in loaded([w], digest_of(w.configuration or {}))]


def _packed(windows: Sequence[LoadedWindow], metric: str) -> Document:
    """What a comparison needs of them, with five digits."""
    names = [n for n in dict.fromkeys((metric, QPS.name, TPS.name, *HOST)) if any(n in w.metrics for w in windows)]
    rows = [
        [w.start_s, w.seconds, w.group, dict(w.context), [_short(w.metrics.get(name)) for name in names]]
        for w in windows
    ]
    return {"names": names, "windows": rows}


def _short(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.5g}")


def _unpacked(packed: Mapping[str, Any]) -> list[LoadedWindow]:
    return [
        LoadedWindow(
            start_s,
            seconds,
            {name: value for name, value in zip(packed["names"], values, strict=True) if value is not None},
            context,
            group,
        )
        for start_s, seconds, group, context, values in packed["windows"]
    ]

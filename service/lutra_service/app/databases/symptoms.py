"""The symptoms in a database's latest windows, and their cures. This is evidence; nothing is decided here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from lutra_models.assessment import assess
from lutra_models.evidence import Evidence
from lutra_models.knobs import Value
from lutra_models.symptoms import Diagnosis, MeasuredWindow, diagnose
from lutra_models.symptoms import listed as listing
from lutra_models.symptoms.listed import Acceptance, Episode

from lutra_service.app.databases.current_server import ServerContext
from lutra_service.db.schema.recommendation import net_changes
from lutra_service.db.schema.records import StoredReport
from lutra_service.db.store import UnitOfWork

MOST_WINDOWS = 2000
MINUTES = 60
"""The time span from which windows of the active settings are read, as evidence."""


@dataclass(frozen=True)
class Seen:
    """A diagnosis, and the start and end of the windows on which it is based; None if there are none."""

    diagnosis: Diagnosis
    start: datetime | None
    end: datetime | None


def seen(unit: UnitOfWork, context: ServerContext, minutes: float, until: datetime | None = None) -> Seen:
    """The diagnosis from at most the newest 2,000 windows of the last `minutes` (before `until`, or now) that were
    measured under the active settings.
    """
    since = (until or unit.now) - timedelta(minutes=minutes)
    active = dict(context.active)
    found = [
        r
        for r in unit.reports.windows(context.database.id, MOST_WINDOWS, since=since, until=until)
        if r.failure is None and r.metrics and r.configuration == active
    ]
    diagnosis = diagnose(context.live, context.policy, [_measured(r) for r in reversed(found)])
    starts = [r.window_start for r in found if r.window_start is not None]
    ends = [r.window_end for r in found if r.window_end is not None]
    return Seen(diagnosis, min(starts, default=None), max(ends, default=None))


def listed(unit: UnitOfWork, context: ServerContext, minutes: float) -> dict[str, Any]:
    """The complete list: each finding with the time when it was first seen, and its acceptance."""
    found = seen(unit, context, minutes)
    episodes = {name: Episode(f.since, f.gone_at) for name, f in unit.findings.newest(context.database.id).items()}
    return listing.listed(
        found.diagnosis,
        context.database.engine,
        unit.now,
        _acceptances(unit, context),
        episodes,
        (found.start, found.end),
    )


def evidence_of(
    unit: UnitOfWork,
    context: ServerContext,
    began: Mapping[str, Value] | None,
    until: datetime | None = None,
    minutes: float = MINUTES,
) -> Evidence:
    """The combined evidence of symptoms and rules, within the operator's policy. It includes changes for which the mode
    forbids the restart, and says so. A finding whose risk is accepted is not evidence.

    `began` is the configuration at the session's beginning; changes of an earlier session do not count as set on
    purpose either. With `until` only windows that began before it are read, and of those the last `minutes`.
    """
    allowed = replace(context, policy=context.database.settings_policy)
    before = {**context.active, **(began or {}), **_before_advice(unit, context)}
    diagnosis = seen(unit, allowed, minutes, until).diagnosis
    return assess(context.live, allowed.policy, diagnosis, before, accepted(unit, context, diagnosis))


def accepted(unit: UnitOfWork, context: ServerContext, diagnosis: Diagnosis) -> set[str]:
    """The symptoms of the diagnosis whose risk is currently accepted."""
    made = _acceptances(unit, context)
    return {s.name for s in diagnosis.symptoms if any(a.holds(s.name, s.kind, unit.now) for a in made)}


def _acceptances(unit: UnitOfWork, context: ServerContext) -> list[Acceptance]:
    risks = unit.accepted.of(context.database.id)
    return [Acceptance(a.name, a.because, a.until, a.kind, a.accepted_by) for a in risks]


def _before_advice(unit: UnitOfWork, context: ServerContext) -> dict[str, Value]:
    """The values from before, of settings that are as Lutra's changes left them, in whichever session."""
    made = net_changes(unit.recommendations.changes(context.database.id))
    return {c.setting: c.before for c in made if context.active.get(c.setting) == c.after}


def _measured(report: StoredReport) -> MeasuredWindow:
    assert report.window_start is not None
    assert report.window_end is not None
    seconds = (report.window_end - report.window_start).total_seconds()
    return MeasuredWindow(seconds, report.metrics, report.texts or {})

"""The summary of a week: one document of bounded size, of the fleet or of a database."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta

from lutra_models.symptoms.listed import HARMFUL

from lutra_service.app.access import audit
from lutra_service.app.databases import figures
from lutra_service.app.observations import week_changes, week_load, week_words
from lutra_service.app.observations.week_changes import LISTED
from lutra_service.common.documents import Document
from lutra_service.db.schema.recommendation import Recommendation
from lutra_service.db.schema.records import Database, Finding, Session
from lutra_service.db.store import UnitOfWork

DATABASES = 500
"""The most databases whose load a summary lists."""
PAGE = 500
GAINS = timedelta(days=100)
"""The gains of earlier changes are not counted."""
SILENT = timedelta(minutes=10)
"""The time without a report after which an agent counts as silent."""


def summary(unit: UnitOfWork, days: int, only: str | None = None) -> Document:
    """Of the last `days` days, against as many before: of the databases that are in use, or of the one.

    `text` is the same summary for people.
    """
    span = week_load.Span(unit.now, days)
    databases = {d.id: d for d in _databases(unit, only)}
    names = {id_: d.name for id_, d in databases.items()}
    weeks = week_load.weeks(unit.load_hours.between(span.before, span.until, only), span)
    weeks = {id_: week for id_, week in weeks.items() if id_ in databases}
    harm = _harm(unit, list(databases))
    findings = [f for f in unit.findings.current(HARMFUL, LISTED, only) if f.database_id in names]
    gone = unit.findings.gone(HARMFUL, span.since, LISTED, only)
    waiting, sessions = unit.recommendations.waiting(LISTED, only), unit.sessions.within(span.since, LISTED, only)
    found: Document = {
        "since": span.since,
        "until": span.until,
        "days": days,
        "databases": _loads(span, databases, weeks, harm),
        "databases_in_all": len(databases),
        "gains": _gains(unit, only),
        **week_changes.happened(unit, span.since, only, names),
        "findings": [_finding(f, names) for f in findings],
        "findings_by_kind": {kind: sum(of.get(kind, 0) for of in harm.values()) for kind in HARMFUL},
        "gone": [_finding(f, names) for f in gone if f.database_id in names],
        "proposals": [_proposal(r, names) for r in waiting if r.database_id in names],
        "sessions": [_session(s, names) for s in sessions if s.database_id in names],
        "silent": _silent(span, databases.values(), weeks),
    }
    return {**found, "text": "\n".join(week_words.lines(found))}


def _gains(unit: UnitOfWork, only: str | None) -> Document:
    """Of the changes of the last hundred days."""
    found = figures.reported_and_held(unit, unit.now - GAINS, only)
    counts = {"reported": found.reported, "holds": found.holds, "decayed": found.decayed, "unknown": found.unknown}
    return {**counts, "share": found.share}


def _databases(unit: UnitOfWork, only: str | None) -> list[Database]:
    found: list[Database] = []
    while page := unit.databases.listed(PAGE, found[-1].id if found else None, only):
        found += page
    return found


def _harm(unit: UnitOfWork, ids: Sequence[str]) -> dict[str, dict[str, int]]:
    """The number of current findings, by database and kind."""
    found: dict[str, dict[str, int]] = {}
    for at in range(0, len(ids), PAGE):
        found |= unit.findings.showing(ids[at : at + PAGE])
    return found


def _loads(
    span: week_load.Span,
    databases: Mapping[str, Database],
    weeks: Mapping[str, week_load.Week],
    harm: Mapping[str, Mapping[str, int]],
) -> list[Document]:
    """The largest change at comparable load first, then the most harmful findings."""
    compared = week_load.compared(weeks, span)

    def place(id_: str) -> tuple[object, ...]:
        findings = (-harm.get(id_, {}).get(kind, 0) for kind in HARMFUL)
        return -week_load.difference(compared.get(id_)), *findings, databases[id_].name

    order = sorted(databases, key=place)
    return [_load(databases[id_], span, weeks.get(id_), compared.get(id_)) for id_ in order[:DATABASES]]


def _load(database: Database, span: week_load.Span, week: week_load.Week | None, compared: Document | None) -> Document:
    return {
        "database": database.id,
        "name": database.name,
        "engine": database.engine,
        "p99_of": (week and week.p99_of) or None,
        "now": week_load.figures(week, span.since, span.until),
        "before": week_load.figures(week, span.before, span.since),
        "compared": compared,
        "daily": week_load.daily(week, span),
    }


def _finding(found: Finding, names: Mapping[str, str]) -> Document:
    return {
        "database": names[found.database_id],
        "name": found.name,
        "kind": found.kind,
        "strength": found.strength,
        "sentence": found.sentence,
        "since": found.since,
        "gone_at": found.gone_at,
    }


def _proposal(found: Recommendation, names: Mapping[str, str]) -> Document:
    return {
        "database": names[found.database_id],
        "recommendation": found.id,
        "since": (found.proposal and found.proposal.proposed_at) or found.request.created_at,
        "change": audit.in_words(audit.moved(found)),
    }


def _session(found: Session, names: Mapping[str, str]) -> Document:
    return {
        "database": names[found.database_id],
        "session": found.id,
        "state": found.state,
        "message": found.message,
        "created_at": found.created_at,
        "ended_at": found.ended_at,
    }


def _silent(span: week_load.Span, databases: Iterable[Database], weeks: Mapping[str, week_load.Week]) -> list[Document]:
    """The databases without windows in some hours, or without a report now: the longest silence first."""
    found = [(week_load.missed(weeks.get(d.id), span, d.created_at), d) for d in databases]
    late = span.until - SILENT
    away = [(n, d) for n, d in found if n or d.last_report_at is None or d.last_report_at < late]
    away.sort(key=lambda each: (-each[0], each[1].name))
    return [{"database": d.name, "hours": n, "last_report_at": d.last_report_at} for n, d in away[:LISTED]]

"""The summary of a week, as an answer."""

from __future__ import annotations

from datetime import datetime

from lutra_models.symptoms import Kind

from lutra_service.api.http.body import Answer
from lutra_service.api.recommendations.judgement_schemas import ComparisonAnswer
from lutra_service.api.sessions.schemas import SessionState


class LoadAnswer(Answer):
    """The load of a database in a span, from the means of its hours."""

    start: datetime
    """The beginning of the span."""
    end: datetime
    """Its end."""
    hours: int
    """The number of hours with windows."""
    p99_ms: float | None
    """The median of the hours' p99; null if there is none."""
    worst_p99_ms: float | None
    """The largest p99 of an hour; null if there is none."""
    qps: float | None
    """The mean of the hours' rates; null if there is none."""


class DatabaseLoadAnswer(Answer):
    """The load and the p99 of a database, against the span before."""

    database: str
    """The database's id."""
    name: str
    """Its name."""
    engine: str
    """Its engine."""
    p99_of: str | None
    """The source of p99 and what it counts; null without p99. Other kinds of p99 are left out."""
    now: LoadAnswer
    """The requested span."""
    before: LoadAnswer
    """The span before it, of the same length."""
    compared: ComparisonAnswer | None
    """The p99 of both spans at comparable load, where each window is a mean over some hours. Null if one of both has no
    p99, and for databases beyond the twenty whose p99 differs most: their figures are then plain ones.
    """
    daily: list[LoadAnswer]
    """The load of each day of both spans, the oldest first."""


class HappeningAnswer(Answer):
    """A change of settings, or a guard that fired."""

    at: datetime
    """When it happened, or was noticed."""
    database: str
    """The database's name."""
    what: str
    """In words, such as `applied`, `confirmed`, `reverted`, `refused`, `failed` or `guard fired`."""
    change: str
    """The settings with their values before and after; empty if none changed."""
    by: str
    """The person or the program that decided or did it; empty if unknown."""
    why: str
    """The reason in words; empty if there is none."""
    recommendation: str | None
    """The recommendation's id; null if there is none."""
    effect: ComparisonAnswer | None
    """For an applied change, its effect at comparable load; null if it is not judged yet."""


class SummaryFindingAnswer(Answer):
    """A harmful finding."""

    database: str
    """The database's name."""
    name: str
    """The symptom's name."""
    kind: Kind
    """The kind."""
    strength: float
    """The strength, from 0.3 to 1."""
    sentence: str
    """The observation, with its numbers."""
    since: datetime
    """When it was first seen."""
    gone_at: datetime | None
    """When it was found to be gone; null while it is current."""


class WaitingAnswer(Answer):
    """A proposal that waits for a decision."""

    database: str
    """The database's name."""
    recommendation: str
    """The recommendation's id."""
    since: datetime
    """When it was proposed."""
    change: str
    """The settings with their values before and after."""


class SummarySessionAnswer(Answer):
    """A session that is open, or ended in the span."""

    database: str
    """The database's name."""
    session: str
    """The session's id."""
    state: SessionState
    """The state."""
    message: str
    """The result, or what the session waits for."""
    created_at: datetime
    """When it was opened."""
    ended_at: datetime | None
    """When it ended; null while it is open."""


class SilentAnswer(Answer):
    """A database from which windows or reports are missing."""

    database: str
    """The database's name."""
    hours: int
    """The number of complete hours in the span without a window."""
    last_report_at: datetime | None
    """When its agent last reported; null before the first report."""


class GainsAnswer(Answer):
    """The gains that were reported for changes of the last hundred days, by their outcome."""

    reported: int
    """The number of reported gains."""
    holds: int
    """The number of those that still hold."""
    decayed: int
    """The number of those that no longer hold."""
    unknown: int
    """The number of those that are not judged again, or cannot be."""
    share: float | None
    """The share of the judged ones that hold; null if none was judged again."""


class SummaryAnswer(Answer):
    """The load and the events of the databases in a span. Each list is bounded."""

    since: datetime
    """The beginning of the span, on a full hour."""
    until: datetime
    """Its end: now."""
    days: int
    """The requested number of days."""
    databases: list[DatabaseLoadAnswer]
    """The load of each database, at most 500: the largest change of p99 at comparable load first, then the most harmful
    findings.
    """
    databases_in_all: int
    """The number of databases that the summary covers."""
    counts: dict[str, int]
    """The number of changes and of guards that fired, by `what`."""
    gains: GainsAnswer
    """Whether the gains of changes last."""
    changes: list[HappeningAnswer]
    """Changes through Lutra: applied, confirmed, reverted, refused, rejected or failed; newest first, at most 50."""
    outside: list[HappeningAnswer]
    """Settings that changed without the service, the newest first; at most 50."""
    guards: list[HappeningAnswer]
    """The guards that fired, the newest first; at most 50."""
    findings: list[SummaryFindingAnswer]
    """Current harmful findings without an accepted risk, the most harmful first; at most 50."""
    findings_by_kind: dict[str, int]
    """The number of all of them, by kind."""
    gone: list[SummaryFindingAnswer]
    """Harmful findings that disappeared in the span and are not back, the newest first; at most 50."""
    proposals: list[WaitingAnswer]
    """The proposals that wait for a decision, the oldest first; at most 50."""
    sessions: list[SummarySessionAnswer]
    """The sessions that are open or ended in the span, the newest first; at most 50."""
    silent: list[SilentAnswer]
    """The databases from which windows or reports are missing, the longest silence first; at most 50."""
    text: str
    """The summary as plain text in UTC: lines of at most 100 characters, with the first eight items of each list."""

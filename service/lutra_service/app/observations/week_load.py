"""The load and the p99 of databases, a span against the equally long span before it, by their hours."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from statistics import fmean, median

from lutra_models.judgement import Judgement, LoadedWindow, judge, sentence
from lutra_models.metrics import P99, QPS, TPS, Objective

from lutra_service.common.documents import Document
from lutra_service.db.schema.records import LoadHour

HOUR, DAY = timedelta(hours=1), timedelta(days=1)
COMPARED = 20
"""The most databases whose spans are compared at comparable load: those whose p99 differs most."""
BLOCKS = 21
"""The most windows on either side of such a comparison: each is the mean over some hours."""
FASTER = Objective(P99.name, "minimize")


@dataclass(frozen=True)
class Span:
    """`days` days and the hour that has begun: from `since` until `until`."""

    until: datetime
    days: int

    @property
    def since(self) -> datetime:
        return self.full - self.days * DAY

    @property
    def full(self) -> datetime:
        """The end of its last complete hour."""
        return self.until.replace(minute=0, second=0, microsecond=0)

    @property
    def before(self) -> datetime:
        """The beginning of the span before it."""
        return self.since - self.days * DAY


@dataclass
class Hour:
    """One hour of a database, over all its windows; p99 only of the kind that is compared."""

    windows: int = 0
    p99_windows: int = 0
    qps: float = 0.0
    tps: float | None = None
    has_qps: bool = False
    p99: float = 0.0

    def add(self, row: LoadHour, p99_of: str) -> None:
        self.windows += row.windows
        share = row.windows / self.windows
        if row.qps is not None:
            self.qps += (row.qps - self.qps) * (share if self.has_qps else 1.0)
            self.has_qps = True
        if row.tps is not None:
            self.tps = row.tps if self.tps is None else self.tps + (row.tps - self.tps) * share
        if row.p99_ms is not None and row.p99_of == p99_of:
            self.p99_windows += row.windows
            self.p99 += (row.p99_ms - self.p99) * row.windows / self.p99_windows

    @property
    def metrics(self) -> dict[str, float]:
        found = {QPS.name: self.qps} if self.has_qps else {}
        found |= {} if self.tps is None else {TPS.name: self.tps}
        return found | ({P99.name: self.p99} if self.p99_windows else {})


@dataclass(frozen=True)
class Week:
    """The hours of a database in both spans, with the kind of p99 that is compared."""

    p99_of: str
    hours: Mapping[datetime, Hour]

    def within(self, since: datetime, until: datetime) -> dict[datetime, Hour]:
        return {at: hour for at, hour in self.hours.items() if since <= at < until}


def weeks(rows: Iterable[LoadHour], span: Span) -> dict[str, Week]:
    """By database. The rows are in the order of their hours."""
    by_database: dict[str, list[LoadHour]] = {}
    for row in rows:
        by_database.setdefault(row.database_id, []).append(row)
    return {id_: _week(found, span) for id_, found in by_database.items()}


def _week(rows: Sequence[LoadHour], span: Span) -> Week:
    """Its p99 is of the kind that most of this span's windows have, or else of the former span's."""
    counted = [Counter[str](), Counter[str]()]
    for row in rows:
        if row.p99_of:
            counted[row.hour < span.since][row.p99_of] += row.windows
    p99_of = next((c.most_common(1)[0][0] for c in counted if c), "")
    hours: dict[datetime, Hour] = {}
    for row in rows:
        hours.setdefault(row.hour, Hour()).add(row, p99_of)
    return Week(p99_of, hours)


def figures(week: Week | None, since: datetime, until: datetime) -> Document:
    """The load in a part of a span: p99 is the median of its hours."""
    hours = week.within(since, until).values() if week else ()
    p99 = [h.p99 for h in hours if h.p99_windows]
    qps = [h.qps for h in hours if h.has_qps]
    return {
        "start": since,
        "end": until,
        "hours": len(hours),
        "p99_ms": median(p99) if p99 else None,
        "worst_p99_ms": max(p99, default=None),
        "qps": fmean(qps) if qps else None,
    }


def daily(week: Week | None, span: Span) -> list[Document]:
    """The same for each day of both spans; the last one ends now."""
    starts = [span.before + day * DAY for day in range(2 * span.days)]
    return [figures(week, start, span.until if start + DAY == span.full else start + DAY) for start in starts]


def missed(week: Week | None, span: Span, registered: datetime) -> int:
    """The complete hours of the span, since the registration, without a window."""
    first = max(span.since, registered + HOUR)
    hours = week.within(first, span.full) if week else {}
    return max((span.full - first) // HOUR - len(hours), 0)


def compared(found: Mapping[str, Week], span: Span) -> dict[str, Document]:
    """The p99 of this span against the one before at comparable load, by database: of those that differ most."""
    apart = {id_: _apart(week, span) for id_, week in found.items()}
    most = sorted((id_ for id_, by in apart.items() if by is not None), key=lambda id_: -(apart[id_] or 0.0))
    judged = {id_: _judged(found[id_], span) for id_ in most[:COMPARED]}
    return {id_: {**found.to_dict(), "sentence": sentence(found)} for id_, found in judged.items()}


def difference(compared: Document | None) -> float:
    """The size of a change that was seen, in logarithms; 0 if none was seen."""
    if compared is None or compared["verdict"] not in ("better", "worse"):
        return 0.0
    return abs(math.log(compared["ratio"]))


def _apart(week: Week, span: Span) -> float | None:
    """The distance between the medians; None if one of them is unknown or 0."""
    spans = ((span.before, span.since), (span.since, span.until))
    was, now = (figures(week, *ends)["p99_ms"] for ends in spans)
    return abs(math.log(now / was)) if was and now else None


def _judged(week: Week, span: Span) -> Judgement:
    was = _blocks(week, span.before, span.since)
    return judge(was, _blocks(week, span.since, span.until), FASTER)


def _blocks(week: Week, since: datetime, until: datetime) -> list[LoadedWindow]:
    """At most 21 windows, each the mean over the hours of an equal part of the span."""
    length = math.ceil((until - since) / BLOCKS / HOUR) * HOUR
    parts: dict[datetime, list[Mapping[str, float]]] = {}
    for at, hour in week.within(since, until).items():
        if hour.p99_windows:
            parts.setdefault(since + (at - since) // length * length, []).append(hour.metrics)
    return [LoadedWindow(start.timestamp(), length.total_seconds(), _means(parts[start])) for start in sorted(parts)]


def _means(found: Sequence[Mapping[str, float]]) -> dict[str, float]:
    names = dict.fromkeys(name for metrics in found for name in metrics)
    return {name: fmean(m[name] for m in found if name in m) for name in names}

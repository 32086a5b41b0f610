"""The telemetry of a PostgreSQL server: its statistics views, its running transactions, and two extensions if they are
installed.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from pathlib import Path

from lutra_agent.engines.common.answers import Attempts, reading, understood
from lutra_agent.engines.common.telemetry import Latency, Reading, Sample, Targets, Visible
from lutra_agent.engines.postgresql.server.connect import STATEMENT_TIMEOUT_MS, Connection
from lutra_agent.engines.postgresql.server.session import Details, Session
from lutra_agent.engines.postgresql.telemetry import histogram, statements
from lutra_agent.engines.postgresql.telemetry.ages.bins import RANGES, Counts
from lutra_agent.engines.postgresql.telemetry.ages.distribution import Percentile, Seen, masses, percentile, together
from lutra_agent.engines.postgresql.telemetry.ages.sampler import SEES, TRACKED, Looks, Sampler
from lutra_agent.engines.postgresql.telemetry.collect import Collect, Kept
from lutra_agent.engines.postgresql.telemetry.log.durations import Durations
from lutra_agent.engines.postgresql.telemetry.log.durations import p99 as logged_p99
from lutra_agent.engines.postgresql.telemetry.log.reader import LogReader
from lutra_agent.engines.postgresql.telemetry.visible import log, transactions, visible
from lutra_agent.errors import CollectionFailed

NAME = "data"
EVERY_S = 600.0
LONGEST_MS = 100
TOO_LONG = "[57014]"
AGAIN_S = 86400.0
"""The pause after a query that took too long: a server with that many files is queried again only the next day."""
SIZES = """SELECT CASE WHEN bool_and(readable)
THEN sum(CASE WHEN readable THEN pg_database_size(oid) END)::float8 END AS bytes
FROM (SELECT oid, has_database_privilege(oid, 'CONNECT') OR pg_has_role('pg_read_all_stats', 'USAGE') AS readable
FROM pg_database WHERE datallowconn AND NOT datistemplate) d"""
"""Nothing if the account may not read the size of one, because a part would be mistaken for the whole."""

ROOM = "room"

ERROR = "p99_error_share"
"""The standard error of a sampled p99, as a share of it."""
ENDS = ("xact_commit", "xact_rollback")
FAILED = ("deadlocks", "conflicts")
"""The server's counters of failures. A rollback is not one: clients use it to end transactions that only read."""
UNUSED = 3
"""The number of samples without a request for a window, as under a driver, after which nothing is watched in between.
"""

UNCOUNTED_SINCE = 15
"""From this version on a backend that has touched no table reports no transactions (pgstat_report_stat)."""
FEWEST_SAMPLES = 20
MOST_OF_SEVERAL = 0.002
"""The share of multi-statement transactions among those seen to end, above which only the ages represent all."""


@dataclass(frozen=True)
class Sources:
    """The available sources of statements and p99; None for a missing one. They change only with a restart."""

    started: str
    statements: statements.StatementsView | None
    histogram: histogram.HistogramView | None
    watched: bool


@dataclass(frozen=True)
class SourceReadings:
    """Their readings at a sample.

    `own` are the agent's transactions that the server's counters had by then: a session reports them once a second at
    most, at the end of one, and so those from before the sample alone.
    """

    statements: statements.Statements | None = None
    histogram: histogram.Histogram | None = None
    looks: Looks | None = None
    logged: Durations | None = None
    own: int = 0


class PostgresTelemetry:
    """Without a `sampler` running transactions are not sampled; without `log` the server's log is not read."""

    def __init__(self, session: Session, sampler: Sampler | None = None, log: LogReader | None = None) -> None:
        self._log = log
        self._session = session
        self._sampler = sampler
        self._reader = statements.StatementsReader()
        self._data_size = DataSize()
        self._sources: Sources | None = None
        self._peak = 0.0
        self._unused = 0
        self._kept = Kept()

    @property
    def peak_connections(self) -> int:
        return int(self._peak)

    def sample(self, at: datetime, monotonic_s: float) -> Sample:
        details, asked = self._session.details(), self._session.connection.asked
        collect = Collect(self._session.connection, details.major, self._kept)
        sample = collect.sample(at, monotonic_s, details.started)
        if "activity" in sample.readings:
            self._peak = max(self._peak, sample.readings["activity"].gauges.get("connections", 0.0))
        attempts, connection = Attempts(), self._session.connection
        more = {
            ROOM: None if details.data_dir is None else log_room(details.data_dir),
            NAME: attempts.tried(NAME, partial(self._data_size.reading, connection, monotonic_s, details.started)),
        }
        found = {**sample.readings, **{name: reading for name, reading in more.items() if reading is not None}}
        readings, problems = self._readings(details)
        readings = replace(readings, own=readings.own + asked)
        every = (*sample.problems, *attempts.problems, *problems)
        return replace(sample, readings=found, statements=readings, problems=every)

    def targets(self, before: Sample, after: Sample) -> Targets:
        self._unused = 0
        seconds = after.monotonic_s - before.monotonic_s
        first, last = before.statements or SourceReadings(), after.statements or SourceReadings()
        found = _from_extensions(first, last, seconds)
        old, new = (s.readings.get("database", Reading()).counters for s in (before, after))
        grew = {name: new[name] - old[name] for name in old.keys() & new.keys()}
        if not grew.keys() >= {*ENDS}:
            return found
        ended = max(sum(grew[name] for name in ENDS) - (last.own - first.own), 0.0)
        failed = sum(grew.get(name, 0.0) for name in FAILED)
        errors = {"error_share": min(max(failed / ended, 0.0), 1.0)} if ended else {}
        found = replace(found, metrics={**found.metrics, **errors, "tps": ended / seconds})
        if last.logged is not None:
            return _logged(found, first, last, seconds)
        return found if last.looks is None else _watched(found, first.looks, last.looks, ended, seconds)

    @understood("the rights of the account")
    def visible(self) -> tuple[Visible, ...]:
        details = self._session.details()
        found, connection = self._found(details), self._session.connection
        best = []
        if self._log is not None:
            best.append(log(self._log.objection(connection, details.data_dir)))
        if self._sampler is not None:
            best.append(transactions(found.watched, bool(connection.row(TRACKED)[0])))
        return (*best, *visible(connection, details.major, found.statements, found.histogram))

    def _found(self, details: Details) -> Sources:
        """Looked for again after each restart."""
        if self._sources is None or self._sources.started != details.started:
            connection = self._session.connection
            watched = self._sampler is not None and not connection.pooled and bool(connection.row(SEES)[0])
            views = statements.find(connection), histogram.find(connection)
            self._sources = Sources(details.started, *views, watched)
        return self._sources

    def _readings(self, details: Details) -> tuple[SourceReadings, list[str]]:
        """What each source showed, and why one of them showed nothing: the others are read all the same."""
        connection, attempts = self._session.connection, Attempts()
        tried = attempts.tried
        found = tried("sources", lambda: self._found(details)) or Sources(details.started, None, None, False)
        counted, timed = found.statements, found.histogram
        looks = self._looks() if found.watched else None
        readings = SourceReadings(
            tried("statements", lambda: self._reader.read(connection, counted)) if counted else None,
            tried("pg_stat_monitor", lambda: histogram.read(connection, timed)) if timed else None,
            looks,
            tried("log", lambda: self._logged(details)),
            own=looks.samples if looks is not None and details.major < UNCOUNTED_SINCE else 0,
        )
        return readings, [*attempts.problems, *filter(None, [self._reader.problem])]

    def _logged(self, details: Details) -> Durations | None:
        return None if self._log is None else self._log.read(self._session.connection, details.data_dir)

    def _looks(self) -> Looks | None:
        if self._sampler is None:
            return None
        self._unused += 1
        if self._unused > UNUSED:
            self._sampler.stop()
        else:
            self._sampler.start()
        return self._sampler.looks()


def _from_extensions(before: SourceReadings, after: SourceReadings, seconds: float) -> Targets:
    """qps and p99: a histogram is a measurement and goes before the estimate."""
    found = Targets()
    if before.statements is not None and after.statements is not None:
        found = statements.targets(before.statements, after.statements, seconds)
    if before.histogram is not None and after.histogram is not None:
        p99_ms = histogram.p99_ms(before.histogram, after.histogram)
        if p99_ms is not None:
            found = replace(found, latency=Latency(p99_ms, "histogram", "statement"))
    return found


def _watched(found: Targets, before: Looks | None, after: Looks, transactions: float, seconds: float) -> Targets:
    """A window in which too little was seen has no p99: another source's would be another quantity."""
    told = None if before is None else p99(before, after, transactions, seconds)
    if told is None:
        return replace(found, latency=None)
    return _sampled(found, Latency(told.ms, "activity", "transaction"), told.error_share)


def _logged(found: Targets, before: SourceReadings, after: SourceReadings, seconds: float) -> Targets:
    """As the log tells; a window of which it told too little has no p99."""
    if before.logged is None or after.logged is None:
        return replace(found, latency=None)
    qps, first, last = found.metrics.get("qps"), before.looks, after.looks
    outside = None if first is None or last is None else last.outside - first.outside
    told = logged_p99(before.logged, after.logged, None if qps is None else qps * seconds, outside)
    if told is None:
        return replace(found, latency=None)
    return _sampled(found, Latency(told.ms, "log", told.of), told.error_share)


def _sampled(found: Targets, latency: Latency, error_share: float) -> Targets:
    return replace(found, metrics={**found.metrics, ERROR: error_share}, latency=latency)


def p99(before: Looks, after: Looks, transactions: float, window_s: float) -> Percentile | None:
    """None if too few transactions ended in the window or were sampled. `transactions` are all but the agent's."""
    samples, several = after.samples - before.samples, after.several - before.several
    if samples < FEWEST_SAMPLES:
        return None
    ended = after.ended - before.ended
    if several > MOST_OF_SEVERAL * (several + ended.total):
        ended = Counts((0,) * RANGES)
    seen = Seen(after.ages - before.ages, ended, samples, transactions, window_s * 1000)
    fitted = masses(seen)
    return None if fitted is None else percentile(seen, together(fitted, after.outside - before.outside))


def log_room(data_dir: Path) -> Reading | None:
    """Gauges in bytes. The free space is the part that an ordinary account may write.

    A log's folder that this account may not look into is assumed to be next to the data. None if neither is visible.
    """
    for folder in (data_dir / "pg_wal", data_dir):
        try:
            s = os.statvfs(folder)
        except OSError:
            continue
        free, used = s.f_bavail * s.f_frsize, (s.f_blocks - s.f_bfree) * s.f_frsize
        return Reading(gauges={"log_free_bytes": float(free), "log_bytes": float(free + used)})
    return None


class DataSize:
    """The server examines each file, and takes no lock. Behind a pooler the query is not sent: the limit would apply to
    other clients, too.
    """

    def __init__(self) -> None:
        self._started = ""
        self._next_s = 0.0
        self._last: Reading | None = None

    def reading(self, connection: Connection, monotonic_s: float, started: str) -> Reading | None:
        """None if it is not known. `started` identifies this start of the server.

        Raises CollectionFailed, and asks again at the next sample.
        """
        if connection.pooled:
            return None
        if started != self._started or monotonic_s >= self._next_s:
            self._last = _sizes(connection)
            self._started = started
            self._next_s = monotonic_s + (EVERY_S if self._last is not None else AGAIN_S)
        return self._last


def _sizes(connection: Connection) -> Reading | None:
    """None if the look took too long, or the account may not read all of it. Raises CollectionFailed."""
    connection.rows(f"SET statement_timeout = {LONGEST_MS}")
    try:
        found = connection.rows(SIZES)
    except CollectionFailed as error:
        if TOO_LONG not in str(error):
            raise
        return None
    finally:
        connection.rows(f"SET statement_timeout = {STATEMENT_TIMEOUT_MS}")
    size = found[0][0] if found and found[0] else None
    return reading({"bytes": size}, frozenset({"bytes"})) if size is not None else None

"""p99 from pg_stat_monitor's response-time histograms, where that extension (2.0 or later) is installed.

It keeps counts per statement in time buckets, of which a new one begins every minute or so; two readings give the
executions in between, bucket by bucket.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass

from lutra_agent.engines.common.telemetry import percentile
from lutra_agent.engines.postgresql.server.connect import APPLICATION, Connection, quoted
from lutra_agent.errors import CollectionFailed

SINCE = (2, 0)


@dataclass(frozen=True)
class Histogram:
    """Executions per response-time range since each time bucket began. `bounds` are the ranges' ends, in ms."""

    bounds: tuple[tuple[float, float], ...]
    counts: Mapping[str, tuple[int, ...]]


@dataclass(frozen=True)
class HistogramView:
    """The schema of the extension, and the ranges of its configuration; they change only with a restart."""

    schema: str
    bounds: tuple[tuple[float, float], ...]

    @property
    def query(self) -> str:
        source = f"FROM {self.schema}.pg_stat_monitor WHERE toplevel AND application_name IS DISTINCT FROM %s"
        return f"SELECT bucket_start_time::text, resp_calls {source}"


def find(connection: Connection) -> HistogramView | None:
    found = connection.rows(
        "SELECT extversion, n.nspname FROM pg_extension e JOIN pg_namespace n ON n.oid = extnamespace "
        "WHERE extname = 'pg_stat_monitor'"
    )
    if not found or tuple(int(p) for p in re.findall(r"\d+", found[0][0])[:2]) < SINCE:
        return None
    schema = quoted(found[0][1])
    try:
        bounds = parse_bounds(connection.row(f"SELECT {schema}.get_histogram_timings()")[0])
        read(connection, HistogramView(schema, bounds))
    except CollectionFailed:
        return None  # created, but not loaded, or not this account's to read
    return HistogramView(schema, bounds) if bounds else None


def read(connection: Connection, view: HistogramView) -> Histogram:
    counts: dict[str, tuple[int, ...]] = {}
    for bucket, calls in connection.rows(view.query, (APPLICATION,)):
        old = counts.get(bucket, (0,) * len(view.bounds))
        counts[bucket] = tuple(a + int(b) for a, b in zip(old, calls or (), strict=False)) or old
    return Histogram(view.bounds, counts)


def parse_bounds(text: str) -> tuple[tuple[float, float], ...]:
    """`{{0.000 - 1.000}, (1.000 - 2.778}, … (100000.000 - ...}}` as (from, to) in ms; the last is open."""
    pairs = re.findall(r"(?<!\d)(\d++(?:\.\d++)?)\s*+-\s*+(\d++(?:\.\d++)?|\.\.\.)", text)
    return tuple((float(low), math.inf if high == "..." else float(high)) for low, high in pairs)


def p99_ms(before: Histogram, after: Histogram) -> float | None:
    """The 99th percentile of the statements between two readings.

    None if nothing ran, if the counts were reset, or if the percentile lies in the open range, which has no end.
    """
    counts = [0] * len(after.bounds)
    for bucket, calls in after.counts.items():
        old = before.counts.get(bucket, (0,) * len(calls))
        counts = [c + new - was for c, new, was in zip(counts, calls, old, strict=True)]
    if before.bounds != after.bounds or min(counts, default=-1) < 0:
        return None
    return percentile(after.bounds, counts)

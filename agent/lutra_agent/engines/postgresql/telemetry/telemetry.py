"""What a PostgreSQL server does: its statistics views, and the two extensions where they are installed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime

from lutra_agent.engines.common.telemetry import Latency, Sample, Targets, Visible
from lutra_agent.engines.postgresql.server.session import Details, Session
from lutra_agent.engines.postgresql.telemetry import histogram, statements
from lutra_agent.engines.postgresql.telemetry.collect import Collect
from lutra_agent.engines.postgresql.telemetry.visible import visible
from lutra_agent.errors import CollectionFailed


@dataclass(frozen=True)
class Extensions:
    """The two extensions' views, None where one is not installed. They may change with a restart alone."""

    started: str
    statements: statements.StatementsView | None
    histogram: histogram.HistogramView | None


@dataclass(frozen=True)
class ExtensionReadings:
    """What the two extensions showed at a sample, where they are installed."""

    statements: statements.Statements | None = None
    histogram: histogram.Histogram | None = None


class PostgresTelemetry:
    def __init__(self, session: Session) -> None:
        self._session = session
        self._reader = statements.StatementsReader()
        self._extensions: Extensions | None = None
        self._peak = 0.0

    @property
    def peak_connections(self) -> int:
        return int(self._peak)

    def sample(self, at: datetime, monotonic_s: float) -> Sample:
        details = self._session.details()
        sample = Collect(self._session.connection, details.major).sample(at, monotonic_s)
        if "activity" in sample.readings:
            self._peak = max(self._peak, sample.readings["activity"].gauges["connections"])
        try:
            return replace(sample, statements=self._extension_readings(self._found(details)))
        except CollectionFailed as error:
            return replace(sample, problems=(*sample.problems, f"statements: {error}"))

    def targets(self, before: Sample, after: Sample) -> Targets:
        seconds = after.monotonic_s - before.monotonic_s
        found = _from_extensions(
            before.statements or ExtensionReadings(), after.statements or ExtensionReadings(), seconds
        )
        old, new = before.readings.get("database"), after.readings.get("database")
        if old is None or new is None:
            return found
        committed, rolled_back = (new.counters[c] - old.counters[c] for c in ("xact_commit", "xact_rollback"))
        ended = max(committed + rolled_back, 0.0)
        errors = {"error_share": min(max(rolled_back / ended, 0.0), 1.0)} if ended else {}
        return replace(found, metrics={**found.metrics, **errors, "tps": ended / seconds})

    def visible(self) -> tuple[Visible, ...]:
        details = self._session.details()
        extensions = self._found(details)
        return visible(self._session.connection, details.major, extensions.statements, extensions.histogram)

    def _found(self, details: Details) -> Extensions:
        """Looked for again after each restart."""
        if self._extensions is None or self._extensions.started != details.started:
            connection = self._session.connection
            self._extensions = Extensions(details.started, statements.find(connection), histogram.find(connection))
        return self._extensions

    def _extension_readings(self, extensions: Extensions) -> ExtensionReadings:
        connection, views = self._session.connection, extensions
        return ExtensionReadings(
            self._reader.read(connection, views.statements) if views.statements else None,
            histogram.read(connection, views.histogram) if views.histogram else None,
        )


def _from_extensions(before: ExtensionReadings, after: ExtensionReadings, seconds: float) -> Targets:
    """qps and p99: a histogram is a measurement and goes before the estimate."""
    found = Targets()
    if before.statements is not None and after.statements is not None:
        found = statements.targets(before.statements, after.statements, seconds)
    if before.histogram is not None and after.histogram is not None:
        p99 = histogram.p99_ms(before.histogram, after.histogram)
        if p99 is not None:
            found = replace(found, latency=Latency(p99, "histogram", "statement"))
    return found

"""Runs the collectors that this server's version has, each on its own: one that fails is skipped, the others go on."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from typing import Any

from lutra_agent.engines.common.telemetry import Reading, Sample
from lutra_agent.engines.postgresql.server.connect import Connection
from lutra_agent.engines.postgresql.telemetry.collectors import COLLECTORS
from lutra_agent.engines.postgresql.telemetry.collectors.base import Collector
from lutra_agent.errors import CollectionFailed

STARTED = "SELECT pg_postmaster_start_time()::text"


class Collect:
    """One sample of every collector."""

    def __init__(self, connection: Connection, major: int) -> None:
        self._connection = connection
        self._queries = [(c, q) for c in COLLECTORS if (q := c.query(major)) is not None]

    def sample(self, at: datetime, monotonic_s: float) -> Sample:
        started = self._connection.row(STARTED)[0]
        readings: dict[str, Reading] = {"server": Reading(epoch=started)}
        problems = []
        for collector, query in self._queries:
            try:
                readings[collector.name] = self._read(collector, query)
            except CollectionFailed as error:
                problems.append(f"{collector.name}: {error}")
        return Sample(at, monotonic_s, readings, problems=tuple(problems))

    def _read(self, collector: Collector, query: str) -> Reading:
        names, values = self._connection.named_row(query)
        return reading(collector, dict(zip(names, values, strict=True)))


def reading(collector: Collector, row: dict[str, Any]) -> Reading:
    """A row of numbers, its `epoch` column apart; what the server leaves NULL is absent."""
    epoch = row.pop("epoch", None)
    numbers = {n: float(v) for n, v in row.items() if isinstance(v, int | float | Decimal)}
    return Reading(
        {n: v for n, v in numbers.items() if n not in collector.gauges},
        {n: v for n, v in numbers.items() if n in collector.gauges},
        "" if epoch is None else str(epoch),
    )

"""Runs the collectors that this server's version has, each on its own: one that fails is skipped, the others go on."""

from __future__ import annotations

from datetime import datetime
from functools import partial

from lutra_agent.engines.common.answers import Attempts, reading
from lutra_agent.engines.common.telemetry import Reading, Sample
from lutra_agent.engines.postgresql.server.connect import Connection
from lutra_agent.engines.postgresql.telemetry.collectors import COLLECTORS
from lutra_agent.engines.postgresql.telemetry.collectors.base import Collector


class Collect:
    """One sample of every collector."""

    def __init__(self, connection: Connection, major: int) -> None:
        self._connection = connection
        self._queries = [(c, q) for c in COLLECTORS if (q := c.query(major)) is not None]

    def sample(self, at: datetime, monotonic_s: float, started: str) -> Sample:
        """`started` tells this start of the server from any other."""
        readings, attempts = {"server": Reading(epoch=started)}, Attempts()
        for collector, query in self._queries:
            found = attempts.tried(collector.name, partial(self._read, collector, query))
            if found is not None:
                readings[collector.name] = found
        return Sample(at, monotonic_s, readings, problems=tuple(attempts.problems))

    def _read(self, collector: Collector, query: str) -> Reading:
        """A row of numbers, its `epoch` column apart."""
        names, values = self._connection.named_row(query)
        row = dict(zip(names, values, strict=True))
        epoch = row.pop("epoch", None)
        return reading(row, collector.gauges, epoch)

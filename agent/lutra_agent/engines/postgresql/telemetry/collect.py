"""Runs the collectors of this server's version, each separately: one that fails is skipped, the others continue."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from functools import partial

from lutra_agent.engines.common.answers import Attempts, reading
from lutra_agent.engines.common.telemetry import Reading, Sample
from lutra_agent.engines.postgresql.server.connect import Connection
from lutra_agent.engines.postgresql.telemetry.collectors.base import Collector
from lutra_agent.engines.postgresql.telemetry.collectors.counters import COLLECTORS
from lutra_agent.engines.postgresql.telemetry.collectors.states import STATES
from lutra_agent.engines.postgresql.telemetry.upkeep import UPKEEP
from lutra_agent.engines.postgresql.telemetry.waits import WAITS

EVERY = (*COLLECTORS, *STATES, *UPKEEP, *WAITS)


@dataclass
class Kept:
    """Readings of values that change seldom, each with its time, and the requested rights, for one start of a
    server.
    """

    started: str = ""
    readings: dict[str, tuple[float, Reading]] = field(default_factory=dict)
    rights: dict[str, tuple[float, bool]] = field(default_factory=dict)


RIGHTS_S = 600.0
"""The time for which a right that was present or missing is assumed to stay so."""


class Collect:
    """One sample of every collector, except those in `kept`."""

    def __init__(self, connection: Connection, major: int, kept: Kept | None = None) -> None:
        self._connection = connection
        self._kept = Kept() if kept is None else kept
        self._queries = [(c, q) for c in EVERY if (q := c.query(major)) is not None]

    def sample(self, at: datetime, monotonic_s: float, started: str) -> Sample:
        """`started` identifies this start of the server."""
        if self._kept.started != started:
            self._kept.started, self._kept.readings, self._kept.rights = started, {}, {}
        readings, attempts = {"server": Reading(epoch=started)}, Attempts()
        for collector, query in self._queries:
            found = attempts.tried(collector.name, partial(self._seldom, collector, query, monotonic_s))
            if found is not None:
                readings[collector.name] = found
        return Sample(at, monotonic_s, readings, problems=tuple(attempts.problems))

    def _seldom(self, collector: Collector, query: str, now_s: float) -> Reading | None:
        """None if the account has no right to it."""
        kept = self._kept.readings.get(collector.name)
        if kept is not None and 0 <= now_s - kept[0] < collector.every_s:
            return kept[1]
        if not self._may(collector, now_s):
            return None
        found = self._read(collector, query)
        if collector.every_s:
            self._kept.readings[collector.name] = now_s, found
        return found

    def _may(self, collector: Collector, now_s: float) -> bool:
        if not collector.right:
            return True
        asked = self._kept.rights.get(collector.name)
        if asked is None or not 0 <= now_s - asked[0] < RIGHTS_S:
            asked = now_s, bool(self._connection.row(f"SELECT {collector.right}")[0])
            self._kept.rights[collector.name] = asked
        return asked[1]

    def _read(self, collector: Collector, query: str) -> Reading:
        """A row of numbers and names, its `epoch` column apart."""
        names, values = self._connection.named_row(query)
        row = dict(zip(names, values, strict=True))
        epoch = row.pop("epoch", None)
        gauges = frozenset(row) if collector.gauges is None else collector.gauges
        return reading(row, gauges, epoch, collector.texts)

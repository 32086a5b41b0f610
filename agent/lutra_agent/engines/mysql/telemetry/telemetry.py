"""The telemetry of a server of the family: its status variables, its views, and its histogram of response times."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Protocol

from lutra_agent.engines.common.answers import Attempts, certain, number_in, text, understood
from lutra_agent.engines.common.telemetry import Reading, Sample, Targets, Visible
from lutra_agent.engines.mysql.server import grants, replica
from lutra_agent.engines.mysql.server.connect import Connection
from lutra_agent.engines.mysql.server.session import Session
from lutra_agent.engines.mysql.telemetry.collectors.base import Status
from lutra_agent.engines.mysql.telemetry.collectors.counters import COLLECTORS
from lutra_agent.engines.mysql.telemetry.histogram import MS_PER_S, Histogram
from lutra_agent.engines.mysql.telemetry.states import STATES
from lutra_agent.engines.mysql.telemetry.targets import TargetCounters, targets
from lutra_agent.engines.mysql.telemetry.work import WORK
from lutra_agent.errors import CollectionFailed

EVERY = (*COLLECTORS, *STATES, *WORK)
CUT = ("Max_statement_time_exceeded", "Max_execution_time_exceeded")
"""Statements that exceeded their time limit. Statements of the agent with a short limit do not count."""
OWN = f"SHOW SESSION STATUS WHERE Variable_name IN ('Questions', {', '.join(map(repr, CUT))})"
ABSENT = "this server has none of it"


class Figures(Protocol):
    """Counters whose place differs between MySQL and MariaDB."""

    def histogram(self, connection: Connection) -> Histogram | None: ...

    def transactions(self, connection: Connection) -> float | None:
        """Transactions that ended since the server started, if it counts them all."""
        ...

    def visible(self, connection: Connection, held: frozenset[str], account: str) -> tuple[Visible, ...]:
        """`held` are the privileges of the account."""
        ...


class MysqlTelemetry:
    def __init__(self, session: Session, figures: Figures) -> None:
        self._session = session
        self._connection = session.connection
        self._figures = figures
        self._standstill = replica.Standstill()
        self._peak = 0.0

    @property
    def peak_connections(self) -> int:
        return int(self._peak)

    @understood("the server's counters")
    def sample(self, at: datetime, monotonic_s: float) -> Sample:
        self._session.details()
        attempts, status = Attempts(), self._status()
        own = attempts.tried("own statements", self._own) or {}
        status = _without(status, own)
        readings = {"server": self._epoch(status), **self._readings(status, attempts)}
        self._peak = max(self._peak, readings["threads"].gauges.get("most_used", 0.0) if "threads" in readings else 0.0)
        if "replication" in readings:
            readings["replication"] = self._standstill.with_lag(readings["replication"], monotonic_s)
        histogram = attempts.tried("histogram", self._histogram)
        ended = attempts.tried("transactions", lambda: self._figures.transactions(self._connection))
        return Sample(
            at, monotonic_s, readings, TargetCounters(own.get("Questions"), histogram, ended), tuple(attempts.problems)
        )

    def targets(self, before: Sample, after: Sample) -> Targets:
        return targets(before, after)

    @understood("the rights of the account")
    def visible(self) -> tuple[Visible, ...]:
        self._session.details()
        held, account = grants.read(self._connection)
        status = self._status()
        seen = []
        for collector in EVERY:
            try:
                there = collector.read(self._connection, status) is not None
                seen.append(Visible(collector.view, there, "" if there else getattr(collector, "absent", "") or ABSENT))
            except CollectionFailed as error:
                seen.append(Visible(collector.view, False, str(error)))
        return (*seen, *self._figures.visible(self._connection, held, account))

    def _status(self) -> Status:
        return {text(n): text(v) for n, v in self._connection.rows("SHOW GLOBAL STATUS")}

    def _histogram(self) -> Histogram | None:
        # The statement that reads the histogram is in the next one: the server counts it when it is over.
        own, self._connection.durations_s = self._connection.durations_s, []
        found = self._figures.histogram(self._connection)
        return found and replace(found, own_ms=tuple(MS_PER_S * s for s in own))

    def _own(self) -> dict[str, float]:
        """What the server counts of the agent's own statements, by the names of its status variables."""
        found = {text(n): certain(float(v)) for n, v in self._connection.rows(OWN)}
        return {**found, "Questions": found["Questions"] + self._connection.further_questions}

    def _readings(self, status: Status, attempts: Attempts) -> dict[str, Reading]:
        readings = {}
        for collector in EVERY:
            found = attempts.tried(collector.name, partial(collector.read, self._connection, status))
            if found is not None:
                readings[collector.name] = found
        return readings

    def _epoch(self, status: Status) -> Reading:
        """FLUSH STATUS makes the second clock go back; a restart ends the connection."""
        uptimes = {"uptime_s": "Uptime", "uptime_since_flush_s": "Uptime_since_flush_status"}
        counters = {ours: n for ours, theirs in uptimes.items() if (n := number_in(status.get(theirs))) is not None}
        up = {"up_s": counters["uptime_s"]} if "uptime_s" in counters else {}
        return Reading(counters, up, epoch=str(self._connection.generation))


def _without(status: Status, own: Mapping[str, float]) -> Status:
    """The server's status without the agent's statements that ran out of time; without any where these are unknown."""
    counted = {n: number_in(status.get(n)) for n in CUT if n in own}
    others = {n: str(max(all_ - own[n], 0.0)) for n, all_ in counted.items() if all_ is not None}
    return {**{n: v for n, v in status.items() if n not in CUT}, **others}

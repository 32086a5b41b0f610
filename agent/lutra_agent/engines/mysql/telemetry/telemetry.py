"""The telemetry of a server of the family: its status variables, its views, and its histogram of response times."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import Protocol

from lutra_agent.engines.common.answers import Attempts, certain, number_in, text, understood
from lutra_agent.engines.common.telemetry import Latency, Reading, Sample, Targets, Visible
from lutra_agent.engines.mysql.server import grants, replica
from lutra_agent.engines.mysql.server.connect import Connection
from lutra_agent.engines.mysql.server.session import Session
from lutra_agent.engines.mysql.telemetry.collectors.base import Status
from lutra_agent.engines.mysql.telemetry.collectors.counters import COLLECTORS
from lutra_agent.engines.mysql.telemetry.histogram import MS_PER_S, Histogram, p99_ms
from lutra_agent.engines.mysql.telemetry.states import STATES
from lutra_agent.engines.mysql.telemetry.work import WORK
from lutra_agent.errors import CollectionFailed

REFUSED = ("refused", "refused_internal", "refused_accept", "refused_select")
"""Connections that the server had no capacity for. A wrong password is the client's own error."""
LOCKED = ("lock_deadlocks", "lock_timeouts")
OVER_TIME = ("over_statement_time", "over_execution_time")
NOT_REFUSED = ("aborted_before_login", "access_denied")

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


@dataclass(frozen=True)
class TargetCounters:
    """The components of the targets. `own_questions` are the agent's, which are subtracted from the server's count.

    A value that could not be read is None.
    """

    own_questions: float | None
    histogram: Histogram | None
    transactions: float | None


def targets(before: Sample, after: Sample) -> Targets:
    """Between two samples that no reset separates.

    `error_share` is the number of failures (statements that the server could not execute, connections that it refused)
    per ended transaction, or per statement if transactions are not counted. It is 1 if there are as many failures, or
    more. A rollback is not an error: clients use it to end transactions that only read.
    """
    seconds = after.monotonic_s - before.monotonic_s
    old, new = before.statements, after.statements
    if not isinstance(old, TargetCounters) or not isinstance(new, TargetCounters):
        return Targets()
    metrics = {}
    counted = _statements_between(before, after)
    if counted is not None and "questions" in counted:
        asked = max(counted["questions"] - _own(old, new), 0.0)
        metrics["qps"] = asked / seconds
        ended = _ended(old, new, counted)
        if ended is not None:
            metrics["tps"] = ended / seconds
        failed = _failed(before, after)
        if ended or asked or failed:
            metrics["error_share"] = failed / max(ended or asked, failed)
    p99 = p99_ms(old.histogram, new.histogram) if old.histogram and new.histogram else None
    return Targets(metrics, None if p99 is None else Latency(p99, "histogram", "statement"))


def _own(old: TargetCounters, new: TargetCounters) -> float:
    """The agent's own statements; none where they are not known."""
    if old.own_questions is None or new.own_questions is None:
        return 0.0
    return new.own_questions - old.own_questions


def _statements_between(before: Sample, after: Sample) -> dict[str, float] | None:
    if "statements" not in before.readings or "statements" not in after.readings:
        return None
    return _between(before, after, "statements")


def _ended(old: TargetCounters, new: TargetCounters, counted: Mapping[str, float]) -> float | None:
    """Transactions that ended: as the server counts them all, else COMMIT and ROLLBACK, where clients say so."""
    if old.transactions is not None and new.transactions is not None and new.transactions >= old.transactions:
        return new.transactions - old.transactions
    return counted.get("commit", 0.0) + counted.get("rollback", 0.0) or None


def _failed(before: Sample, after: Sample) -> float:
    """Statements that the server could not execute, and connections that were refused.

    Where the server does not count the former: statements that a deadlock or a time limit ended.
    """
    locks, ran = (_between(before, after, name) for name in ("innodb_metrics", "statements"))
    broken_off = sum(locks.get(name, 0.0) for name in LOCKED) + sum(ran.get(name, 0.0) for name in OVER_TIME)
    failed = _between(before, after, "failures").get("statements", 0.0)
    return max(failed, broken_off) + _refused(_between(before, after, "threads"))


def _refused(connections: Mapping[str, float]) -> float:
    counted = sum(connections.get(name, 0.0) for name in REFUSED)
    if not all(name in connections for name in NOT_REFUSED):
        return counted
    # MariaDB counts among `refused` only those that came while its one connection for administrators was taken too.
    return max(counted, connections.get("aborted_connects", 0.0) - sum(connections[name] for name in NOT_REFUSED))


def _between(before: Sample, after: Sample, collector: str) -> dict[str, float]:
    """By how much a collector's counters grew; one that an end lacks did not."""
    old, new = (s.readings.get(collector, Reading()).counters for s in (before, after))
    return {name: max(value - old.get(name, value), 0.0) for name, value in new.items()}

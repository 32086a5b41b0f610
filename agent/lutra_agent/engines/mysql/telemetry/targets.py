"""qps, tps, the share of errors and p99 of a window, from the server's counters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from lutra_agent.engines.common.telemetry import Latency, Reading, Sample, Targets
from lutra_agent.engines.mysql.telemetry.histogram import Histogram, p99_ms

REFUSED = ("refused", "refused_internal", "refused_accept", "refused_select")
"""Connections that the server had no capacity for. A wrong password is the client's own error."""
LOCKED = ("lock_deadlocks", "lock_timeouts")
OVER_TIME = ("over_statement_time", "over_execution_time")
NOT_REFUSED = ("aborted_before_login", "access_denied")


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

"""qps, tps, the share of errors and p99 of a window, from what the server counts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from lutra_agent.engines.base import Latency, Reading, Sample, Targets
from lutra_agent.engines.mysql.histogram import Histogram, p99_ms


@dataclass(frozen=True)
class Seen:
    """What the targets are made of. `own_questions` are the agent's, which the server's count has to be cleared of."""

    own_questions: float
    histogram: Histogram | None
    transactions: float | None


def targets(before: Sample, after: Sample) -> Targets:
    """Between two samples that no reset separates."""
    seconds = after.monotonic_s - before.monotonic_s
    old, new = before.statements, after.statements
    if not isinstance(old, Seen) or not isinstance(new, Seen):
        return Targets()
    metrics = {}
    counted = _statements_between(before, after)
    if counted is not None:
        metrics["qps"] = max(counted["questions"] - (new.own_questions - old.own_questions), 0.0) / seconds
        ended = _ended(old, new, counted)
        if ended is not None:
            metrics["tps"] = ended / seconds
        if ended:
            metrics["error_share"] = min((counted.get("rollback", 0.0) + _broken_off(before, after)) / ended, 1.0)
    p99 = p99_ms(old.histogram, new.histogram) if old.histogram and new.histogram else None
    return Targets(metrics, None if p99 is None else Latency(p99, "histogram", "statement"))


def _statements_between(before: Sample, after: Sample) -> dict[str, float] | None:
    old, new = before.readings.get("statements"), after.readings.get("statements")
    if old is None or new is None:
        return None
    return {n: v - old.counters.get(n, v) for n, v in new.counters.items()}


def _ended(old: Seen, new: Seen, counted: Mapping[str, float]) -> float | None:
    """Transactions that ended: as the server counts them all, else COMMIT and ROLLBACK, where clients say so."""
    if old.transactions is not None and new.transactions is not None and new.transactions >= old.transactions:
        return new.transactions - old.transactions
    return counted.get("commit", 0.0) + counted.get("rollback", 0.0) or None


def _broken_off(before: Sample, after: Sample) -> float:
    """Transactions that a deadlock or a lock's timeout ended."""
    old, new = (s.readings.get("innodb_metrics", Reading()).counters for s in (before, after))
    return sum(max(new[n] - old[n], 0.0) for n in ("lock_deadlocks", "lock_timeouts") if n in old and n in new)

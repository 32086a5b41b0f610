"""Logged durations, counted: of statements, or of the transactions that they make up."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from lutra_models.metrics import P99Of

from lutra_agent.engines.postgresql.telemetry.ages.bins import ENDS_MS, RANGES, RATIO, Counts, quantile_ms, range_of
from lutra_agent.engines.postgresql.telemetry.ages.distribution import together
from lutra_agent.engines.postgresql.telemetry.log.records import Duration
from lutra_agent.engines.postgresql.telemetry.log.settings import Logged

P99 = 0.99
FEWEST = 100
"""The least number of durations in a window: of fewer, a hundredth is less than one."""
MOST_OPEN = 2000
"""Transactions that have begun in the log and not ended: of backends that died, or whose end is not logged."""
CLOCK_MS = 1.0
"""The log has times in whole milliseconds, and durations in microseconds."""


@dataclass(frozen=True)
class Durations:
    """All durations in the log since the agent began: the count of each range, and the number of lines."""

    logged: Logged
    masses: tuple[float, ...]
    lines: tuple[int, ...]


@dataclass
class Open:
    """A transaction whose end is not in the log yet; `ahead_ms` went into parsing and binding its statement.

    Its `steps` so far took `spent_ms`, all together.
    """

    began_s: float
    within: bool = False
    ahead_ms: float = 0.0
    spent_ms: float = 0.0
    steps: int = 0


@dataclass
class Between:
    """The clients' time between two steps of a transaction, if it is too short for the log's clock.

    A difference of two of its times is off by up to a millisecond in either direction, and right on average.
    """

    ms: float = 0.0
    gaps: int = 0

    def whole_ms(self, told_ms: float, spent_ms: float, gaps: int) -> float:
        """The duration of a transaction, from `told_ms` by the log's clock and `spent_ms` of its steps."""
        if told_ms - spent_ms > 2 * CLOCK_MS:
            return told_ms
        self.ms += told_ms - spent_ms
        self.gaps += gaps
        likely = spent_ms + max(gaps * self.ms / max(self.gaps, 1), 0.0)
        return max(spent_ms, min(max(likely, told_ms - CLOCK_MS), told_ms + CLOCK_MS))


class Tally:
    """Adds up durations under one set of the server's rules."""

    def __init__(self, logged: Logged) -> None:
        self.logged = logged
        self._masses = [0.0] * RANGES
        self._lines = [0] * RANGES
        self._open: dict[int, Open] = {}
        self._between = Between()

    def add(self, durations: Iterable[Duration]) -> None:
        for found in durations:
            if self.logged.of == "transaction":
                self._step(found)
            elif found.part != "before":
                self._count(found.ms, self.logged.weight(found.ms))

    def durations(self) -> Durations:
        return Durations(self.logged, tuple(self._masses), tuple(self._lines))

    def _step(self, duration: Duration) -> None:
        """A transaction is as long as from the begin of its first step to the end of its last."""
        opened = self._open.pop(duration.pid, None)
        within = opened is not None and opened.within
        if duration.part in ("begin", "before") or (duration.part == "other" and within):
            opened = opened or Open(duration.at_s - duration.ms / 1000)
            opened.within = within or duration.part == "begin"
            opened.ahead_ms += duration.ms if duration.part == "before" else 0.0
            opened.spent_ms += duration.ms
            opened.steps += 1
            if len(self._open) < MOST_OPEN:
                self._open[duration.pid] = opened
        elif duration.part == "end" and opened is not None and within:
            rate = self.logged.transaction_rate
            told_ms = (duration.at_s - opened.began_s) * 1000
            ms = self._between.whole_ms(told_ms, opened.spent_ms + duration.ms, opened.steps)
            # A slow statement is logged in any case; a begin only in a transaction that was chosen.
            self._count(ms, self.logged.weight(0.0 if rate > 0 else ms))
        elif duration.part == "other":
            ms = duration.ms + (opened.ahead_ms if opened else 0.0)
            self._count(ms, self.logged.weight(ms))

    def _count(self, ms: float, weight: float) -> None:
        if weight > 0:
            place = range_of(ms)
            self._masses[place] += weight
            self._lines[place] += 1


@dataclass(frozen=True)
class LoggedP99:
    """`error_share` is the standard error of `ms`, as a share of it, from the number of lines."""

    ms: float
    error_share: float
    of: P99Of


def p99(
    before: Durations, after: Durations, statements: float | None, outside: Counts | None = None
) -> LoggedP99 | None:
    """The p99 of the lines between two readings. None if there were too few, or if the rules changed meanwhile.

    `statements` are all that ran, if known: the log contains none below its threshold. `outside` is the time of an
    answer in addition to its execution, as far as it was measured.
    """
    logged = after.logged
    if before.logged != logged or logged.least_ms is None:
        return None
    masses: Sequence[float] = [new - old for new, old in zip(after.masses, before.masses, strict=True)]
    lines = [new - old for new, old in zip(after.lines, before.lines, strict=True)]
    total = sum(masses)
    if logged.least_ms > 0:
        if statements is None:
            return None
        masses = [masses[0] + max(statements - total, 0.0), *masses[1:]]
    if sum(masses) < FEWEST or not any(lines) or quantile_ms(masses, P99) < logged.least_ms:
        return None
    masses = masses if outside is None else together(masses, outside)
    ms = quantile_ms(masses, P99)
    beyond = sum(n for n, end in zip(lines, ENDS_MS, strict=True) if end / math.sqrt(RATIO) >= ms)
    spread = math.log(quantile_ms(masses, 0.995) / max(quantile_ms(masses, 0.97), logged.least_ms, ENDS_MS[0]))
    return LoggedP99(ms, max(spread / math.log(6), math.log(RATIO) / 2) / math.sqrt(max(beyond, 0.5)), logged.of)

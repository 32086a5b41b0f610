"""Samples pg_stat_activity several times a second, in its own thread and over its own connection."""

from __future__ import annotations

import math
import random
import time
from dataclasses import dataclass

from lutra_agent.engines.common.answers import understood
from lutra_agent.engines.common.sampling import Sampling
from lutra_agent.engines.postgresql.server.connect import APPLICATION, Connection
from lutra_agent.engines.postgresql.telemetry.ages.bins import Counter, Counts

MOST_OF_A_CORE = 0.003
"""The thread's share of time: if one sample is expensive, it takes fewer."""
SHORTEST_S, LONGEST_S = 0.05, 1.0
SLOWLY = 0.1
OTHERS = 0.1

ENDS = r"^\s*(commit|end|rollback|abort|prepare\s+transaction)"
"""A statement that ends a transaction of several: its own duration is not the transaction's."""

LOOK = f"""SELECT extract(epoch FROM statement_timestamp()),
array_agg((extract(epoch FROM statement_timestamp() - xact_start) * 1000)::float4)
  FILTER (WHERE xact_start IS NOT NULL),
array_agg((extract(epoch FROM state_change - query_start) * 1000)::float4)
  FILTER (WHERE xact_start IS NULL AND query !~* '{ENDS}'),
count(*) FILTER (WHERE xact_start IS NULL AND query ~* '{ENDS}'),
extract(epoch FROM clock_timestamp() - now())
FROM pg_stat_get_activity(NULL)
WHERE backend_type = 'client backend' AND application_name IS DISTINCT FROM '{APPLICATION}' AND (xact_start IS NOT NULL
OR state = 'idle' AND query_start IS NOT NULL AND state_change > to_timestamp($1::float8))"""  # noqa: S608
"""Ages of the transactions that run, in ms, and durations of those whose connection has been idle since they ended.

An idle connection shows its last statement: a transaction of its own, unless it ended one. The view would add two joins
for names that are not needed. The look's own transaction begins with its first message, before it is planned.
"""

TRACKED = "SELECT current_setting('track_activities')::bool"
SEES = f"{TRACKED} AND pg_has_role('pg_read_all_stats', 'USAGE')"
"""Other accounts' transactions, and any at all."""


@dataclass(frozen=True)
class Looks:
    """All observations since the agent began. `several` ended transactions of more than one statement.

    `outside` is the time of an answer in addition to its execution and beyond the shortest one so far: the wait of
    either side for a processor, and the variation of the round trip. The shortest one is the agent's own work, which
    other clients do not have.
    """

    samples: int
    ages: Counts
    ended: Counts
    several: int
    outside: Counts


class Stopwatch:
    """Times an answer, unless other threads of the agent worked meanwhile, because it may have waited for them."""

    def __init__(self) -> None:
        self._began_s, self._others_s = time.perf_counter(), _others_s()

    def alone_s(self) -> float | None:
        waited_s = time.perf_counter() - self._began_s
        return None if _others_s() - self._others_s > OTHERS * waited_s else waited_s


class Sampler(Sampling):
    def __init__(self, connection: Connection, chance: random.Random | None = None) -> None:
        super().__init__("watching transactions", connection)
        self._connection = connection
        self._chance = chance or random.Random()  # noqa: S311
        self._cost_s = MOST_OF_A_CORE * SHORTEST_S
        self._samples = self._several = 0
        self._ages, self._durations, self._outside = Counter(), Counter(), Counter()
        self._last = ""
        self._least_outside_s = math.inf

    def looks(self) -> Looks:
        self._cut_if_stuck()
        with self._lock:
            counts = (c.counts() for c in (self._ages, self._durations, self._outside))
            ages, ended, outside = counts
            return Looks(self._samples, ages, ended, self._several, outside)

    @understood("running transactions")
    def look(self) -> None:
        """Once. Raises DatabaseUnavailable and CollectionFailed."""
        watch = Stopwatch()
        with self._asking():
            row = self._connection.prepared_row(LOOK, (self._last or "Infinity",))
        waited_s = watch.alone_s()
        now, ages, durations, several, inside = ((value or b"").decode() for value in row)
        with self._lock:
            first, self._last = not self._last, now
            if not first:
                self._samples += 1
                self._ages.add(_numbers(ages))
                self._durations.add(_numbers(durations))
                self._several += int(several)
                if waited_s is not None:
                    self._add_outside(max(waited_s - float(inside), 0.0))

    def _add_outside(self, outside_s: float) -> None:
        self._least_outside_s = min(self._least_outside_s, outside_s)
        self._outside.add([(outside_s - self._least_outside_s) * 1000])

    def _sample(self) -> float:
        began, dials = time.thread_time(), not self._last
        self.look()
        if not dials:
            self._cost_s += SLOWLY * (time.thread_time() - began - self._cost_s)
        mean_s = min(max(self._cost_s / MOST_OF_A_CORE, SHORTEST_S), LONGEST_S)
        return mean_s * self._chance.uniform(0.5, 1.5)  # in step with no load

    def _interrupted(self) -> None:
        self._last = ""


def _others_s() -> float:
    """Processor time of the process outside this thread."""
    return time.process_time() - time.thread_time()


def _numbers(array: str) -> list[float]:
    """`{1.5,2}`, or nothing."""
    return [float(text) for text in array.strip("{}").split(",") if text]

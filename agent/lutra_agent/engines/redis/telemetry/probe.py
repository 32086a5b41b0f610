"""The agent's own commands, timed as a client sees them: on keys of its own, at a low fixed rate, in a thread.

It samples the clients' waits: the socket, the server's queue, a fork's stall. It is not part of their load.
"""

from __future__ import annotations

import time
import uuid
from collections import Counter
from collections.abc import Callable, Mapping

from lutra_agent.engines.common.sampling import Sampling
from lutra_agent.engines.common.telemetry import percentile
from lutra_agent.engines.redis.server.connect import Connection
from lutra_agent.engines.redis.server.section import PROBE_KEYS

ENOUGH = 100
"""With fewer readings, there is no 99th percentile."""
KEPT_S = "60"
"""The server drops the key by itself."""
US_PER_S, US_PER_MS = 1e6, 1000.0

Timed = Mapping[int, int]
"""Commands by the microseconds that they took."""


class Probe(Sampling):
    def __init__(self, connection: Connection, per_s: int, timer: Callable[[], float] = time.perf_counter) -> None:
        super().__init__("the probe", connection, timer)
        self._connection = connection
        self._pause_s = 1.0 / per_s
        self._key = PROBE_KEYS.replace("*", uuid.uuid4().hex[:12])
        self._timed: Counter[int] = Counter()
        self._turns = 0

    @property
    def asked(self) -> int:
        return self._connection.asked

    def timed(self) -> Timed:
        """All that was timed since the agent began."""
        self._cut_if_stuck()
        with self._lock:
            return dict(self._timed)

    def once(self) -> None:
        """A write and a read in turn. Raises DatabaseUnavailable and CollectionFailed."""
        self._turns += 1
        words = ("SET", self._key, "probe", "EX", KEPT_S) if self._turns % 2 else ("GET", self._key)
        with self._asking() as began_s:
            self._connection.ask(*words)
        took_us = round(US_PER_S * (self._timer() - began_s))
        with self._lock:
            self._timed[took_us] += 1

    def _sample(self) -> float:
        self.once()
        return self._pause_s

    def _interrupted(self) -> None:
        """Each command is timed by itself."""


def p99_ms(before: Timed, after: Timed) -> float | None:
    """The p99 of the times between two readings; None if there are too few."""
    took = sorted(us for us, count in after.items() if count > before.get(us, 0))
    counts = [after[us] - before.get(us, 0) for us in took]
    if sum(counts) < ENOUGH:
        return None
    found = percentile([(float(us), float(us)) for us in took], counts)
    return None if found is None else found / US_PER_MS

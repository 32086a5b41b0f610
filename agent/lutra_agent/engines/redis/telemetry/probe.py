"""The agent's own commands, timed as a client sees them: on keys of its own, at a low fixed rate, in a thread.

It samples the clients' waits: the socket, the server's queue, a fork's stall. It is not part of their load.
"""

from __future__ import annotations

import logging
import threading
import time
import uuid
from collections import Counter
from collections.abc import Callable, Mapping

from lutra_agent.engines.common.percentile import percentile
from lutra_agent.engines.redis.server.connect import Connection
from lutra_agent.engines.redis.server.section import PROBE_KEYS
from lutra_agent.errors import CollectionFailed, DatabaseUnavailable
from lutra_agent.log_throttle import LogThrottle

ENOUGH = 100
"""With fewer readings, there is no 99th percentile."""
AGAIN_S = 5.0
"""After a failure."""
STUCK_S = 30.0
"""A client without an answer after this time is disconnected."""
STOP_S = 2.0
KEPT_S = "60"
"""The server drops the key by itself."""
US_PER_S, US_PER_MS = 1e6, 1000.0

Timed = Mapping[int, int]
"""Commands by the microseconds that they took."""

log = logging.getLogger(__name__)


class Probe:
    """`start` and `stop` may be called at any time; its observations are kept."""

    def __init__(self, connection: Connection, per_s: int, timer: Callable[[], float] = time.perf_counter) -> None:
        self._connection = connection
        self._pause_s = 1.0 / per_s
        self._timer = timer
        self._key = PROBE_KEYS.replace("*", uuid.uuid4().hex[:12])
        self._lock = threading.Lock()
        self._throttle = LogThrottle(log)
        self._thread: threading.Thread | None = None
        self._ended = threading.Event()
        self._timed: Counter[int] = Counter()
        self._turn = 0
        self._asked_s: float | None = None

    @property
    def asked(self) -> int:
        return self._connection.asked

    def start(self) -> None:
        if self._thread is None or not self._thread.is_alive():
            self._ended = threading.Event()
            self._thread = threading.Thread(target=self._run, args=(self._ended,), name="probe", daemon=True)
            self._thread.start()

    def stop(self) -> None:
        self._ended.set()
        if self._thread is not None:
            self._thread.join(STOP_S)

    def timed(self) -> Timed:
        """All that was timed since the agent began."""
        asked_s = self._asked_s
        if asked_s is not None and self._timer() - asked_s > STUCK_S:
            self._connection.cut()
        with self._lock:
            return dict(self._timed)

    def once(self) -> None:
        """A write and a read in turn. Raises DatabaseUnavailable and CollectionFailed."""
        self._turn += 1
        words = ("SET", self._key, "probe", "EX", KEPT_S) if self._turn % 2 else ("GET", self._key)
        began = self._asked_s = self._timer()
        try:
            self._connection.ask(*words)
        finally:
            self._asked_s = None
        took_us = round(US_PER_S * (self._timer() - began))
        with self._lock:
            self._timed[took_us] += 1

    def _run(self, ended: threading.Event) -> None:
        pause_s = self._pause_s
        while not ended.wait(pause_s):
            try:
                self.once()
                self._throttle.worked("the probe")
                pause_s = self._pause_s
            except (DatabaseUnavailable, CollectionFailed) as error:
                self._throttle.failed("the probe", error)
                pause_s = AGAIN_S
        self._connection.close()


def p99_ms(before: Timed, after: Timed) -> float | None:
    """Of the times between two readings; None if there are too few."""
    took = sorted(us for us, count in after.items() if count > before.get(us, 0))
    counts = [after[us] - before.get(us, 0) for us in took]
    if sum(counts) < ENOUGH:
        return None
    found = percentile([(float(us), float(us)) for us in took], counts)
    return None if found is None else found / US_PER_MS

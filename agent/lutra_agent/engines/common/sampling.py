"""Reads a server at intervals, in its own thread and over its own connection."""

from __future__ import annotations

import logging
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Protocol

from lutra_agent.errors import CollectionFailed, DatabaseUnavailable
from lutra_agent.log_throttle import LogThrottle

AGAIN_S = 5.0
"""The pause after a failure."""
STUCK_S = 30.0
"""A client without an answer after this time is disconnected. No server allows itself as much for a look."""
STOP_S = 2.0

log = logging.getLogger(__name__)


class OwnConnection(Protocol):
    def cut(self) -> None:
        """From another thread: a thread that waits for an answer gets an error."""
        ...

    def close(self) -> None: ...


class Sampling(ABC):
    """`start` and `stop` may be called at any time; what it has seen stays. `what` names it in the log.

    Readers of what was seen hold `_lock` and first call `_cut_if_stuck`; a look waits for its answer within `_asking`.
    """

    def __init__(self, what: str, connection: OwnConnection, timer: Callable[[], float] = time.monotonic) -> None:
        self._what = what
        self._own = connection
        self._timer = timer
        self._lock = threading.Lock()
        self._throttle = LogThrottle(log)
        self._thread: threading.Thread | None = None
        self._ended = threading.Event()
        self._asked_s: float | None = None

    def start(self) -> None:
        if self._thread is None or not self._thread.is_alive():
            self._ended = threading.Event()
            self._thread = threading.Thread(target=self._run, args=(self._ended,), name=self._what, daemon=True)
            self._thread.start()

    def stop(self) -> None:
        """The thread closes its connection, so that a server that is asked to stop need not wait for it."""
        self._ended.set()
        if self._thread is not None:
            self._thread.join(STOP_S)

    @abstractmethod
    def _sample(self) -> float:
        """Look once; the seconds until the next look. Raises DatabaseUnavailable and CollectionFailed."""

    @abstractmethod
    def _interrupted(self) -> None:
        """The next look is over another connection, or comes much later."""

    @contextmanager
    def _asking(self) -> Iterator[float]:
        """The moment, by the timer, at which it asks."""
        self._asked_s = began_s = self._timer()
        try:
            yield began_s
        finally:
            self._asked_s = None

    def _cut_if_stuck(self) -> None:
        """A server that is stopped, or hangs in the kernel, never looks at its own time limits."""
        asked_s = self._asked_s
        if asked_s is not None and self._timer() - asked_s > STUCK_S:
            self._own.cut()

    def _run(self, ended: threading.Event) -> None:
        pause_s = 0.0
        while not ended.wait(pause_s):
            try:
                pause_s = self._sample()
                self._throttle.worked(self._what)
            except (DatabaseUnavailable, CollectionFailed) as error:
                self._throttle.failed(self._what, error)
                self._interrupted()
                pause_s = AGAIN_S
        self._interrupted()
        self._own.close()

"""A thread that prunes at intervals while the service runs, with pauses."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from datetime import timedelta
from typing import TypeVar

from lutra_service.app.retention.policy import prune
from lutra_service.common.settings import Settings
from lutra_service.db.store import Store, StoreAway, Work

log = logging.getLogger(__name__)

SHARE = 0.1
"""The largest share of the time for which pruning uses the store: ten thousand databases take ten thousand queries, and
agents report meanwhile.
"""
T = TypeVar("T")


class Stopped(Exception):
    """The service stops: what is not pruned yet is pruned when it runs again."""


class Unhurried:
    """A store that rests after each transaction. Raises Stopped once `stopping` is set."""

    def __init__(self, store: Store, stopping: threading.Event) -> None:
        self._store = store
        self._stopping = stopping

    def read(self, work: Work[T]) -> T:
        return self._rested(self._store.read, work)

    def write(self, work: Work[T]) -> T:
        return self._rested(self._store.write, work)

    def _rested(self, run: Callable[[Work[T]], T], work: Work[T]) -> T:
        began = time.monotonic()
        found = run(work)
        if self._stopping.wait((time.monotonic() - began) * (1 - SHARE) / SHARE):
            raise Stopped
        return found


class RetentionThread:
    """`start` and `stop` once each. Several services may prune one database: each batch locks its rows."""

    def __init__(self, store: Store, settings: Settings) -> None:
        self._settings = settings
        self._stopping = threading.Event()
        self._unhurried = Unhurried(store, self._stopping)
        self._thread = threading.Thread(target=self._run, name="retention", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stopping.set()
        if self._thread.ident is not None:
            self._thread.join(timeout=10)

    def _run(self) -> None:
        while not self._stopping.is_set():
            try:
                pruned = prune(self._unhurried, timedelta(days=self._settings.retention_days))
                if pruned.total:
                    log.info("%s", pruned)
            except Stopped:
                return
            except StoreAway:
                pass  # what is old does not get younger
            except Exception:
                log.exception("old rows could not be pruned")
            self._stopping.wait(self._settings.prune_s)

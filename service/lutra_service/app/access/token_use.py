"""The last use of each token, to the minute, stored for many tokens at once."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable
from datetime import timedelta
from threading import Lock

from lutra_service.app.access.tokens import Principal
from lutra_service.db.store import Store, StoreAway

log = logging.getLogger(__name__)

NOTED_EVERY = timedelta(minutes=1)
EVERY_S = 1.0
SHARE = 0.1
"""The shortest interval between writes of uses, and their largest share of the time: with thousands of agents, writes
wait for each other, and many uses at once take less time than one after another.
"""


class TokenUse:
    """May be called from any thread. A use that cannot be stored does not refuse the request."""

    def __init__(self, store: Store, clock: Callable[[], float] = time.monotonic) -> None:
        self._store = store
        self._clock = clock
        self._unwritten: set[str] = set()
        self._next_at = 0.0
        self._lock = Lock()

    def note(self, bearers: Iterable[Principal]) -> None:
        """Record that these bearers use their tokens now."""
        now = self._store.now()
        due = {b.token_id for b in bearers if b.last_used_at is None or now - b.last_used_at >= NOTED_EVERY}
        with self._lock:
            self._unwritten |= due
            late = bool(self._unwritten) and self._clock() >= self._next_at
        if late:
            self.write()

    def write(self) -> None:
        """Store all pending uses: before they are read, and before the service stops."""
        with self._lock:
            writing, self._unwritten = self._unwritten, set()
            self._next_at = float("inf")
        began = self._clock()
        try:
            if writing:
                self._store.write(lambda unit: unit.tokens.used(writing, unit.now, unit.now - NOTED_EVERY))
        except StoreAway:
            pass
        except Exception:
            log.exception("the last use of %d tokens could not be stored", len(writing))
        finally:
            ended = self._clock()
            self._next_at = ended + max(EVERY_S, (ended - began) / SHARE)

"""News for those who wait: asynchronous, holding neither a thread nor a database connection."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable
from typing import TypeVar

from fastapi.concurrency import run_in_threadpool

from lutra_service.telemetry import WAITERS

T = TypeVar("T")
MAX_WAIT_S = 60.0
RECHECK_S = 10.0
"""Where several services share one database, another one's news is seen this late."""


class Signals:
    """Events by id. `notify` may be called from any thread; everything else belongs to the event loop."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._waiting: dict[str, set[asyncio.Event]] = defaultdict(set)
        self._closed = False

    def start(self) -> None:
        self._loop = asyncio.get_running_loop()

    def notify(self, ids: set[str]) -> None:
        loop = self._loop
        if ids and loop is not None and not loop.is_closed():
            loop.call_soon_threadsafe(self._wake, ids)

    def close(self) -> None:
        """Let everybody go: their answer is what they see now."""
        self._closed = True
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._wake, set(self._waiting))

    async def wait(self, id_: str, look: Callable[[], T | None], seconds: float, kind: str) -> T | None:
        """What `look` (run on a thread, each time briefly) gives, or None after `seconds`."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + min(seconds, MAX_WAIT_S)
        news = asyncio.Event()
        self._waiting[id_].add(news)
        try:
            with WAITERS.labels(kind).track_inprogress():
                while True:
                    news.clear()  # before looking, so that nothing falls between the look and the wait
                    found = await run_in_threadpool(look)
                    left = deadline - loop.time()
                    if found is not None or left <= 0 or self._closed:
                        return found
                    await _until(news, min(left, RECHECK_S))
        finally:
            self._waiting[id_].discard(news)
            if not self._waiting[id_]:
                del self._waiting[id_]

    def _wake(self, ids: set[str]) -> None:
        for id_ in ids:
            for event in self._waiting.get(id_, ()):
                event.set()


async def _until(news: asyncio.Event, seconds: float) -> None:
    try:
        await asyncio.wait_for(news.wait(), seconds)
    except TimeoutError:
        return


def preferred_wait(prefer: str | None) -> float:
    """The N of `Prefer: wait=N`, at most 60; 0 where nothing of it is said."""
    for part in (prefer or "").split(","):
        name, _, value = part.strip().partition("=")
        if name.strip().lower() == "wait" and value.strip().isdigit():
            return min(float(value), MAX_WAIT_S)
    return 0.0

"""Wakes waiting requests: asynchronous, without a thread or a database connection for each."""

from __future__ import annotations

import asyncio
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from fastapi.concurrency import run_in_threadpool

from lutra_service.common.actor import current_actor
from lutra_service.common.telemetry import WAITERS
from lutra_service.edge.limits import TooManyRequests

T = TypeVar("T")
_SECONDS = re.compile(r"[0-9]{1,9}")  # isdigit() would take ² as well
MAX_WAIT_S = 60.0
RETRY_S = 10
RECHECK_S = 10.0
"""The delay of another service's news, if several services share one database."""


class Notifier:
    """Events by id. `notify` may be called from any thread; everything else belongs to the event loop."""

    def __init__(self, per_item: int = 16, per_token: int = 200) -> None:
        self._per_item, self._per_token = per_item, per_token
        self._by_token: Counter[str] = Counter()
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
        """Release all waiting requests: their answer is the current state."""
        self._closed = True
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._wake, set(self._waiting))

    async def wait(self, id_: str, look: Callable[[], T | None], seconds: float, kind: str) -> T | None:
        """The result of `look` (run on a thread, briefly each time), or None after `seconds`.

        Raises TooManyRequests if too many wait already: for the same item, or by the same token.
        """
        if seconds <= 0:
            return await run_in_threadpool(look)
        with self._place(id_, current_actor.get().token_id or "") as news, WAITERS.labels(kind).track_inprogress():
            return await self._awaited(news, look, seconds)

    @contextmanager
    def _place(self, id_: str, token: str) -> Iterator[asyncio.Event]:
        if len(self._waiting.get(id_, ())) >= self._per_item:
            raise TooManyRequests(f"{self._per_item} requests wait for {id_[:64]} already", RETRY_S)
        if self._by_token[token] >= self._per_token:
            raise TooManyRequests(f"{self._per_token} requests of this token wait already", RETRY_S)
        news = asyncio.Event()
        self._waiting[id_].add(news)
        self._by_token[token] += 1
        try:
            yield news
        finally:
            self._waiting[id_].discard(news)
            if not self._waiting[id_]:
                del self._waiting[id_]
            self._by_token[token] -= 1
            if not self._by_token[token]:
                del self._by_token[token]

    async def _awaited(self, news: asyncio.Event, look: Callable[[], T | None], seconds: float) -> T | None:
        loop = asyncio.get_running_loop()
        deadline = loop.time() + min(seconds, MAX_WAIT_S)
        while True:
            news.clear()  # before looking, so that nothing falls between the look and the wait
            found = await run_in_threadpool(look)
            left = deadline - loop.time()
            if found is not None or left <= 0 or self._closed:
                return found
            await _until(news, min(left, RECHECK_S))

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
    """The N of `Prefer: wait=N`, at most 60; 0 if it is absent."""
    for part in (prefer or "").split(","):
        name, _, value = part.strip().partition("=")
        if name.strip().lower() == "wait" and _SECONDS.fullmatch(value.strip()):
            return min(float(value), MAX_WAIT_S)
    return 0.0

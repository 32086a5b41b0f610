"""Shares: requests per second by key, and places for work in progress at once."""

from __future__ import annotations

import asyncio
import math
from collections import Counter, OrderedDict
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from lutra_models.errors import LutraError

BURST_S = 10.0
"""The seconds of its rate that a bucket holds."""
MAX_KEYS = 10_000


class Rate:
    """Token buckets by key, on the event loop. Of more than `MAX_KEYS` keys the least recently used is forgotten."""

    def __init__(self, per_s: float, clock: Callable[[], float], burst_s: float | None = None) -> None:
        """A bucket holds the share of `burst_s`, by default BURST_S."""
        self._per_s = per_s
        self._most = per_s * (BURST_S if burst_s is None else burst_s)
        self._clock = clock
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, key: str, whose: str) -> None:
        """Count one request. Raises TooManyRequests if none is left, and counts nothing then."""
        now = self._clock()
        left, at = self._buckets.pop(key, (self._most, now))
        left = min(self._most, left + (now - at) * self._per_s)
        granted = left >= 1
        self._buckets[key] = (left - granted, now)
        if len(self._buckets) > MAX_KEYS:
            self._buckets.popitem(last=False)
        if not granted:
            wait_s = max(1, math.ceil((1 - left) / self._per_s))
            raise TooManyRequests(f"{whose} may make {self._per_s:g} requests a second", wait_s)

    def __len__(self) -> int:
        return len(self._buckets)


class Places:
    """At most `places` at once, `waiting` more in a queue, and at most `each` per key in both together."""

    def __init__(self, what: str, places: int, waiting: int, each: int) -> None:
        self._what = what
        self._free = asyncio.Semaphore(places)
        self._most = places + waiting
        self._each = each
        self._held: Counter[str] = Counter()

    @asynccontextmanager
    async def taken(self, key: str) -> AsyncIterator[None]:
        """Raises TooManyRequests if this key has its share, Busy if everything is taken."""
        if self._held[key] >= self._each:
            raise TooManyRequests(f"{self._each} {self._what} at once is the most for one client")
        if self._held.total() >= self._most:
            raise Busy(f"{self._most} {self._what} are under way or waiting, which is the most")
        self._held[key] += 1
        try:
            async with self._free:
                yield
        finally:
            self._held[key] -= 1
            if not self._held[key]:
                del self._held[key]


class TooLarge(LutraError):
    code = "too_large"


class UnsupportedEncoding(LutraError):
    code = "unsupported_encoding"


class InvalidJson(LutraError):
    code = "invalid_json"


class TooSlow(LutraError):
    """The body did not arrive in time. The rest of it is not read."""

    code = "too_slow"


class Later(LutraError):
    """The same request can succeed after `retry_after_s` whole seconds."""

    def __init__(self, message: str, retry_after_s: int = 1) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s


class TooManyRequests(Later):
    """This client's own share is used up."""

    code = "too_many_requests"


class Busy(Later):
    """The share of all clients together is used up."""

    code = "busy"

"""Request bodies of bearers whose token is known to be good: read within time and size limits, and parsed once.

A body longer than a usual report is unpacked and parsed beside the event loop.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers
from starlette.types import Receive

from lutra_service.common.settings import Settings
from lutra_service.edge.documents import Expands, parse, unpack
from lutra_service.edge.limits import Places
from lutra_service.edge.refusals import InvalidJson, TooLarge, TooSlow, UnsupportedEncoding

SMALL = 256 << 10
"""A body with more bytes, packed or unpacked, takes one of a few places."""
SHORT = 32 << 10
"""The bytes up to which parsing a body, packed or not, takes less time than going to another thread and back."""
SMALL_AT_ONCE, WAITING, SMALL_EACH = 64, 500, 32


@dataclass(frozen=True)
class _Bounds:
    packed: int
    plain: int


@dataclass(frozen=True)
class Body:
    """The plain bytes, and what `make` made of their document."""

    plain: bytes
    made: Any


class BodyLimits:
    """`make` turns a parsed document into the route's argument."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._large = Places("large bodies", settings.large_bodies, waiting=8 * settings.large_bodies, each=1)
        self._small = Places("bodies", SMALL_AT_ONCE, WAITING, SMALL_EACH)

    async def take(self, headers: Headers, receive: Receive, key: str, large: bool, make: Callable[[Any], Any]) -> Body:
        """Raises what `refusals` has. `key` is whose share of the places is counted."""
        bounds, packed, declared = self._bounds(large), _is_packed(headers), _declared(headers)
        if declared is not None and declared > bounds.packed:
            raise TooLarge(f"a body has at most {bounds.packed} bytes here, got {declared}")
        expected = bounds.packed if declared is None else declared
        if expected == 0:
            return Body(b"", None)
        if expected > SMALL:
            async with self._large.taken(key):
                body = await self._read(receive, expected, bounds.packed)
                return await run_in_threadpool(_made, body, packed, bounds.plain, make)
        async with self._small.taken(key):
            body = await self._read(receive, expected, bounds.packed)
            try:
                if len(body) <= SHORT:
                    with suppress(Expands):
                        return _made(body, packed, min(bounds.plain, SHORT), make)
                return await run_in_threadpool(_made, body, packed, min(bounds.plain, SMALL), make)
            except Expands:
                if bounds.plain <= SMALL:
                    raise
        async with self._large.taken(key):
            return await run_in_threadpool(_made, body, packed, bounds.plain, make)

    def _bounds(self, large: bool) -> _Bounds:
        settings = self._settings
        if large:
            return _Bounds(settings.max_body_bytes, settings.max_expanded_bytes)
        small = settings.max_small_body_bytes
        return _Bounds(min(small, settings.max_body_bytes), min(small, settings.max_expanded_bytes))

    async def _read(self, receive: Receive, expected: int, most: int) -> bytes:
        seconds = self._settings.body_s + expected / self._settings.min_body_bytes_per_s
        try:
            async with asyncio.timeout(seconds):
                return await _all(receive, most)
        except TimeoutError as error:
            raise TooSlow(f"the body was not complete after {seconds:.0f} seconds") from error


async def _all(receive: Receive, most: int) -> bytes:
    body = bytearray()
    more = True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise InvalidJson("the client left before the body was complete")
        body += message.get("body", b"")
        more = message.get("more_body", False)
        if len(body) > most:
            raise TooLarge(f"a body has at most {most} bytes here")
    return bytes(body)


def _made(body: bytes, packed: bool, limit: int, make: Callable[[Any], Any]) -> Body:
    plain = unpack(body, limit) if packed else body
    return Body(plain, make(parse(plain)) if plain else None)


def _declared(headers: Headers) -> int | None:
    """None for a body whose length only its end tells."""
    if "transfer-encoding" in headers:
        return None
    length = headers.get("content-length", "0")
    if not (length.isascii() and length.isdigit() and len(length) <= 20):
        raise InvalidJson(f"Content-Length {length[:40]!r} is not a valid body length")
    return int(length)


def _is_packed(headers: Headers) -> bool:
    encoding = headers.get("content-encoding", "identity").strip().lower()
    if encoding not in ("identity", "gzip"):
        raise UnsupportedEncoding(f"Content-Encoding {encoding[:40]!r}: gzip or none")
    return encoding == "gzip"

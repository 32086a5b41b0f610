"""Request bodies of bearers whose token is known to be good: read within time and size limits, and parsed once.

A body longer than a usual report is unpacked and parsed beside the event loop.
"""

from __future__ import annotations

import asyncio
import json
import zlib
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NoReturn

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers
from starlette.types import Receive

from lutra_service.common.settings import Settings
from lutra_service.edge.limits import InvalidJson, Places, TooLarge, TooSlow, UnsupportedEncoding

MAX_DEPTH = 32
MAX_MARKS = 200_000
"""Commas, colons and opening brackets, those in texts included: no body has more keys and values than these."""
MAX_KEYS = 4_000
"""The maximum number of keys of one object."""
MAX_TEXT = 65_536
_GZIP = 16 + zlib.MAX_WBITS
_MARKS = (b",", b":", b"[", b"{")

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


class Expands(TooLarge):
    """The unpacked size exceeds its limit."""


def unpack(packed: bytes, limit: int) -> bytes:
    """Gunzip, never holding more than `limit` bytes. Raises Expands beyond it."""
    unpacker = zlib.decompressobj(_GZIP)
    try:
        plain = unpacker.decompress(packed, limit + 1)
    except zlib.error as error:
        raise InvalidJson(f"the body is not gzip: {error}") from error
    if len(plain) > limit:
        raise Expands(f"an unpacked body has at most {limit} bytes here")
    if not unpacker.eof or unpacker.unused_data:
        raise InvalidJson("the gzip body is cut off or followed by something else")
    return plain


def parse(body: bytes) -> Any:
    """The JSON document. Raises InvalidJson for values that databases and numbers cannot represent: NaN, infinities,
    NUL, lone surrogates, integers beyond 64 bits; and TooLarge for more values than any request needs.
    """
    # Counted first: an object in memory takes a hundred times the two bytes that make one in JSON.
    if sum(body.count(mark) for mark in _MARKS) > MAX_MARKS:
        raise TooLarge(f"a body has at most {MAX_MARKS} keys and values")
    try:
        document = json.loads(body, parse_constant=_no_number, parse_float=_finite, object_pairs_hook=_object)
    except (ValueError, RecursionError) as error:
        raise InvalidJson(f"the body is not JSON: {str(error)[:200]}") from error
    _walk(document)
    return document


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Raises InvalidJson for a key that exists twice: of two values one would be ignored."""
    made = dict(pairs)
    if len(made) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise InvalidJson(f"the key {twice[:64]!r} exists twice in one object")
    return made


def _walk(document: Any) -> None:
    level, depth = [document], 0
    while level:
        depth += 1
        if depth > MAX_DEPTH:
            raise InvalidJson(f"the body is nested deeper than {MAX_DEPTH}")
        below: list[Any] = []
        for node in level:
            if isinstance(node, str):
                _text(node)
            elif isinstance(node, dict):
                _keys(node)
                below.extend(node.values())
            elif isinstance(node, list):
                below.extend(node)
            elif isinstance(node, int) and abs(node) >= 2**63:
                raise InvalidJson(f"{str(node)[:30]} does not fit into 64 bits")
        level = below


def _keys(node: dict[str, Any]) -> None:
    if len(node) > MAX_KEYS:
        raise TooLarge(f"an object has at most {MAX_KEYS} keys, got {len(node)}")
    for key in node:
        _text(key)


def _text(text: str) -> None:
    if len(text) > MAX_TEXT:
        raise TooLarge(f"a text has at most {MAX_TEXT} characters, got {len(text)}")
    if "\x00" in text or (not text.isascii() and any("\ud800" <= c <= "\udfff" for c in text)):
        raise InvalidJson("a text contains NUL or half a surrogate pair")


def _finite(text: str) -> float:
    number = float(text)
    if number in (float("inf"), float("-inf")):
        raise ValueError(f"{text[:30]} is beyond a 64-bit float")
    return number


def _no_number(text: str) -> NoReturn:
    raise ValueError(f"{text} is not a JSON number")

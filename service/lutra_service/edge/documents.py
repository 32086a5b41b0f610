"""Bytes to JSON within limits, and without any extension of JSON."""

from __future__ import annotations

import json
import zlib
from typing import Any, NoReturn

from lutra_service.edge.refusals import InvalidJson, TooLarge

MAX_DEPTH = 32
MAX_MARKS = 200_000
"""Commas, colons and opening brackets, those in texts included: no body has more keys and values than these."""
MAX_KEYS = 4_000
"""The maximum number of keys of one object."""
MAX_TEXT = 65_536
_GZIP = 16 + zlib.MAX_WBITS
_MARKS = (b",", b":", b"[", b"{")


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

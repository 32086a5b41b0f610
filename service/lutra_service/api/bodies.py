"""Request bodies: read within limits, unpacked within limits, and JSON without anything that is no JSON.

Nothing is read of somebody who shows no token at all; whether a token is a valid one, the routes look up.
"""

from __future__ import annotations

import json
import zlib
from typing import Any, NoReturn

from lutra_models.errors import LutraError
from starlette.concurrency import run_in_threadpool
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from lutra_service.api.problems import problem
from lutra_service.app.errors import Unauthorized

MAX_DEPTH = 32
_GZIP = 16 + zlib.MAX_WBITS


class TooLarge(LutraError):
    code = "too_large"


class UnsupportedEncoding(LutraError):
    code = "unsupported_encoding"


class InvalidJson(LutraError):
    code = "invalid_json"


class Bodies:
    """ASGI middleware: the application sees a plain body that kept every limit, or never sees the request."""

    def __init__(self, app: ASGIApp, max_body_bytes: int, max_expanded_bytes: int) -> None:
        self._app = app
        self._max_body = max_body_bytes
        self._max_expanded = max_expanded_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] in ("GET", "HEAD", "OPTIONS", "DELETE"):
            await self._app(scope, receive, send)
            return
        headers = {k.lower(): v for k, v in scope["headers"]}
        try:
            _check_bearer(headers)
            packed, body = _is_packed(headers), await self._read(headers, receive)
            if body:  # unpacking and parsing megabytes must not keep everybody else waiting
                body = await run_in_threadpool(self._plain, body, packed)
        except LutraError as error:
            await problem(error.code, str(error))(scope, receive, send)
            return
        # The body now is what its length says, and no longer packed.
        kept = [(k, v) for k, v in scope["headers"] if k.lower() not in (b"content-encoding", b"content-length")]
        await self._app(
            {**scope, "headers": [*kept, (b"content-length", str(len(body)).encode())]}, _replay(body, receive), send
        )

    async def _read(self, headers: dict[bytes, bytes], receive: Receive) -> bytes:
        declared = headers.get(b"content-length", b"0")
        if declared.isdigit() and int(declared) > self._max_body:
            raise TooLarge(f"a body has at most {self._max_body} bytes, got {int(declared)}")
        body = bytearray()
        more = True
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise InvalidJson("the client left before the body was complete")
            body += message.get("body", b"")
            more = message.get("more_body", False)
            if len(body) > self._max_body:
                raise TooLarge(f"a body has at most {self._max_body} bytes")
        return bytes(body)

    def _plain(self, body: bytes, packed: bool) -> bytes:
        plain = unpack(body, self._max_expanded) if packed else body
        if plain:
            check_json(plain)
        return plain


def _check_bearer(headers: dict[bytes, bytes]) -> None:
    scheme, _, secret = headers.get(b"authorization", b"").partition(b" ")
    if scheme.lower() != b"bearer" or not secret.strip().startswith(b"lutra_"):
        raise Unauthorized("a bearer token is needed: Authorization: Bearer lutra_…")


def _is_packed(headers: dict[bytes, bytes]) -> bool:
    encoding = headers.get(b"content-encoding", b"identity").strip().lower()
    if encoding not in (b"identity", b"gzip"):
        raise UnsupportedEncoding(f"Content-Encoding {encoding.decode('latin-1')!r}: gzip or none")
    return encoding == b"gzip"


def unpack(packed: bytes, limit: int) -> bytes:
    """Gunzip, never holding more than `limit` bytes. Raises TooLarge beyond it."""
    unpacker = zlib.decompressobj(_GZIP)
    try:
        plain = unpacker.decompress(packed, limit + 1)
    except zlib.error as error:
        raise InvalidJson(f"the body is no gzip: {error}") from error
    if len(plain) > limit:
        raise TooLarge(f"an unpacked body has at most {limit} bytes")
    if not unpacker.eof or unpacker.unused_data:
        raise InvalidJson("the gzip body is cut off or followed by something else")
    return plain


def check_json(body: bytes) -> None:
    """Raise InvalidJson for what databases and numbers cannot take: NaN, infinities, NUL, lone surrogates, depth."""
    try:
        document = json.loads(body, parse_constant=_no_number, parse_float=_finite)
    except (ValueError, RecursionError) as error:
        raise InvalidJson(f"the body is no JSON: {str(error)[:200]}") from error
    _walk(document)


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
                for key in node:
                    _text(key)
                below.extend(node.values())
            elif isinstance(node, list):
                below.extend(node)
            elif isinstance(node, int) and abs(node) >= 2**63:
                raise InvalidJson(f"{str(node)[:30]} does not fit into 64 bits")
        level = below


def _text(text: str) -> None:
    if "\x00" in text or (not text.isascii() and any("\ud800" <= c <= "\udfff" for c in text)):
        raise InvalidJson("a text holds NUL or half a surrogate pair")


def _finite(text: str) -> float:
    number = float(text)
    if number in (float("inf"), float("-inf")):
        raise ValueError(f"{text[:30]} is beyond a 64-bit float")
    return number


def _no_number(text: str) -> NoReturn:
    raise ValueError(f"{text} is no JSON number")


def _replay(body: bytes, receive: Receive) -> Receive:
    sent = False

    async def again() -> Message:
        nonlocal sent
        if not sent:
            sent = True
            return {"type": "http.request", "body": body, "more_body": False}
        return await receive()

    return again

"""Texts that no address of this service contains, refused in one place for every path and query."""

from __future__ import annotations

from urllib.parse import unquote_to_bytes

from lutra_models.errors import LutraError, NotFound
from starlette.types import Scope

from lutra_service.app.errors import InvalidRequest

MAX_PATH = 1_000
MAX_QUERY = 4_000
MAX_SEGMENT = 200


def refusal(scope: Scope) -> LutraError | None:
    """Refuses NUL, control characters, bytes that are not UTF-8, and texts longer than any id or cursor."""
    path, query = str(scope["path"]), bytes(scope.get("query_string", b""))
    if len(path) > MAX_PATH or any(len(part) > MAX_SEGMENT for part in path.split("/")):
        return NotFound(f"no path has more than {MAX_PATH} characters or a part of more than {MAX_SEGMENT}")
    if not _clean(path) or "\ufffd" in path:
        return NotFound("a path must be UTF-8 without control characters")
    if len(query) > MAX_QUERY:
        return InvalidRequest(f"a query has at most {MAX_QUERY} bytes, got {len(query)}")
    try:
        clean = _clean(unquote_to_bytes(query).decode())
    except UnicodeDecodeError:
        clean = False
    return None if clean else InvalidRequest("a query must be UTF-8 without control characters")


def _clean(text: str) -> bool:
    return not any(character < " " or "\x7f" <= character < "\xa0" for character in text)

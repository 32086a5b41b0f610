"""A value that databases do not accept is refused before it is sent, with the same answer for each of them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from lutra_models.errors import LutraError
from sqlalchemy import Engine, event
from sqlalchemy.exc import DontWrapMixin

LARGEST = 2**63


class Unstorable(LutraError, DontWrapMixin):
    """A text or a number that can neither be stored nor searched."""

    code = "invalid_request"


def guard(engine: Engine) -> None:
    """Check every value that is bound to a statement."""
    event.listen(engine, "before_cursor_execute", _verify)


def _verify(_connection: Any, _cursor: Any, _statement: str, parameters: Any, _context: Any, many: bool) -> None:
    for row in parameters if many else (parameters,):
        for value in _values(row):
            if isinstance(value, str):
                _verify_text(value)
            elif isinstance(value, int) and not -LARGEST <= value < LARGEST:
                raise Unstorable(f"{str(value)[:40]} does not fit into 64 bits")


def _values(row: Any) -> Iterable[Any]:
    """Also those of a list that is bound as one value."""
    for value in row.values() if isinstance(row, Mapping) else row or ():
        if isinstance(value, list):
            yield from value
        else:
            yield value


def _verify_text(value: str) -> None:
    if "\x00" in value:
        raise Unstorable(f"{value[:40]!r} contains a NUL character, which is not allowed")
    if value.isascii():
        return
    try:
        value.encode()
    except UnicodeEncodeError:
        raise Unstorable(f"{value[:40]!r} contains an incomplete character") from None


@dataclass(frozen=True)
class Written:
    """A document that was serialised before; it is stored as this text."""

    text: str


def dumps(document: Any) -> str:
    """The form of values in the database's JSON columns."""
    return document.text if isinstance(document, Written) else json.dumps(document)

"""The names from a database that may be part of a statement: those that the server itself would write in this form."""

from __future__ import annotations

import re

_PART = r'(?:[^\W\d][\w$]*|"(?:[^"]|"")+"|`(?:[^`]|``)+`)'
_IDENTIFIER = rf"{_PART}(?:\.{_PART})*"
_IDENTIFIERS = re.compile(rf"{_IDENTIFIER}(?:, {_IDENTIFIER})*")
_PLAIN = re.compile(r"\w+(?:[-$.]\w+)*")


def is_plain(text: str) -> bool:
    """Whether a statement may hold it anywhere: letters, digits, single marks between them, as in `db-2.lan`."""
    return _PLAIN.fullmatch(text) is not None


def identifiers(text: str) -> tuple[str, ...] | None:
    """The names of a list such as `orders, "Old orders"`, quoted as the server quotes them; None if it is not such a
    list.
    """
    return tuple(re.findall(_IDENTIFIER, text)) if _IDENTIFIERS.fullmatch(text) else None

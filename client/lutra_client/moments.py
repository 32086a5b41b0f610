"""The times in an answer: its type shows their positions, at which texts become datetimes."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime
from functools import cache
from types import NoneType, UnionType
from typing import Any, NotRequired, Union, get_args, get_origin, get_type_hints, is_typeddict

Reader = Callable[[Any], Any]


def read(document: Any, kind: Any) -> Any:
    """The document of an answer of this type with its moments as datetimes; None for a type changes nothing."""
    reader = reader_of(kind)
    return document if reader is None or document is None else reader(document)


@cache
def reader_of(kind: Any) -> Reader | None:
    """The conversion of a document of this type; None if it has no moments. Raises TypeError for an ambiguous type."""
    if kind is datetime:
        return datetime.fromisoformat
    if is_typeddict(kind):
        return _of_fields(kind)
    origin, inner = get_origin(kind), get_args(kind)
    if origin is NotRequired:
        return reader_of(inner[0])
    if origin in (UnionType, Union):
        found = {reader for one in inner if one not in (NoneType, str) and (reader := reader_of(one)) is not None}
        if len(found) > 1:
            raise TypeError(f"{kind} has moments in more than one of its types")
        return next(iter(found), None)
    each = reader_of(inner[-1]) if origin in (list, dict) else None
    if each is None:
        return None
    return _in_list(each) if origin is list else _in_dict(each)


def text(value: Any) -> Any:
    """The value as it is sent: a datetime as RFC 3339, in UTC if it has no offset; every other value is unchanged."""
    if isinstance(value, datetime):
        return (value if value.tzinfo else value.replace(tzinfo=UTC)).isoformat()
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, dict):
        return {name: text(one) for name, one in value.items()}
    return [text(one) for one in value] if isinstance(value, list | tuple) else value


def _of_fields(kind: Any) -> Reader | None:
    hints = get_type_hints(kind)
    readers = {name: reader for name, hint in hints.items() if (reader := reader_of(hint)) is not None}
    if not readers:
        return None

    def fields(document: Any) -> Any:
        changed = {n: r(document[n]) for n, r in readers.items() if document.get(n) is not None}
        return {**document, **changed}

    return fields


def _in_list(each: Reader) -> Reader:
    return lambda items: [None if item is None else each(item) for item in items]


def _in_dict(each: Reader) -> Reader:
    return lambda items: {name: None if item is None else each(item) for name, item in items.items()}

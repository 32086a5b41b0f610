"""A table of a TOML file becomes a dataclass. An error names the key, the value and the remedy."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import fields, is_dataclass
from difflib import get_close_matches
from typing import Any, TypeVar, get_args, get_type_hints

from pydantic import ConfigDict, TypeAdapter, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from lutra_agent.config.values import shown
from lutra_agent.errors import ConfigError

T = TypeVar("T", bound="Section")
Place = Sequence[int | str]

EXPECTED = {
    "string_type": "text",
    "path_type": "text",
    "bool_type": "true or false",
    "int_type": "a whole number",
    "float_type": "a number",
    "finite_number": "a number",
    "tuple_type": "a list",
    "dataclass_type": "a table",
    "dict_type": "a table",
}


class Section:
    """A dataclass that `read` makes of a table: its fields are the keys, their annotations the allowed values.

    Text is not read as a number, nor 1 as true, and a dataclass of the core in a section is read as strictly.
    """

    __pydantic_config__ = ConfigDict(strict=True, extra="forbid", allow_inf_nan=False)


def read(kind: type[T], table: object, name: str = "") -> T:
    """The table `name` as a `kind`. Raises ConfigError, which names every fault of the table."""
    # As JSON: strict Python would want a tuple for a list. A date of TOML becomes its text.
    try:
        return TypeAdapter(kind).validate_json(json.dumps(table, default=str))
    except ValidationError as error:
        raise ConfigError("; ".join(_explain(kind, name, fault) for fault in error.errors(include_url=False))) from None


def _explain(kind: type, name: str, fault: ErrorDetails) -> str:
    place, value, type_ = fault["loc"], fault["input"], fault["type"]
    key = _key(name, place)
    if type_ == "missing":
        return f"{key} is missing{_hint(_table(kind, place[:-1]), str(place[-1]))}"
    if type_ == "unexpected_keyword_argument":
        return _unknown(key, str(place[-1]), _names(_table(kind, place[:-1])))
    if type_ == "literal_error":
        return f"{key}: {shown(value)} is not one of {_options(fault)}"
    if type_ == "value_error":
        return _complaint(key, str(fault["ctx"]["error"]), _names(_table(kind, place)))
    expected = EXPECTED.get(type_, fault["msg"])
    unit = " of seconds" if expected == "a number" and key.endswith("_s") else ""
    return f"{key}: expected {expected}{unit}, got {shown(value)}"


def _complaint(key: str, message: str, names: Sequence[str]) -> str:
    """What a dataclass says of itself begins with the field: `minutes must be …`."""
    field, _, rest = message.partition(" ")
    field = field.rstrip(":")
    return f"{key}.{field}: {rest}" if field in names else f"{key}: {message}"


def _unknown(key: str, name: str, known: Sequence[str]) -> str:
    near = get_close_matches(name, known, n=1)
    meant = f" (did you mean {near[0]}?)" if near else ""
    return f"unknown: {key}{meant}; known here: {', '.join(known)}"


def _key(name: str, place: Place) -> str:
    return (name + "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in place)).lstrip(".")


def _options(fault: ErrorDetails) -> str:
    return str(fault["ctx"]["expected"]).replace(" or ", ", ").replace("'", "")


def _table(kind: Any, place: Place) -> Any:
    """The dataclass whose keys stand at the place; None if none do."""
    for part in place:
        hints = get_type_hints(kind)
        if isinstance(part, str) and part in hints:  # else a name of the file's own, of a table that `kind` is
            kind = _dataclass(hints[part])
    return kind


def _dataclass(annotation: Any) -> Any:
    """That of `Section | None`, or of `tuple[Section, ...]`."""
    if is_dataclass(annotation):
        return annotation
    return next((found for part in get_args(annotation) if (found := _dataclass(part))), None)


def _names(table: Any) -> list[str]:
    return [] if table is None else sorted(f.name for f in fields(table))


def _hint(table: Any, key: str) -> str:
    notes = getattr(get_type_hints(table, include_extras=True)[key], "__metadata__", ())
    return next((f": {n.description}" for n in notes if isinstance(n, FieldInfo)), "")

"""The allowed values of keys in the agent's file. An error about a value does not begin with the key: `section` names
it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, TypeVar
from urllib.parse import urlsplit

from lutra_models.catalog.units import parse_number
from lutra_models.errors import InvalidConfiguration
from pydantic import AfterValidator, BeforeValidator, Field

Number = TypeVar("Number", int, float)
LONGEST_VALUE = 200


def shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= LONGEST_VALUE else f"{text[:LONGEST_VALUE]}…"


def within(low: float, high: float) -> AfterValidator:
    """A number's range, both ends included."""

    def check(value: Number) -> Number:
        if not low <= value <= high:
            raise ValueError(f"{value} is outside [{low:g}, {high:g}]")
        return value

    return AfterValidator(check)


def a_list_of(what: str) -> BeforeValidator:
    """TOML's lists become tuples."""

    def check(value: object) -> object:
        if not isinstance(value, list | tuple):
            raise ValueError(f"expected a list of {what}, got {shown(value)}")
        return tuple(value)

    return BeforeValidator(check)


def required(hint: str) -> Any:
    """The error about a missing key that is required."""
    return Field(description=hint)


def _whole(value: object) -> object:
    return int(value) if isinstance(value, float) and value.is_integer() else value


def at_home(path: Path | None) -> Path | None:
    """`~` is a home."""
    try:
        return path and path.expanduser()
    except RuntimeError as error:
        raise ValueError(f"{path} names a home folder that this account does not have") from error


def _url(url: str) -> str:
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError(f"expected http(s)://host[:port], got scheme {parts.scheme!r}")
    if parts.username or parts.password:
        raise ValueError("a URL must not contain a user or a password, which would end up in logs")
    return url.rstrip("/")


def _bytes(value: object) -> object:
    try:
        return parse_number("memory", value, "B", integer=True) if isinstance(value, str) else value
    except InvalidConfiguration as error:
        raise ValueError(f"expected a size such as '2GB': {error}") from error


Whole = Annotated[int, BeforeValidator(_whole)]
Bytes = Annotated[int, BeforeValidator(_bytes)]
"""Read from a text such as "2GB"."""
Empty = BeforeValidator(lambda value: None if value == "" else value)
"""Empty text is the same as a missing key."""
OptionalText = Annotated[str | None, Empty]
OptionalPath = Annotated[Path | None, Empty, AfterValidator(at_home)]
Url = Annotated[str, AfterValidator(_url)]
Argv = Annotated[tuple[str, ...], a_list_of("texts, as in ['systemctl', 'restart', 'x']")]

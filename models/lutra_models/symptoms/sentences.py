"""Sentences with numbers in them: `{name:bytes}` in a row's text becomes "4 GB"."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from typing import Any

from lutra_models.errors import InvalidConfiguration

_PART = r'(?:[^\W\d][\w$]*|"(?:[^"]|"")+"|`(?:[^`]|``)+`)'
_IDENTIFIER = rf"{_PART}(?:\.{_PART})*"
_IDENTIFIERS = re.compile(rf"{_IDENTIFIER}(?:, {_IDENTIFIER})*")
_PLAIN = re.compile(r"\w+(?:[-$.]\w+)*")

_PLACE = re.compile(r"\{(\w+):(\w+)\}")
_BYTES = ((2**40, "TB"), (2**30, "GB"), (2**20, "MB"), (2**10, "kB"))
_SECONDS = ((86_400, "d"), (3_600, "h"), (60, "min"))
EACH = "each"
"""The form of a name with several words: the text is repeated for each of them."""
ASIDE = "aside"
"""The form of names that may not be known: ` (orders, lines)`, or nothing."""
UNKNOWN = "<name>"
"""The placeholder in a statement for a text that is not a name."""
ERROR = "error"
"""The form of the number of an error: ` with error 1062`, or nothing for 0."""
_WORDS: Mapping[str, Callable[[str], str]] = {
    "list": lambda value: ", ".join(value.split()),
    ASIDE: lambda value: f" ({value})" if value else "",
}


def _short(value: float) -> str:
    """Three significant digits, and all those of a whole number."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def _bytes(value: float) -> str:
    size, unit = next(((s, u) for s, u in _BYTES if abs(value) >= s), (1, "B"))
    return f"{value / size:.3g} {unit}" if abs(value) / size < 1000 else f"{value / size:,.0f} {unit}"


def _duration(seconds: float) -> str:
    size, unit = next(((s, u) for s, u in _SECONDS if abs(seconds) >= s), (1, "s"))
    return f"{_short(seconds / size)} {unit}"


def _share(value: float) -> str:
    return f"{_short(100 * value)} %"


FORMS: Mapping[str, Callable[[float], str]] = {
    "text": str,
    "list": str,
    EACH: str,
    ASIDE: str,
    "number": _short,
    ERROR: lambda value: f" with error {value:.0f}" if value else "",
    "count": lambda value: f"{value:,.0f}",
    "plain": lambda value: f"{value:.0f}",
    "bytes": _bytes,
    "share": _share,
    "ms": lambda value: _duration(value / 1000) if abs(value) >= 1000 else f"{_short(value)} ms",
    "duration": _duration,
}


def places(text: str) -> tuple[tuple[str, str], ...]:
    """Each (name, form) of the text."""
    return tuple((name, form) for name, form in _PLACE.findall(text))


def told(text: str, scope: Mapping[str, Any]) -> str:
    """The text with its numbers. Raises InvalidConfiguration if one is not known."""

    def shown(found: re.Match[str]) -> str:
        name, form = found.groups()
        if name not in scope:
            raise InvalidConfiguration(f"{text!r} tells {name}, which is not known here")
        value = scope[name]
        if isinstance(value, str):
            return _WORDS.get(form, str)(value)
        return FORMS[form](float(value))

    return _PLACE.sub(shown, text)


def statements(text: str, scope: Mapping[str, Any], untrusted: Collection[str] = ()) -> tuple[str, ...]:
    """The statements that a person would execute: once, or once for each word of the name in the form `each`.

    `untrusted` names hold texts from a database: one that differs from the name that the server would quote is left for
    the person to fill in. Raises as `told` does.
    """
    used = [(name, form) for name, form in places(text) if name in scope]
    safe = {name: UNKNOWN for name, form in used if form != EACH and name in untrusted and not is_plain(scope[name])}
    several = next((name for name, form in used if form == EACH), None)
    if several is None:
        return (told(text, {**scope, **safe}),)
    found = identifiers(scope[several]) or (UNKNOWN,) if several in untrusted else str(scope[several]).split()
    return tuple(told(text, {**scope, **safe, several: word}) for word in found)


def is_plain(text: str) -> bool:
    """Whether a statement may hold it anywhere: letters, digits, single marks between them, as in `db-2.lan`."""
    return _PLAIN.fullmatch(text) is not None


def identifiers(text: str) -> tuple[str, ...] | None:
    """The names of a list such as `orders, "Old orders"`, quoted as the server quotes them; None if it is not such a
    list.
    """
    return tuple(re.findall(_IDENTIFIER, text)) if _IDENTIFIERS.fullmatch(text) else None

"""Sentences with numbers in them: `{name:bytes}` in a row's text becomes "4 GB"."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from lutra_models.errors import InvalidConfiguration

_PLACE = re.compile(r"\{(\w+):(\w+)\}")
_BYTES = ((2**40, "TB"), (2**30, "GB"), (2**20, "MB"), (2**10, "kB"))
_SECONDS = ((86_400, "d"), (3_600, "h"), (60, "min"))


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
    return f"{100 * value:.3g} %"


EACH = "each"
"""The form of a name that stands for several words: the text is told once for each of them."""
FORMS: Mapping[str, Callable[[float], str]] = {
    "text": str,
    "list": str,
    EACH: str,
    "number": _short,
    "count": lambda value: f"{value:,.0f}",
    "bytes": _bytes,
    "share": _share,
    "ms": lambda value: _duration(value / 1000) if abs(value) >= 1000 else f"{_short(value)} ms",
    "duration": _duration,
}


def places(text: str) -> tuple[tuple[str, str], ...]:
    """Each (name, form) of the text."""
    return tuple((name, form) for name, form in _PLACE.findall(text))


def told(text: str, scope: Mapping[str, Any]) -> str:
    """The text with its numbers. Raises InvalidConfiguration where one is not known."""

    def shown(found: re.Match[str]) -> str:
        name, form = found.groups()
        if name not in scope:
            raise InvalidConfiguration(f"{text!r} tells {name}, which is not known here")
        value = scope[name]
        if isinstance(value, str):
            return ", ".join(value.split()) if form == "list" else value
        return FORMS[form](float(value))

    return _PLACE.sub(shown, text)


def told_for_each(text: str, scope: Mapping[str, Any]) -> tuple[str, ...]:
    """The text once, or once for each word of the name that it has in the form `each`. Raises as `told` does."""
    several = next((name for name, form in places(text) if form == EACH), None)
    if several is None or several not in scope:
        return (told(text, scope),)
    return tuple(told(text, {**scope, several: word}) for word in str(scope[several]).split())

"""The fields of options, and plain values merged into them, each in the type of the value that it replaces."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, dataclass, fields, replace
from difflib import get_close_matches
from typing import Any, Protocol, runtime_checkable


@runtime_checkable
class Named(Protocol):
    """A kernel, a surrogate or an acquisition: an option takes the object itself, or its name."""

    @property
    def name(self) -> str: ...


@dataclass(frozen=True)
class Room:
    """Options that belong together. It refuses values of another type than its defaults have."""

    def __post_init__(self) -> None:
        """Raises ValueError for a value, and TypeError for a room, of another type."""
        for field in fields(self):
            given, usual = vars(self)[field.name], field.default
            kind = type(usual) if isinstance(usual, Room) else field.default_factory
            if isinstance(kind, type):
                if not isinstance(given, kind):
                    raise TypeError(f"{field.name}: expected {kind.__name__}(…), got {given!r:.80}")
            elif usual is not MISSING:
                object.__setattr__(self, field.name, _value(usual, given, field.name))

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON-able values; a part that was passed as an object is its name."""
        return {field.name: _plain(getattr(self, field.name)) for field in fields(self)}


def laid_over(known: Any, data: Any, name: str = "") -> Any:
    """`known`, a value of some option or a room of options, with what `data` says instead. Raises ValueError."""
    if isinstance(known, Room):
        known_names = [f.name for f in fields(known)]
        if not isinstance(data, Mapping):
            raise ValueError(f"{name}: {data!r} is one value; its options are {', '.join(known_names)}")
        unknown = sorted(set(data) - set(known_names))
        if unknown:
            raise ValueError(f"no option {', '.join(f'{name}{u}{meant(u, known_names)}' for u in unknown)}")
        return replace(known, **{n: laid_over(getattr(known, n), v, f"{name}{n}.") for n, v in data.items()})
    return _value(known, data, name.rstrip("."))


def meant(name: str, names: Iterable[str]) -> str:
    """` (did you mean log_ei?)`, or nothing if no name is near."""
    near = get_close_matches(name, list(names), n=1)
    return f" (did you mean {near[0]}?)" if near else ""


def name_of(part: str | Named) -> str:
    """Of a part that an option names, or holds."""
    return part if isinstance(part, str) else part.name


def _value(known: Any, value: Any, name: str) -> Any:
    """`value` in the type of `known`."""
    if isinstance(known, tuple):
        if not isinstance(value, list | tuple) or not value:
            raise ValueError(f"{name}: expected numbers, got {value!r}")
        return tuple(_value(known[0], v, name) for v in value)
    if isinstance(known, str | Named):
        if not isinstance(value, str | Named) or isinstance(value, type):
            raise ValueError(f"{name}: expected a name, got {value!r:.80}")
        return value
    whole = isinstance(known, int)
    if isinstance(value, bool) or not isinstance(value, int if whole else int | float) or not math.isfinite(value):
        raise ValueError(f"{name}: expected a {'whole ' if whole else ''}number, got {value!r}")
    if whole and value < 0:
        raise ValueError(f"{name}: must not be negative, got {value}")
    return value if whole else float(value)


def _plain(value: Any) -> Any:
    if isinstance(value, Room):
        return value.to_dict()
    if isinstance(value, tuple):
        return list(value)
    return name_of(value) if isinstance(value, Named) else value

"""Plain values laid over options, each in the type of what it replaces."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass, replace
from difflib import get_close_matches
from typing import Any


def laid_over(known: Any, data: Any, name: str = "") -> Any:
    """`known`, a value of some option or a room of options, with what `data` says instead. Raises ValueError."""
    if is_dataclass(known) and not isinstance(known, type):
        if not isinstance(data, Mapping):
            raise ValueError(
                f"{name}: {data!r} is one value; its options are {', '.join(f.name for f in fields(known))}"
            )
        unknown = sorted(set(data) - {f.name for f in fields(known)})
        if unknown:
            known_names = [f.name for f in fields(known)]
            raise ValueError(f"no option {', '.join(f'{name}{u}{meant(u, known_names)}' for u in unknown)}")
        return replace(known, **{n: laid_over(getattr(known, n), v, f"{name}{n}.") for n, v in data.items()})
    return _value(known, data, name.rstrip("."))


def meant(name: str, names: Iterable[str]) -> str:
    """` (did you mean log_ei?)`, or nothing where no name is near."""
    near = get_close_matches(name, list(names), n=1)
    return f" (did you mean {near[0]}?)" if near else ""


def renamed(data: Mapping[str, Any], former: Mapping[str, Mapping[str, str]]) -> dict[str, Any]:
    """`data` with options in their rooms under the names of now; `former` is by room, former name → name."""
    return {
        room: {former.get(room, {}).get(name, name): value for name, value in options.items()}
        if isinstance(options, Mapping)
        else options
        for room, options in data.items()
    }


def _value(known: Any, value: Any, name: str) -> Any:
    """`value` in the type of `known`."""
    if isinstance(known, tuple):
        if not isinstance(value, list | tuple) or not value:
            raise ValueError(f"{name}: expected numbers, got {value!r}")
        return tuple(_value(known[0], v, name) for v in value)
    if isinstance(known, str):
        if not isinstance(value, str):
            raise ValueError(f"{name}: expected a name, got {value!r}")
        return value
    whole = isinstance(known, int)
    if isinstance(value, bool) or not isinstance(value, int if whole else int | float) or not math.isfinite(value):
        raise ValueError(f"{name}: expected a {'whole ' if whole else ''}number, got {value!r}")
    if whole and value < 0:
        raise ValueError(f"{name}: must not be negative, got {value}")
    return value if whole else float(value)

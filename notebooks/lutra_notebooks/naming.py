"""What people call a thing, where several have one name, and how many of them there are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping


def told_apart(names: Mapping[str, str]) -> dict[str, str]:
    """By id the name, with the id's end where several have that name."""
    count = Counter(names.values())
    return {id_: name if count[name] == 1 else f"{name} …{id_[-4:]}" for id_, name in names.items()}


def counted(count: int, one: str) -> str:
    """`1 trial`, `2 trials`."""
    return f"{count:,} {one}{'' if count == 1 else 's'}"

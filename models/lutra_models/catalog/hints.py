"""A nearby name for an unknown one."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """` (did you mean work_mem?)`, or an empty text if no name is similar, and none is the only one with this
    beginning.
    """
    names = list(known)
    begun = [n for n in names if n.startswith(f"{name.lower()}_")]
    near = get_close_matches(name.lower(), names, n=1, cutoff=0.75) or (begun if len(begun) == 1 else [])
    return f" (did you mean {near[0]}?)" if near else ""

"""The kernel's small files, read without errors: a missing file is empty."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path

LONGEST = 1 << 20


def text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return file.read(LONGEST).decode(errors="replace").strip()
    except OSError:
        return ""


def number(path: Path) -> float | None:
    """The content of a file that contains one whole number."""
    found = text(path)
    return float(found) if found.isdecimal() else None


def named(path: Path, names: Collection[str]) -> dict[str, float]:
    """The named values from lines such as `oom_kill 3` or `MemTotal: 24684084 kB`, without their unit."""
    found: dict[str, float] = {}
    for line in text(path).splitlines():
        words = line.replace(":", " ").split()
        if len(words) > 1 and words[0] in names and words[1].isdecimal():
            found[words[0]] = float(words[1])
    return found


def present(values: Mapping[str, float | None]) -> dict[str, float]:
    """The values that are known."""
    return {name: value for name, value in values.items() if value is not None}

"""Result files: one JSON object per line, appended when a run is complete, so that an interrupted race is resumed."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import lutra_models.gp

FOLDER = Path(__file__).parent / "results"
PEERS = Path(__file__).parent / "data" / "peers"
Row = dict[str, Any]


def _digest() -> str:
    folder = Path(lutra_models.gp.__file__).parent
    return hashlib.sha256(b"".join(p.read_bytes() for p in sorted(folder.rglob("*.py")))).hexdigest()[:12]


CODE = _digest()
"""Tells one version of the recommender from another: results of an older one are computed anew."""


class Results:
    """One file of rows; `key` names the fields that identify a run."""

    def __init__(self, path: Path, key: Sequence[str]) -> None:
        self._path, self._key = path, tuple(key)
        self._known = {self._identity(row) for row in read(path)}

    def __contains__(self, row: Mapping[str, Any]) -> bool:
        return self._identity(row) in self._known

    def add(self, row: Mapping[str, Any]) -> None:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with self._path.open("a") as file:
            file.write(json.dumps(row) + "\n")
        self._known.add(self._identity(row))

    def _identity(self, row: Mapping[str, Any]) -> tuple[Any, ...]:
        return tuple(row.get(name) for name in self._key)


def read(path: Path) -> list[Row]:
    """The file's rows. A last line that an interruption cut short is left out; no file is no rows."""
    return list(_rows(path.read_text())) if path.exists() else []


def newest(rows: Sequence[Row], key: Sequence[str]) -> list[Row]:
    """The last row of each identity: what was computed again replaces what was there."""
    return list({tuple(row.get(name) for name in key): row for row in rows}.values())


def _rows(text: str) -> Iterator[Row]:
    lines = text.split("\n")
    for number, line in enumerate(lines, 1):
        try:
            if line:
                yield json.loads(line)
        except json.JSONDecodeError:
            if number < len(lines):
                raise

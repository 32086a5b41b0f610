"""JSON lines: one object per row, including observations as `lutra export` writes them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from lutra_service.app.observations.selection import PARTS
from lutra_service.app.workloads.imports.raw import Cell, Place, RawRow, Within, as_text, text_of


def read(file: Path) -> list[RawRow]:
    """Nested documents of an observation become the columns of the CSV: `setting.…`, `metric.…`

    Raises Broken.
    """
    text = text_of(file)
    rows: list[RawRow] = []
    start = 0
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            place = Within(file, text, start)
            document = _object(Place(str(file), number, 1), line)
            cells = {
                title: Cell(as_text(value), Within(file, text, start, name))
                for title, name, value in _columns(document)
                if not isinstance(value, dict | list | None)
            }
            rows.append(RawRow(cells, place))
        start += len(line) + 1
    return rows


def _object(place: Place, line: str) -> Mapping[str, Any]:
    try:
        found = json.loads(line)
    except json.JSONDecodeError as error:
        Place(place.file, place.line, error.colno).refuse(f"this is not JSON: {error.msg}")
    except (RecursionError, ValueError) as error:  # nested too deeply, or a number of more digits than Python reads
        place.refuse(f"this is not JSON: {error}")
    if not isinstance(found, dict):
        place.refuse("expected a JSON object on each line")
    return found


def _columns(document: Mapping[str, Any]) -> Iterator[tuple[str, str, Any]]:
    """(column, key, value) of each value."""
    for name, value in document.items():
        if name in PARTS and isinstance(value, dict):
            yield from ((f"{PARTS[name]}.{inner}", inner, of_it) for inner, of_it in value.items())
        else:
            yield name, name, value

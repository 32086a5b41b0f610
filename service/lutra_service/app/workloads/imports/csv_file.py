"""A CSV with a line of column names and a row per configuration."""

from __future__ import annotations

import csv
import io
from pathlib import Path

from lutra_service.app.workloads.imports.raw import Cell, Place, RawRow, text_of

SEPARATORS = {";": "semicolons", "\t": "tabs", "|": "vertical bars"}


def read(file: Path) -> list[RawRow]:
    """Raises Broken."""
    name = str(file)
    lines = csv.reader(io.StringIO(text_of(file), newline=""), strict=True)
    rows: list[RawRow] = []
    try:
        header = [title.strip() for title in next(lines, [])]
        _check(name, header)
        titles = {title: Place(name, 1, n) for n, title in enumerate(header, 1)}
        for cells in lines:
            place = Place(name, lines.line_num, 1)
            if not cells:
                continue
            if len(cells) != len(header):
                column = min(len(cells), len(header)) + 1
                Place(name, place.line, column).refuse(f"{len(cells)} cells under {len(header)} column names")
            placed = (Cell(text.strip(), Place(name, place.line, n)) for n, text in enumerate(cells, 1))
            rows.append(RawRow(dict(zip(header, placed, strict=True)), place, titles=titles))
    except csv.Error as error:
        Place(name, lines.line_num, 1).refuse(f"this is not CSV: {error}")
    return rows


def _check(file: str, header: list[str]) -> None:
    if not header:
        Place(file, 1, 1).refuse("the file is empty; its first line names the columns")
    for separator, called in SEPARATORS.items():
        if len(header) == 1 and separator in header[0]:
            Place(file, 1, 1).refuse(
                f"the columns seem to be separated by {called} instead of commas; save it with commas between the "
                "columns and a point in decimal numbers"
            )
    seen: set[str] = set()
    for column, title in enumerate(header, 1):
        if title in seen:
            Place(file, 1, column).refuse(f"the column {title!r} exists twice")
        seen.add(title)

"""Rows of a file: CSV with a line of column names, Parquet, or JSON lines. A row is a configuration."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from lutra_service.app.observations.selection import PARTS
from lutra_service.app.observations.tables import arrow
from lutra_service.app.workloads.imports.raw import MOST_BYTES, Broken, Cell, Place, RawRow, Within, as_text, text_of

SEPARATORS = {";": "semicolons", "\t": "tabs", "|": "vertical bars"}


def read_csv(file: Path) -> list[RawRow]:
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


def read_parquet(file: Path) -> list[RawRow]:
    """In an error's place, the line is the number of the row, and the column that of the column.

    Raises Broken, and InvalidRequest if pyarrow is not installed.
    """
    pa = arrow()
    try:
        with pa.parquet.ParquetFile(file) as opened:
            groups = (opened.metadata.row_group(n) for n in range(opened.metadata.num_row_groups))
            if sum(group.total_byte_size for group in groups) > MOST_BYTES:
                raise Broken(f"{file}: more than {MOST_BYTES >> 20} MiB; take fewer rows, or fewer columns")
            table = opened.read()
    except (pa.ArrowException, OSError) as error:
        raise Broken(f"{file}: this is not a Parquet file: {error}") from error
    titles = {title: Place(str(file), 1, n) for n, title in enumerate(table.column_names, 1)}
    if len(titles) < len(table.column_names):
        raise Broken(f"{file}: two columns have the same name")
    return [
        RawRow(
            {
                title: Cell(as_text(value), Place(str(file), number, titles[title].column))
                for title, value in row.items()
                if value is not None
            },
            Place(str(file), number, 1),
            titles=titles,
        )
        for number, row in enumerate(table.to_pylist(), 1)
    ]


def read_json_lines(file: Path) -> list[RawRow]:
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

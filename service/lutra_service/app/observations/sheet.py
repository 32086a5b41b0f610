"""A table as CSV, written some cells at a time, and the maximum width of any table."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from lutra_service.app.errors import InvalidRequest

FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")

MOST_COLUMNS = 5_000
"""Every row of a table has a cell for each name that any row has: made-up names cost their number times the rows."""
CELLS = 100_000
"""The number of rows that are written before other requests get their turn."""


def verify_width(columns: int, whose: str, way_out: str) -> None:
    """Raises InvalidRequest. `whose` names their source."""
    if columns > MOST_COLUMNS:
        raise InvalidRequest(
            f"format: a table has at most {MOST_COLUMNS:,} columns, but this one would have more{whose}: {way_out}"
        )


def rows_together(columns: int) -> int:
    """The number of rows with this many columns that are made before other requests have their turn."""
    return max(1, CELLS // max(1, columns))


def sheet(titles: Sequence[str], rows: Iterable[Iterable[tuple[int, Any]]]) -> Iterator[bytes]:
    """The bytes of a table. A row is its cells, each with the number of its column; the others stay empty."""
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow([harmless(title) for title in titles])
    empty, together = [""] * len(titles), rows_together(len(titles))
    for number, row in enumerate(rows, 1):
        cells: list[Any] = empty.copy()
        for place, cell in row:
            cells[place] = "" if cell is None else harmless(cell)
        writer.writerow(cells)
        if number % together == 0:
            yield _taken(out)
    yield _taken(out)


def _taken(out: io.StringIO) -> bytes:
    text = out.getvalue()
    out.seek(0)
    out.truncate()
    return text.encode()


def harmless(cell: Any) -> Any:
    return f"'{cell}" if isinstance(cell, str) and cell.lstrip(" ").startswith(FORMULA) else cell

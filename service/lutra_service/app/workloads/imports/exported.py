"""The form in which Lutra writes observations, both in `lutra export` and over REST: recognised by its columns."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Literal

from lutra_service.app.observations.sheet import FORMULA
from lutra_service.app.observations.tables import HEAD
from lutra_service.app.workloads.imports.raw import Cell, RawRow

Kind = Literal["setting", "metric", "context", "bound", "own"]
TOLD_BY = frozenset({"database", "engine", "received_at", "windows"})
"""Columns that every observation has, and that hardly any other table has."""
FACTS = ("engine_version", "memory_bytes", "cores")
"""The database's columns in each observation; a window's own context takes precedence."""
_STARTS: dict[str, Kind] = {"setting.": "setting", "metric.": "metric", "context.": "context", "bound.": "bound"}


def is_export(titles: Collection[str]) -> bool:
    return set(titles) >= TOLD_BY


def meaning(title: str) -> tuple[Kind, str] | None:
    """The meaning of a column and its name there; `own` are the columns about the observation itself."""
    for start, kind in _STARTS.items():
        if title.startswith(start):
            return kind, title.removeprefix(start)
    return ("own", title) if title in HEAD else None


def plain(rows: Sequence[RawRow]) -> list[RawRow]:
    """The rows without the cells of a table that stay empty, each with the reason of its failure and its facts."""
    return [_plain(row) for row in rows]


def _plain(row: RawRow) -> RawRow:
    cells = {title: _meant(cell) for title, cell in row.cells.items() if cell.text}
    failure = cells.pop("failure", None)
    for name in FACTS:
        if (fact := cells.pop(name, None)) is not None:
            cells.setdefault(f"context.{name}", fact)
    return replace(row, cells=cells, failed=None if failure is None else failure.text)


def _meant(cell: Cell) -> Cell:
    """Without the apostrophe that keeps a spreadsheet from taking a text for a formula."""
    hidden = cell.text.removeprefix("'")
    return replace(cell, text=hidden) if hidden != cell.text and hidden.lstrip(" ").startswith(FORMULA) else cell

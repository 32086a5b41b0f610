"""Turns rows of cells into observations: the meaning of the columns is known, and each value is parsed once."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from lutra_models.catalog import LiveSettings
from lutra_models.catalog.units import parse_number
from lutra_models.errors import InvalidConfiguration
from lutra_models.history import Observation
from lutra_models.knobs import Value
from lutra_models.metrics import LARGEST_READING
from lutra_models.server import LONGEST_FACT

from lutra_service.app.workloads.imports.mapping import ColumnMapping, Columns
from lutra_service.app.workloads.imports.raw import Broken, Cell, Faults, RawRow

NOT_MEASURED = ("", "nan", "inf", "-inf", "none", "null")


def observations(
    rows: Sequence[RawRow], mapping: ColumnMapping, columns: Columns, live: LiveSettings, objective: str
) -> list[Observation]:
    """Each row, parsed and trusted. A row without the objective is a failure; in a file that Lutra wrote, such a window
    is left out.

    Fields of an export that not every row has are ignored from here on. Raises Broken with all errors at once.
    """
    if columns.is_export:
        _leave_out_what_some_lack(rows, columns)
    faults, made = Faults(), list[Observation]()
    for row in rows:
        with faults.kept():
            _require_of(row, columns, live.server.engine)
        settings = _settings(row, columns, live, faults)
        failed = row.failed or _failure(row, mapping)
        metrics = {} if failed else _readings(row, {t: (c.metric, c.times) for t, c in columns.metrics.items()}, faults)
        bounds = {} if failed else _readings(row, {t: (name, 1.0) for t, name in columns.bounds.items()}, faults)
        context = _context(row, columns, faults)
        if faults.count:
            continue
        if not failed and objective in {**metrics, **bounds}:
            made.append(Observation(settings, metrics, context=context, bounds=bounds))
        elif failed or not columns.is_export:
            made.append(Observation.failed(settings, failed or "not_measured", context=context))
    faults.settle()
    return made


def _require_of(row: RawRow, columns: Columns, engine: str) -> None:
    """Raises Broken for an observation of another engine."""
    cell = row.cells.get("engine") if columns.is_export else None
    if cell is not None and cell.text != engine:
        cell.place.refuse(
            f"this row is of {cell.text}, and the workload of {engine}: `lutra export --engine` writes one"
        )


def _leave_out_what_some_lack(rows: Sequence[RawRow], columns: Columns) -> None:
    for kind in (columns.settings, columns.context):
        for title in list(kind):
            lacking = sum(title not in row.cells for row in rows)
            if lacking:
                del kind[title]
                columns.ignored[title] = f"{lacking:,} of {len(rows):,} rows lack it"


def _settings(row: RawRow, columns: Columns, live: LiveSettings, faults: Faults) -> dict[str, Value]:
    made: dict[str, Value] = {}
    for title, column in columns.settings.items():
        cell = row.cells.get(title)
        with faults.kept():
            if cell is None:
                row.place.refuse(f"{title}: every row must have the same settings, but the value is missing here")
            try:
                made[column.setting] = live.parse(column.setting, column.values.get(cell.text, cell.text) + column.unit)
            except InvalidConfiguration as error:
                cell.place.refuse(str(error))
    return made


def _failure(row: RawRow, mapping: ColumnMapping) -> str | None:
    for title, texts in mapping.failed.items():
        if title in row.cells and row.cells[title].text in texts:
            return f"{title} {row.cells[title].text}"[:200]
    return None


def _readings(row: RawRow, named: Mapping[str, tuple[str, float]], faults: Faults) -> dict[str, float]:
    """By title, what the metric is called and what its numbers are multiplied by."""
    made = {}
    for title, (name, times) in named.items():
        cell = row.cells.get(title)
        if cell is not None and cell.text.lower() not in NOT_MEASURED:
            with faults.kept():
                made[name] = _reading(cell, name, times)
    return made


def _reading(cell: Cell, name: str, times: float) -> float:
    """As a report's: from 0 to 1e18."""
    number = _number(cell) * times
    if not 0 <= number <= LARGEST_READING:
        told = cell.text if times == 1 else f"{cell.text} times {times:g}"
        cell.place.refuse(
            f"{name}: {told} is not a reading: a metric is a number from 0 to 1e18, or empty if it was not measured"
        )
    return number + 0.0


def _number(cell: Cell) -> float:
    try:
        number = float(cell.text)
    except ValueError:
        cell.place.refuse(f"{cell.text!r} is not a number")
    if not math.isfinite(number):
        cell.place.refuse(f"{cell.text} is beyond a 64-bit float")
    return number


def _context(row: RawRow, columns: Columns, faults: Faults) -> dict[str, Value]:
    made: dict[str, Value] = {}
    for title, name in columns.context.items():
        if title in row.cells:
            with faults.kept():
                made[name] = circumstance(name, row.cells[title])
        elif not columns.is_export:
            with faults.kept():
                row.place.refuse(f"{title}: every row must have the same circumstances, but the value is missing here")
    return made


def circumstance(name: str, cell: Cell) -> Value:
    """A number if possible; a version stays a text. Raises Broken."""
    if name == "memory_bytes":
        try:
            return int(parse_number(name, cell.text, "B", True))
        except InvalidConfiguration as error:
            cell.place.refuse(str(error))
    if not 0 < len(cell.text) <= LONGEST_FACT:
        cell.place.refuse(f"{name}: a circumstance has 1 to {LONGEST_FACT} characters, got {len(cell.text)}")
    try:
        number = float("nan") if name == "engine_version" else _number(cell)
    except Broken:
        return cell.text
    if math.isnan(number):
        return cell.text
    return int(number) if number.is_integer() and abs(number) < 2**53 else number

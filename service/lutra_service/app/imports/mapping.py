"""What the columns of a file mean: settings of the catalogue, metrics, or nothing."""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from lutra_models.catalog import LiveSettings, did_you_mean
from lutra_models.errors import InvalidConfiguration
from lutra_models.history import Observation
from lutra_models.knobs import Value
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from lutra_service.app.imports.raw import Broken, Cell, RawRow, text_of

METRIC = re.compile(r"[A-Za-z_][A-Za-z0-9_.\-]{0,127}")
PLAIN_METRICS = ("qps", "tps", "p99_ms")
"""Columns that are metrics without being named as ones."""
NOT_MEASURED = ("", "nan", "inf", "-inf", "none", "null")


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class SettingColumn(_Part):
    """Another name, a unit that the numbers are in, and codes that stand for values."""

    setting: str
    unit: str = ""
    values: dict[str, str] = {}


class MetricColumn(_Part):
    """Another name, and what the numbers are multiplied by."""

    metric: str
    times: float = Field(default=1.0, allow_inf_nan=False)


class ColumnMapping(_Part):
    """A mapping's file. `failed`: by column, the texts that say that nothing was measured. `*` fits any text."""

    settings: dict[str, str | SettingColumn] = {}
    metrics: dict[str, str | MetricColumn] = {}
    ignore: list[str] = []
    failed: dict[str, list[str]] = {}


@dataclass(frozen=True)
class Columns:
    settings: Mapping[str, SettingColumn]
    metrics: Mapping[str, MetricColumn]


def mapping_of(file: Path | None) -> ColumnMapping:
    """Raises Broken."""
    if file is None:
        return ColumnMapping()
    try:
        return ColumnMapping.model_validate(tomllib.loads(text_of(file)))
    except tomllib.TOMLDecodeError as error:
        found = re.search(r"at line (\d+), column (\d+)", str(error))
        place = f":{found[1]}:{found[2]}" if found else ""
        raise Broken(f"{file}{place}: this is no TOML: {error}") from error
    except ValidationError as error:
        told = "; ".join(f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors())
        raise Broken(f"{file}: {told}") from error


def columns(mapping: ColumnMapping, first: RawRow, live: LiveSettings, objective: str) -> Columns:
    """What each column is: first what the mapping names, then what the catalogue does, then patterns with `*`.

    Raises Broken for a column that is nothing of these.
    """
    settings: dict[str, SettingColumn] = {}
    metrics: dict[str, MetricColumn] = {}
    for title in first.cells:
        found = _meaning(mapping, title, live, objective)
        if found is None:
            hint = did_you_mean(title, live.rows)
            first.named(title).refuse(
                f"the column {title!r} is no setting that the catalogue of {live.server.engine} "
                f"{live.server.version} has{hint}, and no metric: name it in the mapping's settings, metrics or ignore"
            )
        if isinstance(found, SettingColumn):
            settings[title] = found
        elif isinstance(found, MetricColumn):
            metrics[title] = found
    _check(first, live, Columns(settings, metrics), objective)
    return Columns(settings, metrics)


def _meaning(
    mapping: ColumnMapping, title: str, live: LiveSettings, objective: str
) -> SettingColumn | MetricColumn | str | None:
    """`ignored` for what is; None for what nobody knows."""
    if title in mapping.settings:
        return _setting(mapping.settings[title])
    if title in mapping.metrics:
        return _metric(mapping.metrics[title])
    if title in mapping.ignore or title in mapping.failed:
        return "ignored"
    if title in live.rows:
        return SettingColumn(setting=title)
    if title in (*PLAIN_METRICS, objective):
        return MetricColumn(metric=title)
    if (name := _fitting(mapping.metrics, title)) is not None:
        return MetricColumn(metric=name)
    if (name := _fitting(mapping.settings, title)) is not None:
        return SettingColumn(setting=name)
    return "ignored" if any(fnmatchcase(title, pattern) for pattern in mapping.ignore) else None


def _fitting(named: Mapping[str, str | SettingColumn | MetricColumn], title: str) -> str | None:
    """The pattern `k.*` with the name `*` takes the start from each name."""
    for pattern, to in named.items():
        start, star, end = pattern.partition("*")
        fits = len(title) >= len(start) + len(end) and title.startswith(start) and title.endswith(end)
        if star and fits and isinstance(to, str):
            return to.replace("*", title[len(start) : len(title) - len(end)])
    return None


def _check(first: RawRow, live: LiveSettings, found: Columns, objective: str) -> None:
    names = [c.setting for c in found.settings.values()]
    for title, column in found.settings.items():
        place = first.named(title)
        if column.setting not in live.rows:
            place.refuse(f"{column.setting}: not in the catalogue{did_you_mean(column.setting, live.rows)}")
        if names.count(column.setting) > 1:
            place.refuse(f"two columns are the setting {column.setting}")
    for title, metric in found.metrics.items():
        if METRIC.fullmatch(metric.metric) is None:
            first.named(title).refuse(f"{metric.metric!r} is no name of a metric: letters, digits, _ . and -")
    if not names:
        first.place.refuse("no column is a setting")
    if objective not in {c.metric for c in found.metrics.values()}:
        first.place.refuse(f"no column is the objective {objective}")


def settings_of(row: RawRow, found: Columns, live: LiveSettings) -> dict[str, Value]:
    """Raises Broken where a cell is no value of its setting."""
    made: dict[str, Value] = {}
    for title, column in found.settings.items():
        cell = row.cells.get(title)
        if cell is None:
            row.place.refuse(f"{title}: every row has the same settings, and here is none")
        try:
            made[column.setting] = live.parse(column.setting, column.values.get(cell.text, cell.text) + column.unit)
        except InvalidConfiguration as error:
            cell.place.refuse(str(error))
    return made


def observations(
    rows: Iterable[RawRow], mapping: ColumnMapping, found: Columns, live: LiveSettings, objective: str
) -> list[Observation]:
    """Each row, parsed and trusted. Raises Broken."""
    made: list[Observation] = []
    for row in rows:
        settings = settings_of(row, found, live)
        failed = row.failed or _failure(row, mapping)
        metrics = {} if failed else _metrics(row, found)
        if failed or objective not in metrics:
            made.append(Observation.failed(settings, failed or "not_measured"))
        else:
            made.append(Observation(settings, metrics))
    return made


def _failure(row: RawRow, mapping: ColumnMapping) -> str | None:
    for title, texts in mapping.failed.items():
        if title in row.cells and row.cells[title].text in texts:
            return f"{title} {row.cells[title].text}"[:200]
    return None


def _metrics(row: RawRow, found: Columns) -> dict[str, float]:
    made = {}
    for title, column in found.metrics.items():
        cell = row.cells.get(title)
        if cell is not None and cell.text.lower() not in NOT_MEASURED:
            made[column.metric] = _number(cell) * column.times
    return made


def _number(cell: Cell) -> float:
    try:
        number = float(cell.text)
    except ValueError:
        cell.place.refuse(f"{cell.text!r} is no number")
    if not math.isfinite(number):
        cell.place.refuse(f"{cell.text} is beyond a 64-bit float")
    return number


def _setting(column: str | SettingColumn) -> SettingColumn:
    return SettingColumn(setting=column) if isinstance(column, str) else column


def _metric(column: str | MetricColumn) -> MetricColumn:
    return MetricColumn(metric=column) if isinstance(column, str) else column

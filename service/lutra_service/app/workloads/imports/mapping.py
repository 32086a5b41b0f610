"""The meaning of a file's columns: settings of the catalogue, metrics, circumstances, or none."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path

from lutra_models.catalog import LiveSettings, did_you_mean
from lutra_models.errors import printable
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from lutra_service.app.workloads.imports import exported
from lutra_service.app.workloads.imports.raw import MOST_TOLD, Broken, Cell, Faults, RawRow, text_of

METRIC = re.compile(r"[A-Za-z_][A-Za-z0-9_.\-]{0,127}")
PLAIN_METRICS = ("qps", "tps", "p99_ms")
"""Columns that are metrics although their names do not show it."""
CIRCUMSTANCES = (
    *("engine_version", "memory_bytes", "cores", "kernel", "allocator", "file_system", "device", "memory_pages"),
    "machine",
)
"""Columns whose names alone mark them as circumstances."""
BY_MAPPING = "as the mapping says"


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class SettingColumn(_Part):
    """Another name, the unit of the numbers, and codes for values."""

    setting: str
    unit: str = ""
    values: dict[str, str] = {}


class MetricColumn(_Part):
    """Another name, and a factor for the numbers."""

    metric: str
    times: float = Field(default=1.0, allow_inf_nan=False)


class ColumnMapping(_Part):
    """A mapping's file. `context`: the circumstances, by column. `failed`: the texts that mean a missing measurement,
    by column. `*` fits any text.
    """

    settings: dict[str, str | SettingColumn] = {}
    metrics: dict[str, str | MetricColumn] = {}
    context: dict[str, str] = {}
    ignore: list[str] = []
    failed: dict[str, list[str]] = {}


@dataclass
class Columns:
    """The meaning of each column, by title. `ignored` is the reason why one is not used. `is_export` if Lutra wrote the
    file.
    """

    settings: dict[str, SettingColumn] = field(default_factory=dict)
    metrics: dict[str, MetricColumn] = field(default_factory=dict)
    context: dict[str, str] = field(default_factory=dict)
    bounds: dict[str, str] = field(default_factory=dict)
    ignored: dict[str, str] = field(default_factory=dict)
    is_export: bool = False


def mapping_of(file: Path | None) -> ColumnMapping:
    """Raises Broken."""
    if file is None:
        return ColumnMapping()
    try:
        return ColumnMapping.model_validate(tomllib.loads(text_of(file)))
    except tomllib.TOMLDecodeError as error:
        found = re.search(r"at line (\d+), column (\d+)", str(error))
        place = f":{found[1]}:{found[2]}" if found else ""
        raise Broken(f"{file}{place}: this is not TOML: {error}") from error
    except ValidationError as error:
        told = "; ".join(f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors())
        raise Broken(f"{file}: {told}") from error


def titles_of(rows: Sequence[RawRow]) -> dict[str, RawRow]:
    """Every column, with the first row that has it."""
    found: dict[str, RawRow] = {}
    for row in rows:
        if not row.cells.keys() <= found.keys():
            found |= {title: row for title in row.cells if title not in found}
    return found


def columns(mapping: ColumnMapping, rows: Sequence[RawRow], live: LiveSettings, objective: str) -> Columns:
    """The meaning of each column: first from the mapping, then from the catalogue, then from patterns with `*`.

    Raises Broken, with all other columns at once.
    """
    first, unknown, faults = titles_of(rows), list[str](), Faults()
    found = Columns(is_export=exported.is_export(first))
    for title, row in first.items():
        if not _put(found, mapping, title, live, objective):
            unknown.append(title)
            with faults.kept():
                row.named(title).refuse(
                    f"the column {title!r} is not a setting in the catalogue of {live.server.engine} "
                    f"{live.server.version}{did_you_mean(title, live.rows)}, nor a metric"
                )
    rest = f"; the others are {', '.join(map(repr, unknown[MOST_TOLD:]))}" if len(unknown) > MOST_TOLD else ""
    faults.settle(
        f"a mapping can assign columns that the catalogue does not have: settings, metrics, context or ignore{rest}"
    )
    _check(first, rows[0], live, found, objective)
    return found


def told_by(mapping: ColumnMapping, rows: Sequence[RawRow], name: str) -> Cell | None:
    """The value of a circumstance in the first row that has it, such as `cores`; None if no column does."""
    for title, row in titles_of(rows).items():
        of_export = exported.meaning(title) == ("context", name)
        if mapping.context.get(title) == name or of_export or (title == name and title not in mapping.settings):
            return row.cells[title]
    return None


def _put(columns: Columns, mapping: ColumnMapping, title: str, live: LiveSettings, objective: str) -> bool:
    """Whether somebody knows what it is."""
    if title in mapping.settings:
        columns.settings[title] = _setting(mapping.settings[title])
    elif title in mapping.metrics:
        columns.metrics[title] = _metric(mapping.metrics[title])
    elif title in mapping.context:
        columns.context[title] = mapping.context[title]
    elif title in mapping.ignore:
        columns.ignored[title] = BY_MAPPING
    elif title in mapping.failed:
        columns.ignored[title] = "says only what failed"
    elif columns.is_export and (told := exported.meaning(title)) is not None:
        _put_exported(columns, title, *told, live)
    elif title in live.rows:
        columns.settings[title] = SettingColumn(setting=title)
    elif title in (*PLAIN_METRICS, objective):
        columns.metrics[title] = MetricColumn(metric=title)
    elif title in CIRCUMSTANCES:
        columns.context[title] = title
    elif (name := _fitting(mapping.metrics, title)) is not None:
        columns.metrics[title] = MetricColumn(metric=name)
    elif (name := _fitting(mapping.settings, title)) is not None:
        columns.settings[title] = SettingColumn(setting=name)
    elif (name := _fitting(mapping.context, title)) is not None:
        columns.context[title] = name
    elif any(fnmatchcase(title, pattern) for pattern in mapping.ignore):
        columns.ignored[title] = BY_MAPPING
    else:
        return False
    return True


def _put_exported(columns: Columns, title: str, kind: exported.Kind, name: str, live: LiveSettings) -> None:
    if kind == "setting" and name not in live.rows:
        columns.ignored[title] = f"not in the catalogue of {live.server.engine} {live.server.version}"
    elif kind == "setting":
        columns.settings[title] = SettingColumn(setting=name)
    elif kind == "metric":
        columns.metrics[title] = MetricColumn(metric=name)
    elif kind == "context":
        columns.context[title] = name
    elif kind == "bound":
        columns.bounds[title] = name
    else:
        columns.ignored[title] = "describes the observation itself"


def _fitting(named: Mapping[str, str | SettingColumn | MetricColumn], title: str) -> str | None:
    """The pattern `k.*` with the name `*` takes the start from each name."""
    for pattern, to in named.items():
        start, star, end = pattern.partition("*")
        fits = len(title) >= len(start) + len(end) and title.startswith(start) and title.endswith(end)
        if star and fits and isinstance(to, str):
            return to.replace("*", title[len(start) : len(title) - len(end)])
    return None


def _check(first: Mapping[str, RawRow], row: RawRow, live: LiveSettings, columns: Columns, objective: str) -> None:
    """Raises Broken for names that are none, and for two columns that are the same."""
    faults = Faults()
    settings = {title: column.setting for title, column in columns.settings.items()}
    metrics = {title: column.metric for title, column in columns.metrics.items()}
    for what, named in {"setting": settings, "metric": metrics, "circumstance": columns.context}.items():
        before: dict[str, str] = {}
        for title, name in named.items():
            with faults.kept():
                if what == "setting" and name not in live.rows:
                    first[title].named(title).refuse(f"{name}: not in the catalogue{did_you_mean(name, live.rows)}")
                if METRIC.fullmatch(name) is None:
                    told = "; the `*` of a pattern is only the rest of the name" if name.isdigit() else ""
                    first[title].named(title).refuse(
                        f"{name!r} is not a {what} name: it must begin with a letter or _, then letters, digits, _ . "
                        f"and -{told}"
                    )
                if name in before:
                    first[title].named(title).refuse(
                        f"two columns are the {what} {name}, {before[name]!r} and {title!r}"
                    )
            before.setdefault(name, title)
    faults.settle()
    if not settings:
        row.place.refuse("no column is a setting")
    if objective not in metrics.values():
        row.place.refuse(f"there is no column for the objective {objective}{did_you_mean(objective, metrics.values())}")


def _setting(column: str | SettingColumn) -> SettingColumn:
    return SettingColumn(setting=column) if isinstance(column, str) else column


def _metric(column: str | MetricColumn) -> MetricColumn:
    return MetricColumn(metric=column) if isinstance(column, str) else column


@dataclass(frozen=True)
class Fates:
    """The names of settings, circumstances and metrics, by their use; `ignored` is the reason, by column."""

    learned: tuple[str, ...]
    covariates: tuple[str, ...]
    same: tuple[str, ...]
    metrics: tuple[str, ...]
    ignored: Mapping[str, str]

    def lines(self) -> Iterator[str]:
        told = {
            "learned from": self.learned,
            "covariates (they cannot move here: learned from, never proposed)": self.covariates,
            "the same in every row (nothing to learn)": self.same,
            "metrics": self.metrics,
        }
        yield from (f"{what}: {', '.join(names)}" for what, names in told.items() if names)
        for why in dict.fromkeys(self.ignored.values()):
            yield f"ignored, {why}: {', '.join(printable(t) for t, w in self.ignored.items() if w == why)}"

    @property
    def sentence(self) -> str:
        """A summary, for the session."""
        told = [f"settings learned from: {len(self.learned)}"]
        told += [f"covariates: {', '.join(self.covariates)}"] if self.covariates else []
        told += [f"the same in every row: {len(self.same)}"] if self.same else []
        return "; ".join([*told, *([f"columns ignored: {len(self.ignored)}"] if self.ignored else [])])

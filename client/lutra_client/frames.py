"""Documents as data frames. Only this module imports pandas, and only when a frame is requested."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from lutra_client.schemas import ObservationAnswer

if TYPE_CHECKING:
    import pandas as pd

WORDS = {"settings": "setting", "context": "context"}
NUMBERS = {"metrics": "metric", "bounds": "bound"}
PARTS = {**WORDS, **NUMBERS}
"""An observation's documents, and how the columns of each begin."""
HEAD = tuple(name for name in ObservationAnswer.__annotations__ if name not in PARTS)
MOMENTS = ("start", "end", "received_at")
Names = tuple[str, ...]
Values = tuple[Any, ...]


def wide(items: Iterable[Any]) -> pd.DataFrame:
    """A row an item; what is nested has its place in its column's name, as in `policy.durability`."""
    found: pd.DataFrame = _installed()[0].json_normalize(list(items))
    return found


def html(items: Iterable[Any]) -> str | None:
    """The table that a notebook shows; None if pandas is not installed."""
    try:
        found: str = wide(items).to_html(max_cols=20)
    except ImportError:
        return None
    return found


def reader() -> Callable[[str | bytes], Any]:
    """A parser of one line of JSON. Raises ImportError if pandas, or a package that it needs here, is not installed."""
    read: Callable[[str | bytes], Any] = _installed()[2].loads
    return read


@dataclass
class Observed:
    """Observations on their way to a frame. Rows whose documents name the same things are kept together."""

    metrics: Iterable[str] = ()
    """The requested ones: each is a column, even if nothing measured it."""
    _groups: dict[tuple[Names, ...], _Alike] = field(default_factory=dict)
    _count: int = 0

    def add(self, row: Mapping[str, Any]) -> None:
        names = tuple(row["settings"]), tuple(row["context"]), tuple(row["metrics"]), tuple(row["bounds"])
        group = self._groups.get(names)
        if group is None:
            group = self._groups[names] = _Alike(tuple(n for n in row if n not in PARTS), names)
        group.add(self._count, row)
        self._count += 1

    def frame(self) -> pd.DataFrame:
        """Rows keep their order; `attrs["units"]` has the unit of each column that has one."""
        pandas, *_ = _installed()
        frames = [group.frame() for group in self._groups.values()]
        found: pd.DataFrame = pandas.concat(frames) if frames else pandas.DataFrame(columns=list(HEAD))
        moments = {n: pandas.to_datetime(found[n], utc=True, format="ISO8601") for n in MOMENTS if n in found}
        found = found.assign(**moments) if len(frames) < 2 else found.assign(**moments).sort_index()
        found = found.assign(**{t: float("nan") for m in self.metrics if (t := f"metric.{m}") not in found})
        found.attrs["units"] = _units(found)
        return found


@dataclass
class _Alike:
    """Rows with the same names in each document. What is set repeats from row to row, and is kept once. What was
    measured is packed: as Python's own numbers it would take four times the memory."""

    head: Names
    names: tuple[Names, ...]
    _places: list[int] = field(default_factory=list)
    _heads: list[Values] = field(default_factory=list)
    _set: dict[Values, int] = field(default_factory=dict)
    _codes: list[int] = field(default_factory=list)
    _measured: array[float] = field(default_factory=lambda: array("d"))

    def add(self, place: int, row: Mapping[str, Any]) -> None:
        words = (*row["settings"].values(), *row["context"].values())
        self._places.append(place)
        self._heads.append(tuple([row[name] for name in self.head]))
        self._codes.append(self._set.setdefault(words, len(self._set)))
        self._measured.extend(row["metrics"].values())
        self._measured.extend(row["bounds"].values())

    def frame(self) -> pd.DataFrame:
        pandas, numpy, _ = _installed()
        titles = [f"{start}.{n}" for start, part in zip(PARTS.values(), self.names, strict=True) for n in part]
        said = sum(len(part) for part in self.names[: len(WORDS)])
        heads = pandas.DataFrame(dict(zip(self.head, zip(*self._heads, strict=True), strict=True)))
        distinct = zip(*self._set, strict=True) if said else ()
        words = pandas.DataFrame(dict(zip(titles[:said], distinct, strict=True)), index=range(len(self._set)))
        words = words.take(self._codes).reset_index(drop=True)
        measured = numpy.frombuffer(self._measured).reshape(len(self._places), len(titles) - said)
        numbers = pandas.DataFrame(measured, columns=titles[said:])
        found: pd.DataFrame = pandas.concat([heads, words, numbers], axis=1)
        return found.set_index(pandas.Index(self._places))


def _units(found: pd.DataFrame) -> dict[str, str]:
    """By column. A setting's is the one that its catalogue has for the version; of one that differs there is none."""
    from lutra_models.catalog import of_engine
    from lutra_models.errors import LutraError
    from lutra_models.metrics import MEASURED

    told = {f"{start}.{m.name}": m.unit for start in NUMBERS.values() for m in MEASURED}
    settings: dict[str, set[str]] = {}
    seen = found[["engine", "engine_version"]].drop_duplicates() if "engine_version" in found else found.head(0)
    for engine, version in seen.to_numpy():
        try:
            rows = [row for catalog in of_engine(engine) for row in catalog.rows_for(str(version))]
        except LutraError:  # an engine, or a version, that this installation does not know
            return {name: told[name] for name in found if name in told}
        for row in rows:
            settings.setdefault(f"setting.{row.name}", set()).add(row.unit)
    told |= {name: unit for name, units in settings.items() if len(units) == 1 and (unit := next(iter(units)))}
    return {name: told[name] for name in found if name in told}


def _installed() -> tuple[Any, Any, Any]:
    try:
        import numpy
        import orjson
        import pandas
    except ImportError as error:
        raise ImportError(f"a data frame needs {error.name}: pip install 'lutra-client[pandas]'") from error
    return pandas, numpy, orjson

"""Documents as data frames. pandas is imported by this module alone, and only where a frame is asked for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

PARTS = {"settings": "setting", "metrics": "metric", "context": "context"}
"""An observation's documents, and how the columns of each begin."""
MOMENTS = ("start", "end")
Names = tuple[str, ...]


def wide(items: Iterable[Any]) -> pd.DataFrame:
    """A row an item; what is nested has its place in its column's name, as in `policy.durability`."""
    found: pd.DataFrame = _pandas().json_normalize(list(items))
    return found


@dataclass
class Observed:
    """Observations on their way to a frame, kept as tuples: rows of the same settings and metrics share their names."""

    _groups: dict[tuple[Names, ...], tuple[list[int], list[tuple[Any, ...]]]] = field(default_factory=dict)
    _head: Names = ()
    _count: int = 0

    def add(self, row: Mapping[str, Any]) -> None:
        parts = [row[part] for part in PARTS]
        head = {name: value for name, value in row.items() if name not in PARTS}
        self._head = self._head or tuple(head)
        places, rows = self._groups.setdefault(tuple(tuple(part) for part in parts), ([], []))
        places.append(self._count)
        rows.append((*head.values(), *(value for part in parts for value in part.values())))
        self._count += 1

    def frame(self) -> pd.DataFrame:
        """In the order in which they came. Raises ImportError where pandas is not installed."""
        pandas = _pandas()
        frames: list[pd.DataFrame] = [
            pandas.DataFrame(dict(zip(self._columns(names), zip(*rows, strict=True), strict=True)), index=places)
            for names, (places, rows) in self._groups.items()
        ]
        found: pd.DataFrame = pandas.concat(frames).sort_index() if frames else pandas.DataFrame()
        moments = {n: pandas.to_datetime(found[n], utc=True, format="ISO8601") for n in MOMENTS if n in found}
        return found.assign(**moments)

    def _columns(self, names: tuple[Names, ...]) -> list[str]:
        starts = PARTS.values()
        return [*self._head, *(f"{start}.{n}" for start, part in zip(starts, names, strict=True) for n in part)]


def _pandas() -> Any:
    try:
        import pandas
    except ImportError as error:
        raise ImportError("a data frame needs pandas: pip install 'lutra-client[pandas]'") from error
    return pandas

"""Arrays that grow by rows, and names as numbers: the index of thousands of workloads takes little room."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Kind = tuple[tuple[int, ...], Any, float]
"""A column's shape beyond its rows, its numbers' type, and the value that fills empty rows."""
_LEAST = 64
_SPARE = 8
"""The number of rows for which one spare row is kept: all of it is memory in use."""


class Columns:
    """Columns by name, of as many rows as `hold` asked for, or more."""

    def __init__(self, **kinds: Kind) -> None:
        self._kinds = kinds
        self._size = 0
        self._columns: dict[str, npt.NDArray[Any]] = {n: self._empty(k, 0) for n, k in kinds.items()}

    def __getitem__(self, name: str) -> npt.NDArray[Any]:
        return self._columns[name]

    def hold(self, row: int) -> None:
        """Make room for this row."""
        if row < self._size:
            return
        size = max(_LEAST, row + 1 + row // _SPARE)
        for name, kind in self._kinds.items():
            longer = self._empty(kind, size)
            longer[: self._size] = self._columns[name]
            self._columns[name] = longer
        self._size = size

    def clear(self, row: int) -> None:
        for name, (_, _, fill) in self._kinds.items():
            self._columns[name][row] = fill

    @staticmethod
    def _empty(kind: Kind, size: int) -> npt.NDArray[Any]:
        shape, type_, fill = kind
        return np.full((size, *shape), fill, dtype=type_)


class Names:
    """A number for each name, in the order of their first use."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self._numbers)

    def number(self, name: str) -> int:
        return self._numbers.setdefault(name, len(self._numbers))

    def known(self, name: str) -> int | None:
        return self._numbers.get(name)

"""The contexts of many workloads as arrays, for the distance between circumstances.

Shapes: w workloads, e entries of a context.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from lutra_models.gp.options import Transfer
from lutra_models.gp.space.encoding import Array
from lutra_models.gp.transfer.columns import Columns, Kind, Names
from lutra_models.gp.transfer.similarity import magnitude
from lutra_models.knobs import Value

_ENTRIES = 24
TEXT = 1e6
"""Numbers are stored as their logarithms; from this value on, a code is a text."""
COLUMNS: dict[str, Kind] = {
    "named": ((_ENTRIES,), np.int32, -1),
    "context": ((_ENTRIES,), np.float64, np.nan),
}


def put(columns: Columns, row: int, names: Names, context: Mapping[str, Value]) -> None:
    columns["named"][row], columns["context"][row] = -1, np.nan
    for i, (name, value) in enumerate(sorted(context.items())[:_ENTRIES]):
        columns["named"][row, i] = names.number(f"context {name}")
        text = isinstance(value, str)
        columns["context"][row, i] = TEXT + names.number(f"text {value}") if text else magnitude(float(value))


def apart(
    columns: Columns, rows: npt.NDArray[np.intp], names: Names, context: Mapping[str, Value], options: Transfer
) -> Array:
    """(w,) the distance between the circumstances that both name: numbers by their ratio, texts by being different."""
    here = np.full(len(names) + 1, np.nan)
    for name, value in context.items():
        if (number := names.known(f"context {name}")) is not None:
            here[number] = _value(value, names)
    named, there = columns["named"][rows], columns["context"][rows]
    mine = here[named]
    with np.errstate(invalid="ignore"):
        text = (there >= TEXT) | (mine >= TEXT)
        by_ratio = np.minimum(np.abs(mine - there), options.most_context)
        apart = np.where(text, (mine != there) * options.other_text, by_ratio)
    return np.asarray(options.context * np.where(np.isnan(mine) | (named < 0), 0.0, apart).sum(axis=1))


def _value(value: Value, names: Names) -> float:
    if not isinstance(value, str):
        return float(magnitude(float(value)))
    number = names.known(f"text {value}")
    return 2.0 * TEXT if number is None else TEXT + number

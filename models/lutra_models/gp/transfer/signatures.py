"""The signatures of many workloads as arrays: for the position of a workload's counters among theirs.

Shapes: w workloads, c counters of one.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from lutra_models.gp.fitted.snapshot import Signature
from lutra_models.gp.options import Transfer
from lutra_models.gp.space.encoding import Array
from lutra_models.gp.transfer.columns import Columns, Kind, Names
from lutra_models.gp.transfer.similarity import magnitude
from lutra_models.gp.transfer.workload import COUNTERS

_DECILES = 11
COLUMNS: dict[str, Kind] = {
    "counters": ((COUNTERS,), np.int32, -1),
    "deciles": ((COUNTERS, _DECILES), np.float32, np.nan),
}


def put(columns: Columns, row: int, names: Names, signature: Signature) -> None:
    counters, deciles = columns["counters"], columns["deciles"]
    counters[row], deciles[row] = -1, np.nan
    for i, (name, values) in enumerate(list(signature.items())[:COUNTERS]):
        counters[row, i] = names.number(f"counter {name}")
        deciles[row, i] = magnitude(values)


def places(
    columns: Columns, rows: npt.NDArray[np.intp], names: Names, counters: Mapping[str, float], options: Transfer
) -> tuple[Array, npt.NDArray[np.bool_]]:
    """(w,) as `similarity.distances` and `similarity.strangers`, of all these rows at once."""
    here = np.full(len(names) + 1, np.nan, dtype=np.float32)
    for name, counter in counters.items():
        if (number := names.known(f"counter {name}")) is not None:
            here[number] = magnitude(counter)
    value = here[columns["counters"][rows]]
    common = ~np.isnan(value)
    number_common = common.sum(axis=1)
    if not np.any(common):
        return np.full(len(rows), options.outside), np.zeros(len(rows), dtype=bool)
    deciles = columns["deciles"][rows]
    low, high = deciles[:, :, 0], deciles[:, :, -1]
    margin = options.margin * (high - low) + 1e-6
    with np.errstate(invalid="ignore"):
        outside = (value < low - margin) | (value > high + margin)
        place = np.where(outside, options.outside, np.abs(2.0 * _share(value, deciles) - 1.0))
    mean = np.where(common, place, 0.0).sum(axis=1) / np.maximum(number_common, 1)
    strange = (outside & common).sum(axis=1) > options.strange * number_common
    return np.where(number_common > 0, mean, options.outside), strange


def _share(value: Array, deciles: Array) -> Array:
    """(w, c) the share of the past's readings below (w, c) `value`, by straight lines between (w, c, 11) `deciles`."""
    below = np.sum(deciles <= value[:, :, None], axis=2)
    i = np.clip(below - 1, 0, _DECILES - 2)[:, :, None]
    left, right = np.take_along_axis(deciles, i, 2)[:, :, 0], np.take_along_axis(deciles, i + 1, 2)[:, :, 0]
    within = np.clip((value - left) / np.maximum(right - left, 1e-12), 0.0, 1.0)
    return np.asarray(np.where(below == 0, 0.0, (i[:, :, 0] + within) / (_DECILES - 1)))

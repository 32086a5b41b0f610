"""Configurations as numbers: the matrix that a forest reads, and the unit cube that a search moves in.

Shapes: m configurations, k knobs. A row of the matrix holds numbers, a choice as its position among the options.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from lutra_models import Choice, Configuration, Knob, Number


def matrix(knobs: Sequence[Knob], configurations: Sequence[Mapping[str, Any]]) -> np.ndarray:
    """(m, k) numbers of m configurations."""
    return np.array([[number(k, c[k.name]) for k in knobs] for c in configurations], dtype=float)


def from_unit(knobs: Sequence[Knob], cube: np.ndarray) -> np.ndarray:
    """(m, k) points of the unit cube as numbers within the domains."""
    columns = []
    for knob, u in zip(knobs, np.clip(cube, 0.0, 1 - 1e-6).T, strict=True):
        if isinstance(knob.domain, Choice):
            columns.append(np.floor(u * len(knob.domain.options)))
            continue
        low, high = _scaled(knob.domain, np.array([knob.domain.low, knob.domain.high]))
        raw = low + u * (high - low)
        numbers = np.clip(np.exp(raw) if knob.domain.log else raw, knob.domain.low, knob.domain.high)
        columns.append(np.rint(numbers) if knob.domain.integer else numbers)
    return np.column_stack(columns)


def to_unit(knobs: Sequence[Knob], matrix: np.ndarray) -> np.ndarray:
    """(m, k) numbers as points of the unit cube; options sit in the middle of their share."""
    columns = []
    for knob, x in zip(knobs, matrix.T, strict=True):
        if isinstance(knob.domain, Choice):
            columns.append((x + 0.5) / len(knob.domain.options))
            continue
        low, high = _scaled(knob.domain, np.array([knob.domain.low, knob.domain.high]))
        columns.append((_scaled(knob.domain, np.clip(x, knob.domain.low, knob.domain.high)) - low) / (high - low))
    return np.column_stack(columns)


def configurations(knobs: Sequence[Knob], matrix: np.ndarray) -> list[Configuration]:
    """The (m, k) numbers as configurations."""
    return [Configuration({k.name: value(k, x) for k, x in zip(knobs, row, strict=True)}) for row in matrix]


def number(knob: Knob, value: Any) -> float:
    return float(knob.domain.options.index(value)) if isinstance(knob.domain, Choice) else float(value)


def value(knob: Knob, number: float) -> Any:
    if isinstance(knob.domain, Choice):
        return knob.domain.options[int(number)]
    return round(number) if knob.domain.integer else float(number)


def _scaled(domain: Number, numbers: np.ndarray) -> np.ndarray:
    return np.log(numbers) if domain.log else numbers


def as_read(knob: Knob, cell: Any) -> Any:
    """A table's cell as the knob's value: options are text, even where the table has codes."""
    return str(cell) if isinstance(knob.domain, Choice) else float(cell)

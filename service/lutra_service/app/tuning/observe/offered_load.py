"""The clients' load on a live database, which is never the same twice."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from statistics import median
from typing import Any

from lutra_models.judgement import LIKE

OFFERED = ("qps", "tps")
"""Measures of the clients' load: the first measured one counts."""
WINDOWS = 3
"""The number of windows that define a load: their median does not depend on one window's chance."""


def is_like(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """By the first metric of OFFERED that both have; without one they are equal."""
    name = next((n for n in OFFERED if n in one and n in other), None)
    if name is None:
        return True
    small, large = sorted((one[name], other[name]))
    return bool(large <= LIKE * small or large == 0)


def offered(windows: Iterable[Mapping[str, Any]]) -> dict[str, float]:
    """The median load of the windows with these metrics."""
    read = list(windows)
    return {n: median(found) for n in OFFERED if (found := [m[n] for m in read if n in m])}

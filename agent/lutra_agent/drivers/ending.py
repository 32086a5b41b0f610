"""A window that is watched while it lasts, and ends early once it cannot reach the reading that its trial needs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from lutra_models.ending import Level, ended
from lutra_models.wire import EndedEarly

MOST = 1e18
"""No load does more: a report cannot contain a larger number."""


@dataclass(frozen=True)
class Progress:
    """The readings of the window's parts that are over, each `interval_s` long."""

    readings: Sequence[float]
    interval_s: float


Printed = Callable[[str, str], Progress | None]
"""Reads the output that a load generator has printed so far, errors included; None if it contains no reading."""


class Watch:
    """Decides repeatedly whether a window of `planned_s` is over."""

    def __init__(self, level: Level, planned_s: float, printed: Printed) -> None:
        self._level = level
        self._planned_s = planned_s
        self._printed = printed
        self.found: EndedEarly | None = None

    def __call__(self, out: str, err: str) -> bool:
        seen = self._printed(out, err)
        bound = None if seen is None else ended(seen.readings, int(self._planned_s // seen.interval_s), self._level)
        if bound is None or bound > MOST:
            return False
        self.found = EndedEarly(metric=self._level.metric, bound=bound, planned_s=self._planned_s)
        return True

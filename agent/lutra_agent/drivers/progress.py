"""How steady a load was inside its window: what can be relied on, second by second."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from lutra_models.metrics import TPS_LOW

MOST_INTERVALS = 600
"""A long run prints fewer, longer ones."""
_ENOUGH = 10
_TENTH = 0.1
_LINE = re.compile(r"^\[ (\d+)s \] .*?\btps: ([\d.]+)", re.MULTILINE)


def interval_s(total_s: float) -> int:
    """The seconds between two lines of progress of a run."""
    return max(1, math.ceil(total_s / MOST_INTERVALS))


def sysbench_rates(stdout: str, warmup_s: float) -> list[float]:
    """The transactions per second of each interval after the warm-up; the run's last one may be cut short."""
    ends = [(int(end), float(tps)) for end, tps in _LINE.findall(stdout)]
    length = ends[0][0] if ends else 0
    return [tps for end, tps in ends if end - length >= warmup_s]


def low(rates: Sequence[float]) -> dict[str, float]:
    """`tps_low`, the tenth percentile of the intervals' rates; nothing where there are fewer than ten."""
    if len(rates) < _ENOUGH:
        return {}
    place = math.ceil(_TENTH * len(rates)) - 1
    return {TPS_LOW.name: sorted(rates)[place]}

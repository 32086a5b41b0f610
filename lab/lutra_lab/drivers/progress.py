"""A load generator's output inside its window, interval by interval: its steadiness, and a prediction of its end."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from lutra_models.metrics import TPS_LOW

MOST_INTERVALS = 600
"""A long run prints fewer and longer intervals."""
_ENOUGH = 10
_TENTH = 0.1
_SYSBENCH = re.compile(r"^\[ (\d+)s \] .*?\btps: (?P<tps>[\d.]+) qps: (?P<qps>[\d.]+) .*\n", re.MULTILINE)
_PGBENCH = re.compile(r"^progress: ([\d.]+) s, ([\d.]+) tps,.*\n", re.MULTILINE)


def interval_s(total_s: float) -> int:
    """The seconds between two lines of progress of a run."""
    return max(1, math.ceil(total_s / MOST_INTERVALS))


def sysbench_rates(stdout: str, warmup_s: float, metric: str = "tps") -> list[float]:
    """The tps or qps of each interval after the warm-up; the run's last one may be cut short."""
    return _after([(float(found[1]), float(found[metric])) for found in _SYSBENCH.finditer(stdout)], warmup_s)


def pgbench_rates(stderr: str, warmup_s: float) -> list[float]:
    """The transactions per second of each interval after the warm-up."""
    return _after([(float(end), float(tps)) for end, tps in _PGBENCH.findall(stderr)], warmup_s)


def _after(ends: list[tuple[float, float]], warmup_s: float) -> list[float]:
    """The rates of the intervals, each with its end in seconds, that began after the warm-up."""
    length = round(ends[0][0]) if ends else 0
    return [rate for end, rate in ends if round(end) - length >= warmup_s]


def low(rates: Sequence[float]) -> dict[str, float]:
    """`tps_low`, the tenth percentile of the intervals' rates; nothing if there are fewer than ten."""
    if len(rates) < _ENOUGH:
        return {}
    place = math.ceil(_TENTH * len(rates)) - 1
    return {TPS_LOW.name: sorted(rates)[place]}

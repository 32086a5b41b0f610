"""The test whether a workload adds anything to another one of the same database: if not, both are merged.

Two workloads are equal if they agree in everything that counts: metric, circumstances, levels, and the effect of each
setting as far as either of them is certain of it.
"""

from __future__ import annotations

import math

import numpy as np

from lutra_models.gp.transfer.effects import Effect
from lutra_models.gp.transfer.workload import Lesson, Workload
from lutra_models.history import same_context

AGREEING = 1.0
"""The largest distance between two equal curves, in deviations."""
NOTHING = 0.05
"""The additional relative allowance for a reading's noise; a metric on another scale does not have it."""


def says_the_same(one: Workload, other: Workload, metric: str) -> bool:
    """Whether both give the same lessons about `metric` in the same circumstances."""
    here, there = one.lessons.get(metric), other.lessons.get(metric)
    if here is None or there is None or not same_context(one.context, other.context):
        return False
    return here.log == there.log and _overlap(here, there) and _agree(here, there)


def _overlap(one: Lesson, other: Lesson) -> bool:
    """Whether the middle of each lies between the other's ends."""
    return (
        other.low <= 0.5 * (one.low + one.high) <= other.high and one.low <= 0.5 * (other.low + other.high) <= one.high
    )


def _agree(one: Lesson, other: Lesson) -> bool:
    mine, theirs = ({e.setting: e for e in lesson.effects} for lesson in (one, other))
    lost = NOTHING if one.log else 0.0
    return all(_alike(mine.get(name), theirs.get(name), lost) for name in mine.keys() | theirs.keys())


def _alike(one: Effect | None, other: Effect | None, lost: float) -> bool:
    if one is None or other is None:
        known = one or other
        return known is None or not known.certain or known.size <= lost
    apart = float(np.std(np.array(one.gains) - other.at(one.values)))
    return apart <= AGREEING * math.hypot(one.deviation, other.deviation) + lost

"""Two samples become a window: counters become rates, gauges their mean. A rate is never negative.

A window that spans a reset of any counter, or a jump of the clock, is discarded whole: half of it would be a guess.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from lutra_agent.engines.common.telemetry import Reading, Sample

CLOCK_TOLERANCE_S = 1.0
CLOCK_TOLERANCE_SHARE = 0.1


@dataclass(frozen=True)
class Discarded:
    """Why two samples make no window."""

    reason: str


def rates(before: Sample, after: Sample) -> dict[str, float] | Discarded:
    """Metrics between two samples: `<collector>.<counter>_per_s` and `<collector>.<gauge>`.

    A collector that is missing from either sample is absent from the result.
    """
    objection = clock_jump(before, after) or _reset(before, after)
    if objection:
        return Discarded(objection)
    seconds = after.monotonic_s - before.monotonic_s
    metrics: dict[str, float] = {}
    for name, old, new in _pairs(before, after):
        for counter, value in new.counters.items():
            if counter in old.counters:
                metrics[f"{name}.{counter}_per_s"] = (value - old.counters[counter]) / seconds
        for gauge, value in new.gauges.items():
            metrics[f"{name}.{gauge}"] = (value + old.gauges[gauge]) / 2 if gauge in old.gauges else value
    return metrics


def clock_jump(before: Sample, after: Sample) -> str | None:
    elapsed = after.monotonic_s - before.monotonic_s
    wall = (after.at - before.at).total_seconds()
    if elapsed <= 0 or wall <= 0:
        return f"no time passed between the samples ({elapsed:.3f} s)"
    if abs(wall - elapsed) > max(CLOCK_TOLERANCE_S, CLOCK_TOLERANCE_SHARE * elapsed):
        return f"the clock jumped: {wall:.1f} s on the wall, {elapsed:.1f} s in truth"
    return None


def _reset(before: Sample, after: Sample) -> str | None:
    for name, old, new in _pairs(before, after):
        if old.epoch != new.epoch:
            return f"{name}: the counters were reset ({old.epoch or 'never'} → {new.epoch or 'never'})"
        for counter, value in new.counters.items():
            if value < old.counters.get(counter, value):
                return f"{name}.{counter} went back from {old.counters[counter]:g} to {value:g}"
    return None


def _pairs(before: Sample, after: Sample) -> Iterator[tuple[str, Reading, Reading]]:
    for name, new in after.readings.items():
        if name in before.readings:
            yield name, before.readings[name], new

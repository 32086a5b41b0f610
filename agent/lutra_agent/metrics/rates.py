"""Two samples become a window: counters become rates, gauges their mean. A rate is never negative.

A gauge that moved has two values, so that ages, counts and switches are exact: its last value is
`<collector>.<gauge>_now`.

A window that spans a restart of the server or a jump of the clock is discarded as a whole: half of it would be a guess.
If only the counters of one collector started again, that collector is left out and the others are kept.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from lutra_models.metrics import NOW

from lutra_agent.engines.common.telemetry import Reading, Sample

CLOCK_TOLERANCE_S = 1.0
CLOCK_TOLERANCE_SHARE = 0.1

SERVER = "server"
"""The reading that every engine has; its epoch is the server's own run."""


@dataclass(frozen=True)
class Discarded:
    """The reason why two samples do not make a window."""

    reason: str


@dataclass(frozen=True)
class Span:
    """Two samples of one run of the server, with the readings that can be compared.

    `problems` name each collector that was left out, with the reason; `gauges` are their values at the end. `texts` are
    `<collector>.<text>` of all, at the end.
    """

    before: Sample
    after: Sample
    problems: tuple[str, ...] = ()
    gauges: Mapping[str, float] = field(default_factory=dict)
    texts: Mapping[str, str] = field(default_factory=dict)

    @property
    def rates(self) -> dict[str, float]:
        """`<collector>.<counter>_per_s`, `<collector>.<gauge>` and `<collector>.<gauge>_now`, of the collectors that
        both samples have.
        """
        seconds = self.after.monotonic_s - self.before.monotonic_s
        metrics = dict(self.gauges)
        for name, old, new in _pairs(self.before, self.after):
            for counter, value in new.counters.items():
                if counter in old.counters:
                    metrics[f"{name}.{counter}_per_s"] = (value - old.counters[counter]) / seconds
            for gauge, value in new.gauges.items():
                first = old.gauges.get(gauge, value)
                metrics[f"{name}.{gauge}"] = (value + first) / 2
                if value != first:
                    metrics[f"{name}.{gauge}{NOW}"] = value
        return metrics


def span(before: Sample, after: Sample) -> Span | Discarded:
    """The common part of the two samples."""
    objection = clock_jump(before, after)
    resets = {} if objection else _resets(before, after)
    objection = objection or resets.get(SERVER)
    if objection:
        return Discarded(objection)
    gauges = {f"{name}.{g}": v for name in resets for g, v in after.readings[name].gauges.items()}
    texts = {f"{name}.{t}": v for name, reading in after.readings.items() for t, v in reading.texts.items()}
    return Span(_without(before, resets), _without(after, resets), tuple(resets.values()), gauges, texts)


def clock_jump(before: Sample, after: Sample) -> str | None:
    elapsed = after.monotonic_s - before.monotonic_s
    wall = (after.at - before.at).total_seconds()
    if elapsed <= 0 or wall <= 0:
        return f"no time passed between the samples ({elapsed:.3f} s)"
    if abs(wall - elapsed) > max(CLOCK_TOLERANCE_S, CLOCK_TOLERANCE_SHARE * elapsed):
        return f"the clock jumped: {wall:.1f} s by the clock, {elapsed:.1f} s in fact"
    return None


def _resets(before: Sample, after: Sample) -> dict[str, str]:
    """Each collector whose counters started again between the samples, and what shows it."""
    found = {}
    for name, old, new in _pairs(before, after):
        reason = _reset(name, old, new)
        if reason:
            found[name] = reason
    return found


def _reset(name: str, old: Reading, new: Reading) -> str | None:
    if old.epoch != new.epoch:
        change = f"{old.epoch or 'none'} → {new.epoch or 'none'}"
        return f"{name}: the counters were reset, or count other objects ({change})"
    for counter, value in new.counters.items():
        if value < old.counters.get(counter, value):
            return f"{name}: {counter} decreased from {old.counters[counter]:g} to {value:g}"
    return None


def _without(sample: Sample, names: Mapping[str, str]) -> Sample:
    return replace(sample, readings={n: r for n, r in sample.readings.items() if n not in names})


def _pairs(before: Sample, after: Sample) -> Iterator[tuple[str, Reading, Reading]]:
    for name, new in after.readings.items():
        if name in before.readings:
            yield name, before.readings[name], new

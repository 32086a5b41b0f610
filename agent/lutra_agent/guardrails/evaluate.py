"""Evaluates windows by guardrails. Pure: the same windows always give the same violations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from statistics import median
from typing import Any

from lutra_models.guardrails import GUARDS, Guard, GuardName, Guardrail

BASELINE_WINDOWS = 3
"""The number of readings in a baseline; with fewer, a guard that needs one does not fire."""


@dataclass(frozen=True)
class WindowReading:
    """The metrics that guardrails watch, by name, over one stretch of time."""

    start: datetime
    end: datetime
    values: Mapping[str, float]

    @property
    def seconds(self) -> float:
        return (self.end - self.start).total_seconds()

    def to_dict(self) -> dict[str, Any]:
        return {"start": self.start.isoformat(), "end": self.end.isoformat(), "values": dict(self.values)}

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> WindowReading:
        start, end = (datetime.fromisoformat(content[k]) for k in ("start", "end"))
        return cls(start, end, content["values"])


@dataclass(frozen=True)
class Violation:
    """A guardrail whose last reading lies beyond its bound, and has for `held_s` of measured time."""

    guard: GuardName
    metric: str
    value: float
    bound: float
    guardrail: Guardrail
    baseline: float | None
    since: datetime
    held_s: float
    why: str = ""
    """The violation in words, for a decision based on more than the last reading."""

    @property
    def fires(self) -> bool:
        return self.held_s >= self.guardrail.hold_s

    def __str__(self) -> str:
        if self.why:
            return f"{self.guard}: {self.why}"
        was = "" if self.baseline is None else f", {self.baseline:.4g} before"
        return f"{self.guard}: {self.metric} is {self.value:.4g} for {self.held_s:.0f} s, bound {self.bound:.4g}{was}"


def evaluate(
    guardrails: Mapping[GuardName, Guardrail], baseline: Mapping[str, float], readings: Sequence[WindowReading]
) -> tuple[Violation, ...]:
    """The guardrails violated now, in the order of GUARDS. `readings` come oldest first.

    Only the latest consecutive readings count, each for its duration: a gap adds no time, and a window without a
    reading neither adds nor ends.
    """
    enabled = [g for g in GUARDS if g.name in guardrails and guardrails[g.name].enabled]
    found = (_violation(g, guardrails[g.name], baseline, readings) for g in enabled)
    return tuple(v for v in found if v is not None)


def baseline(calm: Sequence[WindowReading]) -> dict[str, float]:
    """The median of each metric that was read often enough."""
    readings: dict[str, list[float]] = {}
    for one in calm:
        for name, value in one.values.items():
            readings.setdefault(name, []).append(value)
    return {n: median(v) for n, v in readings.items() if len(v) >= BASELINE_WINDOWS}


def needed(guardrails: Mapping[GuardName, Guardrail], readings: Sequence[WindowReading]) -> list[WindowReading]:
    """The newest of `readings`: the number that the longest hold time may need, with room for windows without a
    reading.
    """
    longest = 2 * max((r.hold_s for r in guardrails.values() if r.enabled), default=0.0)
    kept: list[WindowReading] = []
    held = 0.0
    for one in reversed(readings):
        kept.append(one)
        held += one.seconds
        if held > longest:
            break
    return kept[::-1]


def _violation(
    guard: Guard, guardrail: Guardrail, baseline: Mapping[str, float], readings: Sequence[WindowReading]
) -> Violation | None:
    run: list[tuple[WindowReading, str, float, float]] = []
    for one in reversed(readings):
        reading = guard.reading(one.values)
        if reading is None:
            continue
        name, value = reading
        bound = guard.bound(guardrail.limit, baseline.get(name))
        if bound is None:
            break
        bound = guard.allowed(bound, one.values, baseline)
        if guard.holds(value, bound):
            break
        run.append((one, name, value, bound))
    if not run:
        return None
    _, name, value, bound = run[0]
    held_s = sum(one.seconds for one, *_ in run)
    was = None if guard.against == "absolute" else baseline.get(name)
    return Violation(guard.name, name, value, bound, guardrail, was, run[-1][0].start, held_s)

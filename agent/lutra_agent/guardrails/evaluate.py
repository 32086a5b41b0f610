"""Judges windows by guardrails. Pure: the same windows always give the same verdict."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from statistics import median
from typing import Any

from lutra_models.guardrails import GUARDS, Guard, GuardName, Guardrail

BASELINE_WINDOWS = 3
"""So many readings make a baseline; with fewer a guard that needs one says nothing."""


@dataclass(frozen=True)
class Seen:
    """What one stretch of time showed: the metrics that guards watch, by name."""

    start: datetime
    end: datetime
    values: Mapping[str, float]

    @property
    def seconds(self) -> float:
        return (self.end - self.start).total_seconds()

    def to_dict(self) -> dict[str, Any]:
        return {"start": self.start.isoformat(), "end": self.end.isoformat(), "values": dict(self.values)}

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Seen:
        start, end = (datetime.fromisoformat(content[k]) for k in ("start", "end"))
        return cls(start, end, content["values"])


@dataclass(frozen=True)
class Crossing:
    """A guard whose last reading lies beyond its bound, and has for `held_s` of measured time."""

    guard: GuardName
    metric: str
    value: float
    bound: float
    rail: Guardrail
    baseline: float | None
    since: datetime
    held_s: float

    @property
    def fires(self) -> bool:
        return self.held_s >= self.rail.hold_s

    def __str__(self) -> str:
        was = "" if self.baseline is None else f", {self.baseline:.4g} before"
        return f"{self.guard}: {self.metric} is {self.value:.4g} for {self.held_s:.0f} s, bound {self.bound:.4g}{was}"


def judge(
    rails: Mapping[GuardName, Guardrail], baseline: Mapping[str, float], seen: Sequence[Seen]
) -> tuple[Crossing, ...]:
    """What is crossed now, in the order of GUARDS. `seen` comes oldest first.

    Only the readings on end count, each for as long as it lasted: a gap adds no time, and a window without a reading
    neither adds nor ends.
    """
    found = (_crossing(g, rails[g.name], baseline, seen) for g in GUARDS if g.name in rails and rails[g.name].enabled)
    return tuple(c for c in found if c is not None)


def baseline(calm: Sequence[Seen]) -> dict[str, float]:
    """The median of each metric that was read often enough."""
    readings: dict[str, list[float]] = {}
    for one in calm:
        for name, value in one.values.items():
            readings.setdefault(name, []).append(value)
    return {n: median(v) for n, v in readings.items() if len(v) >= BASELINE_WINDOWS}


def needed(rails: Mapping[GuardName, Guardrail], seen: Sequence[Seen]) -> list[Seen]:
    """The newest of `seen`, as many as the longest hold time may ask for, with room for windows without a reading."""
    longest = 2 * max((r.hold_s for r in rails.values() if r.enabled), default=0.0)
    kept: list[Seen] = []
    held = 0.0
    for one in reversed(seen):
        kept.append(one)
        held += one.seconds
        if held > longest:
            break
    return kept[::-1]


def _crossing(guard: Guard, rail: Guardrail, baseline: Mapping[str, float], seen: Sequence[Seen]) -> Crossing | None:
    run: list[tuple[Seen, str, float, float]] = []
    for one in reversed(seen):
        reading = guard.reading(one.values)
        if reading is None:
            continue
        name, value = reading
        bound = guard.bound(rail.limit, baseline.get(name))
        if bound is None or guard.holds(value, bound):
            break
        run.append((one, name, value, bound))
    if not run:
        return None
    _, name, value, bound = run[0]
    held_s = sum(one.seconds for one, *_ in run)
    was = None if guard.against == "absolute" else baseline.get(name)
    return Crossing(guard.name, name, value, bound, rail, was, run[-1][0].start, held_s)

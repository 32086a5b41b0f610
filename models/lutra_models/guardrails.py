"""Guardrails: conditions that a database must not suffer, each with a limit and a hold time.

A guard is a value in `GUARDS`. The agent judges its windows by them, with the service or without.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from lutra_models.metrics import MOST_TAKEN, TAKEN

GuardName = Literal["p99", "qps", "errors", "memory", "replication_lag", "disk", "unreachable"]
Against = Literal["times_baseline", "above_baseline", "absolute"]

LONGEST_HOLD_S = 3600.0
ERRORS = 2.0
"""Standard errors by which a reading has to be beyond its bound."""


@dataclass(frozen=True)
class Guardrail:
    """One guard's limit, and for how many seconds without a break it has to be crossed before the guard fires."""

    limit: float
    hold_s: float
    enabled: bool = True

    def __post_init__(self) -> None:
        if not (math.isfinite(self.limit) and self.limit >= 0):
            raise ValueError(f"limit must be a number of at least 0, got {self.limit}")
        if not 0 <= self.hold_s <= LONGEST_HOLD_S:
            raise ValueError(f"hold_s must be within [0, {LONGEST_HOLD_S:g}], got {self.hold_s}")


@dataclass(frozen=True)
class Guard:
    """A bound to watch: the first of `metrics` that a window has, on the right `side` of a bound.

    The bound is the limit itself, or the limit and the baseline of that metric, which is its median in the windows
    before the change. A metric may carry its source behind an `@`: a p99 is compared only with one of the same source.

    A reading with a known `error` has to lie beyond the bound by twice that error. If others slow the server more than
    before the change, the bound moves with the power `slows` of the factor of that slowdown.
    """

    name: GuardName
    metrics: tuple[str, ...]
    side: Literal["at_most", "at_least"]
    against: Against
    default: Guardrail
    meaning: str
    error: str = ""
    slows: float = 0.0

    def reading(self, values: Mapping[str, float]) -> tuple[str, float] | None:
        for metric in self.metrics:
            for name, value in values.items():
                if name == metric or name.startswith(f"{metric}@"):
                    return name, value
        return None

    def bound(self, limit: float, baseline: float | None) -> float | None:
        """None if a baseline is needed and there is none: the guard is then silent."""
        if self.against == "absolute":
            return limit
        if baseline is None:
            return None
        return limit * baseline if self.against == "times_baseline" else limit + baseline

    def allowed(self, bound: float, values: Mapping[str, float], usual: Mapping[str, float]) -> float:
        """The bound for the readings of one window: the error of its p99, and the slowdown by others beyond the
        `usual`.
        """
        slower = math.pow(
            max((1 - usual.get(TAKEN, 0.0)) / (1 - min(values.get(TAKEN, 0.0), MOST_TAKEN)), 1.0), self.slows
        )
        erring = 1 + ERRORS * max(values.get(self.error, 0.0), 0.0)
        return bound * slower * erring if self.side == "at_most" else bound / slower / erring

    def holds(self, value: float, bound: float) -> bool:
        return value <= bound if self.side == "at_most" else value >= bound

    def tightened(self, floor: Guardrail, wanted: Guardrail) -> Guardrail:
        """The stricter of the two in each part; a guard that is switched off sets no minimum."""
        if not floor.enabled or not wanted.enabled:
            return wanted if not floor.enabled else floor
        stricter = min if self.side == "at_most" else max
        return Guardrail(stricter(floor.limit, wanted.limit), min(floor.hold_s, wanted.hold_s))


GUARDS: tuple[Guard, ...] = (
    Guard(
        "p99",
        ("p99_ms",),
        "at_most",
        "times_baseline",
        Guardrail(2.0, 30.0),
        "p99 is at most `limit` times its baseline",
        error="p99_error_share",
        slows=3.0,
    ),
    Guard(
        "qps",
        ("qps", "tps"),
        "at_least",
        "times_baseline",
        Guardrail(0.5, 60.0),
        "statements (or else transactions) per second are at least `limit` times their baseline",
        slows=1.0,
    ),
    Guard(
        "errors",
        ("error_share",),
        "at_most",
        "above_baseline",
        Guardrail(0.05, 30.0),
        "the share of failed transactions (or else statements) is at most `limit` above its baseline",
    ),
    Guard(
        "memory",
        ("memory_free_share",),
        "at_least",
        "absolute",
        Guardrail(0.03, 20.0),
        "at least the share `limit` of the memory that the server may use is free or can be freed",
    ),
    Guard(
        "replication_lag",
        ("replication.lag_s",),
        "at_most",
        "absolute",
        Guardrail(60.0, 60.0),
        "the slowest replica is at most `limit` seconds behind",
    ),
    Guard(
        "disk",
        ("disk_free_bytes",),
        "at_least",
        "absolute",
        Guardrail(256.0 * 2**20, 10.0),
        "the data's disk has at least `limit` bytes free",
    ),
    Guard(
        "unreachable",
        ("unreachable",),
        "at_most",
        "absolute",
        Guardrail(0.0, 60.0),
        "the server answers (the value is 1 if it does not)",
    ),
)

P99_GUARD = GUARDS[0]
DEFAULTS: Mapping[GuardName, Guardrail] = {g.name: g.default for g in GUARDS}
WATCHED = frozenset(m for g in GUARDS for m in (*g.metrics, g.error) if m) | {TAKEN}


def laid_over(*layers: Mapping[GuardName, Guardrail]) -> dict[GuardName, Guardrail]:
    """The defaults with each layer over those before it, in the order of GUARDS."""
    found = dict(DEFAULTS)
    for layer in layers:
        found |= layer
    return found


def tightened(
    floor: Mapping[GuardName, Guardrail], wanted: Mapping[GuardName, Guardrail]
) -> dict[GuardName, Guardrail]:
    """`floor`, which names every guard, made stricter where `wanted` is."""
    return {g.name: g.tightened(floor[g.name], wanted.get(g.name, floor[g.name])) for g in GUARDS}

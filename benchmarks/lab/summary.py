"""What a study's rows say, in figures: each entrant's final readings, and whether the aims are met."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from benchmarks.lab.session import Row
from benchmarks.lab.steps import ENTRANTS
from benchmarks.lab.studies import FEW, Study

METRICS: Mapping[str, tuple[str, ...]] = {"QPS": ("qps", "tps"), "p99, ms": ("p99_ms",)}
"""By name: a load tells queries a second or transactions."""
STARTS = ("two_knobs", "rule_based")
BEST = "lutra_20"


@dataclass(frozen=True)
class Spread:
    """The median of some readings, the least and the most of them."""

    median: float
    low: float
    high: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread:
        return cls(statistics.median(values), min(values), max(values))


@dataclass(frozen=True)
class Standing:
    """An entrant's final readings; `failed` of `rounds` gave none."""

    qps: Spread
    p99_ms: Spread
    rounds: int
    failed: int


Standings = Mapping[str, Standing]


def standings(rows: Sequence[Row], threads: int = FEW) -> Standings:
    """By entrant; one that was never measured is absent."""
    found = {}
    for entrant in ENTRANTS:
        own = [r for r in rows if r["kind"] == "final" and r["threads"] == threads and r["entrant"] == entrant]
        read = [r["metrics"] for r in own if not r["failure"]]
        if read:
            qps, p99 = (Spread.of([m[name] for m in read]) for name in ("qps", "p99_ms"))
            found[entrant] = Standing(qps, p99, len(own), len(own) - len(read))
    return found


@dataclass(frozen=True)
class Aim:
    """`reading` is what is compared with `bound`: at least it, or at most where `ceiling`."""

    sentence: str
    bound: float
    reading: Callable[[Standings], float]
    ceiling: bool = False

    def met(self, seen: Standings) -> bool:
        value = self.reading(seen)
        return value <= self.bound if self.ceiling else value >= self.bound

    def told(self, seen: Standings) -> str:
        word = "met" if self.met(seen) else "**missed**"
        side = "at most" if self.ceiling else "at least"
        return f"{self.sentence}: {self.reading(seen):.2f}, wanted {side} {self.bound:g}: {word}"


def times_qps(seen: Standings) -> float:
    return seen[BEST].qps.median / seen["default"].qps.median


def times_p99(seen: Standings) -> float:
    return seen[BEST].p99_ms.median / seen["default"].p99_ms.median


def share_of_gain(seen: Standings) -> float:
    """Of what the better start gains over the default, how much Lutra gains."""
    default = seen["default"].qps.median
    gained = max(seen[s].qps.median for s in STARTS) - default
    return (seen[BEST].qps.median - default) / gained if gained > 0 else float("inf")


def aims(study: Study) -> tuple[Aim, ...]:
    """MariaDB's alone: the other engines are measured without."""
    if study.engine != "mariadb":
        return ()
    if study.objective.metric == "p99_ms":
        return _p99_aims(study)
    if study.durable:
        wanted = {"oltp_write_only": 2.0, "oltp_read_write": 1.6}[study.workload]
        shared = Aim("QPS gained, as a share of what the better start gains", 0.9, share_of_gain)
        return (shared, Aim("QPS, times the default's", wanted, times_qps))
    return (Aim("QPS, times the default's", 8.0, times_qps),) if study.workload == "oltp_write_only" else ()


def _p99_aims(study: Study) -> tuple[Aim, ...]:
    kept = Aim("QPS, times the default's", 1.0, times_qps)
    return (Aim("p99, times the default's", 1.0 if study.durable else 0.6, times_p99, ceiling=True), kept)


def judged(study: Study, rows: Sequence[Row]) -> list[str]:
    """A line per aim; none before everything that they compare was measured."""
    seen = standings(rows)
    return [aim.told(seen) for aim in aims(study)] if {"default", *STARTS, BEST} <= set(seen) else []


def held(forecasts: Sequence[Row]) -> int:
    """How many of these predictions held in their interval what was then measured."""
    return sum(f["low"] <= f["measured"] <= f["high"] for f in forecasts)


def width(forecasts: Sequence[Row]) -> float:
    """How many times its low end a median interval's high end is; of what may be 0 or less at its low end, infinite."""
    return statistics.median(f["high"] / f["low"] if f["low"] > 0 else math.inf for f in forecasts)

"""What the race's rows say, in figures: each finalist's gain over the rule-based start, with what is known of it."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from scipy import stats

from benchmarks.lab.race.loads import Contest
from benchmarks.lab.race.optimisers import reading
from benchmarks.lab.session import Row
from benchmarks.lab.summary import Spread

LEVEL = 0.9
BASE = "rule_based"


@dataclass(frozen=True)
class Gain:
    """Over the base in the same rounds, as a share of it: the mean, and the bounds of its 90 % interval.

    The bounds are absent for a single round.
    """

    mean: float
    low: float | None
    high: float | None


@dataclass(frozen=True)
class Place:
    """One finalist at one number of clients; `gain` is absent for the base, and where no round has both.

    `changes`: how many settings it has other than the default.
    """

    entrant: str
    rate: Spread
    p99_ms: Spread
    rounds: int
    failed: int
    gain: Gain | None
    changes: int


def field(rows: Sequence[Row]) -> list[Row]:
    """The rounds of the newest field: those before it were others' turns."""
    measured = [row for row in rows if row["kind"] == "final"]
    return [row for row in measured if row["field"] == measured[-1]["field"]]


def places(contest: Contest, rows: Sequence[Row], at: str) -> list[Place]:
    """Everybody who gave a reading at that number of clients, in the order of the rounds."""
    here = [row for row in field(rows) if row["at_clients"] == at]
    metric = contest.objective.metric
    default: Mapping[str, Any] = next((row["configuration"] for row in here if row["entrant"] == "default"), {})
    read: dict[str, dict[int, float]] = {}
    for row in here:
        value = reading(row, metric)
        read.setdefault(row["entrant"], {}).update({} if value is None else {row["round"]: value})
    found = []
    for entrant, values in read.items():
        own = [row for row in here if row["entrant"] == entrant]
        if not values:
            continue
        p99 = Spread.of([row["metrics"]["p99_ms"] for row in own if not row["failure"]])
        paired = None if entrant == BASE else gain(values, read.get(BASE, {}), contest.objective.goal == "maximize")
        rate = Spread.of(list(values.values()))
        changes = sum(default.get(name) != value for name, value in own[0]["configuration"].items())
        found.append(Place(entrant, rate, p99, len(own), len(own) - len(values), paired, changes))
    return found


def gain(values: Mapping[int, float], base: Mapping[int, float], larger_is_better: bool) -> Gain | None:
    """By round; the ratios' logarithms are taken for normal (Student's t), so that half and twice are as far apart."""
    sign = 1 if larger_is_better else -1
    logs = [sign * math.log(values[n] / base[n]) for n in values if n in base]
    if not logs:
        return None
    mean = statistics.fmean(logs)
    if len(logs) == 1:
        return Gain(math.expm1(mean), None, None)
    room = float(stats.t.ppf((1 + LEVEL) / 2, len(logs) - 1)) * statistics.stdev(logs) / math.sqrt(len(logs))
    return Gain(math.expm1(mean), math.expm1(mean - room), math.expm1(mean + room))


def noise(values: Sequence[float]) -> float:
    """The relative standard deviation of readings of one configuration."""
    return statistics.stdev(values) / statistics.fmean(values)


def tried(rows: Sequence[Row]) -> list[Row]:
    """The trials of the version that wrote last."""
    asked = [row for row in rows if row["kind"] in ("trial", "refused")]
    return [row for row in asked if row["kind"] == "trial" and row["code"] == asked[-1]["code"]]


def best_over_time(contest: Contest, trials: Sequence[Row]) -> list[tuple[float, float]]:
    """(seconds spent, best reading so far) after each trial that gave one."""
    found: list[tuple[float, float]] = []
    spent, best = 0.0, None
    for row in trials:
        spent += row["seconds"]
        value = reading(row, contest.objective.metric)
        if value is None:
            continue
        best = value if best is None or contest.objective.gain(value) > contest.objective.gain(best) else best
        found.append((spent, best))
    return found

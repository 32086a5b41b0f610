"""What result rows amount to: means over seeds, differences with their uncertainty, the latest version of each run."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.tuning.named import NAMES
from benchmarks.tuning.optimisers import OURS
from benchmarks.tuning.rows import PEERS, Row, newest, read

BUDGET = 50
AT = (10, 20, 30, 50)
COMPARED_AT = (20, 30, 50)
EARLY = 25
"""The trial by which the best peer's score after the whole budget should be reached."""
OUR_NAMES = {c.name for c in OURS}


@dataclass(frozen=True)
class Difference:
    """A mean with its bootstrap 90 % interval over seeds."""

    mean: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.mean:+.3f} [{self.low:+.3f}, {self.high:+.3f}]"


def latest(rows: Sequence[Row], group: Sequence[str]) -> list[Row]:
    """The rows of each group that were computed with the code of the group's last row."""
    code = {tuple(row[g] for g in group): row["code"] for row in rows}
    return [row for row in rows if row["code"] == code[tuple(row[g] for g in group)]]


def race_rows(results: Path) -> list[Row]:
    """Full runs: those carried as data, those of peers raced here, which replace them, and ours by the latest code."""
    published = [{"task": p.stem, **row} for p in sorted(PEERS.glob("*.jsonl")) for row in read(p)]
    here = [row for row in read(results / "race.jsonl") if row["budget"] == BUDGET]
    peers = [*published, *(row for row in here if row["optimiser"] not in OUR_NAMES)]
    ours = latest([row for row in here if row["optimiser"] in OUR_NAMES], ("task", "optimiser"))
    rows = [*newest(peers, ("task", "optimiser", "seed")), *ours]
    return sorted(rows, key=lambda row: NAMES.index(row["task"]))


def grouped(rows: Iterable[Row], *fields: str) -> dict[tuple[str, ...], list[Row]]:
    """Rows by the values of `fields`, in order of appearance."""
    groups: dict[tuple[str, ...], list[Row]] = defaultdict(list)
    for row in rows:
        groups[tuple(row[f] for f in fields)].append(row)
    return dict(groups)


def scores(rows: Sequence[Row], trial: int) -> np.ndarray:
    """(seeds,) scores after `trial` trials."""
    return np.array([row["scores"][trial - 1] for row in rows])


def best_peer(by_optimiser: Mapping[str, Sequence[Row]]) -> str:
    """The peer with the highest mean after the whole budget."""
    peers = [name for name in by_optimiser if name not in OUR_NAMES]
    return max(peers, key=lambda name: float(scores(by_optimiser[name], BUDGET).mean()))


def difference(pairs: Sequence[tuple[np.ndarray, np.ndarray]], resamples: int = 2000) -> Difference:
    """The mean over tables of (ours − theirs), each a mean over its own seeds; seeds are resampled within each."""
    rng = np.random.default_rng(0)

    def resampled(values: np.ndarray) -> np.ndarray:
        means: np.ndarray = values[rng.integers(len(values), size=(resamples, len(values)))].mean(axis=1)
        return means

    drawn = np.mean([resampled(ours) - resampled(theirs) for ours, theirs in pairs], axis=0)
    mean = float(np.mean([ours.mean() - theirs.mean() for ours, theirs in pairs]))
    return Difference(mean, *(float(q) for q in np.quantile(drawn, [0.05, 0.95])))


def first_trial_at(rows: Sequence[Row], level: float) -> int | None:
    """The first trial after which the mean score is at least `level`."""
    mean = np.array([row["scores"] for row in rows]).mean(axis=0)
    reached = np.flatnonzero(mean >= level)
    return int(reached[0]) + 1 if len(reached) else None

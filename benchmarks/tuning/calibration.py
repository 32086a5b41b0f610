"""`calibration`: do 90 % intervals hold 85 to 95 %, and are they no wider than twice what is needed?

From readings without noise to heavy tails, on simulated workloads and on rows of measured tables. Beside them stand a
random forest's intervals, conformal by its out-of-bag errors (Johansson et al., Machine Learning 2014).
Shapes: n readings, m configurations to predict, k knobs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import numpy as np
from lutra_models import Configuration, History, KnobSpace, Objective, Observation
from lutra_models.gp import fit
from lutra_models.metrics import Goal
from sklearn.ensemble import RandomForestRegressor

from benchmarks.tuning import cube, named
from benchmarks.tuning.functions import NOISES, SHAPES, Noise, workload
from benchmarks.tuning.markdown import missing, table
from benchmarks.tuning.options import Progress, results_option, seeds_option
from benchmarks.tuning.rows import CODE, Results, read
from benchmarks.tuning.summary import grouped, latest
from benchmarks.tuning.tasks import numbered

KEY = ("source", "noise", "readings", "seed", "code")
COUNTS = (12, 20, 40, 60)
ASKED = 100
LEVEL = 0.9
METRIC = "measured"
TABLE = "as measured"
FIRST_SEED = 1_000
"""No calibration was chosen on the seeds from here on."""


@dataclass(frozen=True, eq=False)
class Case:
    """What is known, and what is asked: configurations and readings of each."""

    space: KnobSpace
    goal: Goal
    known: Sequence[Configuration]
    values: np.ndarray
    asked: Sequence[Configuration]
    readings: np.ndarray


@click.command("calibration")
@seeds_option(6)
@results_option
def calibration_command(seeds: int, results: Path) -> None:
    """Check the 90 % intervals from readings without noise to heavy tails, and on rows of measured tables."""
    kept = Results(results / "calibration.jsonl", KEY)
    simulated: list[tuple[str, Noise | None]] = [(source, noise) for noise in NOISES for source in SHAPES]
    sources = [*simulated, *((name, None) for name in named.NAMES)]
    progress = Progress("calibration", seeds * len(COUNTS) * len(sources))
    for seed in range(FIRST_SEED, FIRST_SEED + seeds):
        for source, noise in sources:
            for count in COUNTS:
                identity = {"source": source, "noise": noise or TABLE, "readings": count, "seed": seed, "code": CODE}
                if identity in kept:
                    progress.skip()
                    continue
                case = from_table(source, count, seed) if noise is None else simulate(source, noise, count, seed)
                kept.add({**identity, **check(case)})
                progress.done(f"{source}, {noise or TABLE}, {count} readings, seed {seed}")
    progress.close()


def simulate(shape: str, noise: Noise, count: int, seed: int) -> Case:
    """Uniform places, half of which a search follows up: each next one lies near one of the two best readings."""
    rng = np.random.default_rng([seed, count, NOISES.index(noise), list(SHAPES).index(shape)])
    one = workload(shape, rng)
    unit = rng.random((count // 2, one.d))
    values = one.readings(unit, noise, rng)
    while len(unit) < count:
        leader = unit[np.argsort(-values)[rng.integers(0, 2)]]
        place = _near(leader, 1, rng)
        unit, values = np.vstack([unit, place]), np.append(values, one.readings(place, noise, rng))
    asked = np.vstack([rng.random((ASKED // 2, one.d)), _near(unit[np.argmax(values)], ASKED // 2, rng)])
    known, later = (cube.configurations(one.space.knobs, points) for points in (unit, asked))
    return Case(one.space, "maximize", known, values, later, one.readings(asked, noise, rng))


def _near(centre: np.ndarray, count: int, rng: np.random.Generator) -> np.ndarray:
    moved = rng.random((count, len(centre))) < max(0.35, 1.5 / len(centre))
    return np.asarray(np.clip(centre + moved * rng.normal(0, 0.15, moved.shape), 0.0, 1.0))


def from_table(name: str, count: int, seed: int) -> Case:
    """Rows that ran, drawn at random; those that are asked about are other configurations."""
    source = dict(named.TASKS)[name]()
    knobs, matrix = numbered(source)
    rng = np.random.default_rng([seed, count])
    ran = np.flatnonzero(~source.failed)
    _, first = np.unique(matrix[ran], axis=0, return_index=True)
    drawn = rng.permutation(ran[first])[: count + ASKED]
    known, asked = (cube.configurations(knobs, matrix[rows]) for rows in (drawn[:count], drawn[count:]))
    return Case(KnobSpace(knobs), source.goal, known, source.values[drawn[:count]], asked, source.values[drawn[count:]])


def check(case: Case) -> dict[str, Any]:
    return {"lutra": judge(_lutra(case), case.readings), "forest": judge(_conformal(case), case.readings)}


def judge(predicted: np.ndarray, readings: np.ndarray) -> dict[str, float]:
    """Of (3, m) lower ends, medians and upper ends of (m,) readings: the share held and the median relative width.

    `wide` is how many times as wide the intervals are as those that, scaled alike about their medians, hold 90 %.
    """
    low, median, high = predicted
    side = np.where(readings < median, median - low, high - median)
    needed = float(np.quantile(np.abs(readings - median) / np.maximum(side, 1e-12), LEVEL))
    return {
        "held": round(float(np.mean((low <= readings) & (readings <= high))), 4),
        "width": round(float(np.median((high - low) / median)), 4),
        "wide": round(1.0 / max(needed, 1e-3), 4),
        "error": round(float(np.median(np.abs(median - readings) / readings)), 4),
    }


def _lutra(case: Case) -> np.ndarray:
    seen = [Observation(c, {METRIC: float(v)}) for c, v in zip(case.known, case.values, strict=True)]
    history = History(case.space, Objective(METRIC, case.goal), observations=seen)
    told = [p[METRIC] for p in fit(history, rng=np.random.default_rng(0)).predict(case.asked, LEVEL)]
    return np.array([[p.low, p.median, p.high] for p in told]).T


def _conformal(case: Case) -> np.ndarray:
    x, later = (cube.matrix(case.space.knobs, rows) for rows in (case.known, case.asked))
    y, n = np.log(case.values), len(case.values)
    forest = RandomForestRegressor(300, min_samples_leaf=2, oob_score=True, random_state=0).fit(x, y)
    off = float(np.quantile(np.abs(y - forest.oob_prediction_), min(1.0, LEVEL * (1 + 1 / n))))
    middle = forest.predict(later)
    return np.asarray(np.exp(np.array([middle - off, middle, middle + off])))


def calibration(results: Path) -> str:
    """The report's section."""
    rows = latest(read(results / "calibration.jsonl"), ("source", "noise"))
    title = "## Do intervals narrow where readings are quiet?"
    if not rows:
        return f"{title}\n\n{missing('calibration')}"
    said = (
        "Readings that a 90 % interval holds, of 100 configurations that were not measured. Simulated: six shapes of "
        "functions, half of the readings uniform, half where a search would go; quiet is a deviation of 0.7 %, noisy "
        "of 7 %. Tables: rows as they were measured. Width is the median width over the median; wide says how many "
        "times as wide the intervals are as those that would hold 90 %. The forest's intervals are conformal. No "
        "calibration was chosen on these seeds."
    )
    pooled = grouped([r for r in rows if r["noise"] != TABLE], "noise", "readings")
    tables = grouped([r for r in rows if r["noise"] == TABLE], "source", "readings")
    head = [
        "readings from",
        "n",
        "seeds",
        *("held", "width", "wide", "error"),
        "forest: held",
        "width",
        "wide",
        "error",
    ]
    cells = [float(np.mean([r["lutra"]["held"] for r in runs])) for runs in (*pooled.values(), *tables.values())]
    inside = f"{sum(0.85 <= held <= 0.95 for held in cells)} of the {len(cells)} lines hold 85 to 95 %."
    return "\n".join([title, "", f"{said} {inside}", "", table(head, [*_lines(pooled), *_lines(tables)])])


def _lines(groups: dict[tuple[Any, ...], list[dict[str, Any]]]) -> Iterator[list[str]]:
    for (source, count), runs in sorted(groups.items()):
        line = [str(source), str(count), str(len(runs))]
        for model in ("lutra", "forest"):
            held, width, error = (float(np.mean([r[model][f] for r in runs])) for f in ("held", "width", "error"))
            wide = float(np.exp(np.mean(np.log([r[model]["wide"] for r in runs]))))
            line += [f"{held:.0%}", f"{width:.0%}", f"{wide:.2f}", f"{error:.1%}"]
        yield line

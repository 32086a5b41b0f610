"""`disturbed`: servers that slow down, warm up, stall and scatter, and what a session on them hands over.

A task gives the true value of a configuration; a disturbance says what one window makes of it. The score is that of the
configuration which is handed over, at its true value on the quiet server: 0 is the default's, 1 the best known. Drawn
surfaces have a known optimum; those of the tables are the forests of the race.
Shapes: k knobs.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import click
import numpy as np
from lutra_models import Choice, Configuration, Knob, KnobSpace, Number
from lutra_models.gp import Options
from lutra_models.metrics import Goal

from benchmarks.tuning import cube, named
from benchmarks.tuning.contenders import Problem
from benchmarks.tuning.optimisers import Lutra
from benchmarks.tuning.options import Names, Progress, results_option, seeds_option
from benchmarks.tuning.rows import CODE, Results
from benchmarks.tuning.warm_tasks import OBJECTIVE

KEY = ("task", "disturbance", "seed", "trials", "code")
DRAWN = tuple(f"drawn-{i}" for i in range(8))
_KNOBS, _CHOICES = 6, 2


class Surface(Problem, Protocol):
    """What is tuned: a `tasks.Task`, or a drawn one."""

    def truth(self, configuration: Mapping[str, Any]) -> float: ...
    def fails(self, configuration: Mapping[str, Any]) -> bool: ...
    def score(self, truth: float) -> float: ...


@dataclass(frozen=True, eq=False)
class Drawn:
    """A throughput over six numbers and two choices: a hill per knob, some of them tilted by another one."""

    name: str
    space: KnobSpace
    default: Configuration
    centres: np.ndarray
    heights: np.ndarray
    tilts: np.ndarray
    goal: Goal = "maximize"
    sign: int = 1

    @classmethod
    def of(cls, name: str) -> Drawn:
        rng = np.random.default_rng([int(name.removeprefix("drawn-")), 77])
        numbers = [Knob(f"number_{i}", Number(0.0, 1.0)) for i in range(_KNOBS)]
        space = KnobSpace([*numbers, *(Knob(f"choice_{i}", Choice(("off", "on"))) for i in range(_CHOICES))])
        k = _KNOBS + _CHOICES
        default = cube.configurations(space.knobs, cube.from_unit(space.knobs, rng.random((1, k))))[0]
        tilts = rng.normal(0.0, 0.5, (k, k)) * (rng.random((k, k)) < 0.15)
        centres = np.where(np.arange(k) < _KNOBS, rng.uniform(0.1, 0.9, k), rng.choice([0.25, 0.75], k))
        return cls(name, space, default, centres, rng.dirichlet(np.full(k, 1.0)), tilts)

    def truth(self, configuration: Mapping[str, Any]) -> float:
        unit = cube.to_unit(self.space.knobs, cube.matrix(self.space.knobs, [configuration]))[0]
        off = unit - self.centres
        off = off + self.tilts @ np.where(np.abs(off) < 0.5, off, 0.0)
        return float(1000.0 * np.exp(np.sum(self.heights * np.exp(-0.5 * (off / 0.3) ** 2))))

    def fails(self, _configuration: Mapping[str, Any]) -> bool:
        return False

    def score(self, truth: float) -> float:
        """In shares of the way, by logarithms, from the default to where every hill is at its top."""
        floor = self.truth(self.default)
        return float(np.log(truth / floor) / np.log(1000.0 * np.e / floor))


@dataclass(frozen=True)
class Window:
    """Where a reading stands: the share of the session that is over, the trial's number, and whether its configuration
    is one of those that scatter.
    """

    share: float
    trial: int
    scatters: bool


Disturb = Callable[[Window, np.random.Generator], float]
"""The logarithm of what a window makes of the true value."""


def _noise(deviation: float) -> Disturb:
    return lambda _, rng: deviation * rng.standard_normal()


def _also(profile: Callable[[Window], float]) -> Disturb:
    """A course over time, with the usual noise."""
    return lambda w, rng: profile(w) + 0.05 * rng.standard_normal()


def _at_times(share: float, low: float, high: float) -> Disturb:
    """A share of the windows is off by a factor between two."""

    def disturb(_: Window, rng: np.random.Generator) -> float:
        hit, factor, usual = rng.random() < share, rng.uniform(low, high), 0.05 * rng.standard_normal()
        return float(usual + (np.log(factor) if hit else 0.0))

    return disturb


DISTURBANCES: Mapping[str, Disturb] = {
    "steady": _noise(0.05),
    "noisy": _noise(0.1),
    "loud": _noise(0.2),
    "stalls": _at_times(0.12, 0.2, 0.7),
    "lucky": _at_times(0.1, 1.2, 1.5),
    "slower": _also(lambda w: np.log(0.67) * (w.share >= 0.5)),
    "faster": _also(lambda w: np.log(0.67) * (w.share < 0.5)),
    "fading": _also(lambda w: np.log(0.67) * w.share),
    "warming": _also(lambda w: np.log(0.6) * np.exp(-w.trial / 3.0)),
    "scattering": lambda w, rng: (0.3 if w.scatters else 0.05) * rng.standard_normal(),
}
RELIABLE = 1.2816
"""How many deviations below its median a reading's tenth percentile is."""


def surface(name: str) -> Surface:
    return Drawn.of(name) if name in DRAWN else named.task(name)


def session(task: Surface, disturbance: str, seed: int, trials: int, options: Options | None = None) -> dict[str, Any]:
    """One session: the scores of what is handed over at its end and of the default at the readings' face value."""
    rng, disturb = np.random.default_rng([50_000 + seed]), DISTURBANCES[disturbance]
    lutra = Lutra(task, seed, trials, options=options)
    distinct: set[Configuration] = set()
    for trial in range(trials):
        configuration = task.space.normalise(task.default if trial == 0 else lutra.ask())
        distinct.add(configuration)
        window = Window(trial / trials, trial, _scatters(task, configuration))
        factor = float(np.exp(disturb(window, rng)))
        lutra.tell(
            configuration, None if task.fails(configuration) else {OBJECTIVE: task.truth(configuration) * factor}
        )
    handed = task.space.normalise(lutra.deploy())
    penalty = RELIABLE * 0.25 if disturbance == "scattering" and _scatters(task, handed) else 0.0
    score = task.score(task.truth(handed) * float(np.exp(-task.sign * penalty)))
    return {"score": round(score, 4), "repeats": trials - len(distinct)}


def _scatters(task: Surface, configuration: Mapping[str, Any]) -> bool:
    """Every configuration on one side of its first knob."""
    knobs = task.space.knobs
    return bool(cube.to_unit(knobs, cube.matrix(knobs, [configuration]))[0, 0] > 0.65)


@click.command("disturbed")
@click.option("--tasks", type=Names([*DRAWN, *named.NAMES]), default=",".join(DRAWN[4:]), show_default=True)
@click.option("--disturbances", type=Names(tuple(DISTURBANCES)), default=",".join(DISTURBANCES), show_default=True)
@seeds_option(5)
@click.option("--trials", type=click.IntRange(4), default=24, show_default=True, help="Of each session.")
@results_option
def disturbed_command(
    tasks: Sequence[str], disturbances: Sequence[str], seeds: int, trials: int, results: Path
) -> None:
    """Hand over after sessions on disturbed servers.

    Slower by a third half-way, faster, fading, warming up; noise of 5, 10 and 20 %; windows that stall or are lucky;
    configurations that scatter. A configuration that scatters counts at the tenth percentile of its readings.
    """
    kept = Results(results / "disturbed.jsonl", KEY)
    progress = Progress("disturbed", len(tasks) * len(disturbances) * seeds)
    for name, disturbance in itertools.product(tasks, disturbances):
        task = surface(name)
        for seed in range(seeds):
            identity = {"task": name, "disturbance": disturbance, "seed": seed, "trials": trials, "code": CODE}
            if identity in kept:
                progress.skip()
                continue
            row = session(task, disturbance, seed, trials)
            kept.add({**identity, **row})
            progress.done(f"{name} {disturbance} seed {seed}: {row['score']:.3f}, {row['repeats']} repeats")
    progress.close()

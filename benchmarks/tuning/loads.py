"""`loads`: servers whose two loads agree in part, tuned under one of them or over both, and what each then gains.

A drawn surface is the server under few clients. Under many it is the geometric mean of that one and another drawn
surface, so half of what helps few clients does nothing for many, and some of it harms them. A gain is the ratio of the
true values of what is handed over and of the default.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

import click
import numpy as np
from lutra_models import Configuration, History, Objective, Observation
from lutra_models.aims import Aim, Over, under
from lutra_models.gp import fit

from benchmarks.tuning.disturbed import DRAWN, Drawn
from benchmarks.tuning.options import Names, Progress, results_option, seeds_option
from benchmarks.tuning.rows import CODE, Results

KEY = ("server", "tuned", "seed", "trials", "code")
LOADS = ("few", "many")
TUNED = (LOADS[0], *get_args(Over))
"""Under one load alone, or over both."""
NOISE = 0.05
QPS = Objective("qps", "maximize")


@dataclass(frozen=True, eq=False)
class Server:
    """Two loads on one server; `other` is what only many clients see."""

    few: Drawn
    other: Drawn

    @classmethod
    def of(cls, name: str) -> Server:
        return cls(Drawn.of(name), Drawn.of(f"drawn-{int(name.removeprefix('drawn-')) + len(DRAWN)}"))

    def truth(self, configuration: Mapping[str, Any]) -> dict[str, float]:
        few, other = self.few.truth(configuration), self.other.truth(configuration)
        return {"few": few, "many": 0.3 * float(np.sqrt(few * other))}


def session(server: Server, tuned: str, seed: int, trials: int) -> dict[str, float]:
    """One session: by load, the gain of what it hands over."""
    rng, default = np.random.default_rng([60_000 + seed]), server.few.default
    aim = None if tuned in LOADS else Aim(QPS, dict.fromkeys(LOADS, 1.0), "worst" if tuned == "worst" else "weighted")
    read: list[tuple[Configuration, dict[str, float]]] = []
    for trial in range(trials):
        model = fit(_history(server, aim, read), rng=np.random.default_rng([seed, trial]))
        advice = model.recommend()
        truth = server.truth(advice.configuration)
        noisy = {under("qps", x): v * float(np.exp(NOISE * rng.standard_normal())) for x, v in truth.items()}
        read.append((advice.configuration, noisy))
    best = fit(_history(server, aim, read), rng=np.random.default_rng([seed, trials])).best(default)
    before, after = server.truth(default), server.truth(best.configuration)
    return {load: round(after[load] / before[load], 4) for load in LOADS}


def _history(server: Server, aim: Aim | None, read: Sequence[tuple[Configuration, dict[str, float]]]) -> History:
    default, configurations = server.few.default, [c for c, _ in read]
    objective, found = QPS, [{"qps": metrics[under("qps", LOADS[0])]} for _, metrics in read]
    if aim is not None:
        objective, found = aim.judged, aim.completed([m for _, m in read], [c == default for c in configurations])
    observations = [Observation(c, metrics) for c, metrics in zip(configurations, found, strict=True)]
    space = server.few.space
    return History(space, objective, observations=observations, current=default, baseline=default, aim=aim)


@click.command("loads")
@click.option("--servers", type=Names(DRAWN), default=",".join(DRAWN), show_default=True)
@seeds_option(2)
@click.option("--trials", type=click.IntRange(4), default=18, show_default=True, help="Of each session.")
@results_option
def loads_command(servers: Sequence[str], seeds: int, trials: int, results: Path) -> None:
    """Tune under one of two loads or over both, and see what each of them gains."""
    kept = Results(results / "loads.jsonl", KEY)
    progress = Progress("loads", len(servers) * len(TUNED) * seeds)
    for name, tuned, seed in itertools.product(servers, TUNED, range(seeds)):
        identity = {"server": name, "tuned": tuned, "seed": seed, "trials": trials, "code": CODE}
        if identity in kept:
            progress.skip()
            continue
        gains = session(Server.of(name), tuned, seed, trials)
        kept.add({**identity, **gains})
        progress.done(f"{name} tuned for {tuned}, seed {seed}: " + ", ".join(f"{x} {g:.2f}" for x, g in gains.items()))
    progress.close()

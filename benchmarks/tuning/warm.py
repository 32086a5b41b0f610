"""`warm`: what past workloads add. The same task cold, offered twenty past workloads, and offered strangers alone."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, Literal, get_args

import click
import numpy as np
from lutra_models.gp import Snapshot, fit

from benchmarks.tuning import race, workloads
from benchmarks.tuning.optimisers import OURS, Lutra
from benchmarks.tuning.options import Names, Progress, results_option, seeds_option
from benchmarks.tuning.rows import CODE, Results
from benchmarks.tuning.workloads import TARGETS, Target

KEY = ("target", "past", "seed", "budget", "code")
Past = Literal["none", "twenty", "strangers"]
PASTS: tuple[Past, ...] = get_args(Past)
_NAMES = tuple(t.name for t in TARGETS)


@click.command("warm")
@click.option("--targets", type=Names(_NAMES), default=",".join(_NAMES), show_default=True)
@click.option("--pasts", type=Names(PASTS), default=",".join(PASTS), show_default=True)
@seeds_option()
@click.option("--budget", type=click.IntRange(2), default=50, show_default=True, help="Trials per run.")
@results_option
def warm_command(targets: Sequence[str], pasts: Sequence[Past], seeds: int, budget: int, results: Path) -> None:
    """Race the recommender with past workloads.

    Each target is tuned cold, offered twenty past workloads of 200 trials each (one of them related), and offered the
    strangers among them alone.
    """
    kept = Results(results / "warm.jsonl", KEY)
    wanted = [t for t in TARGETS if t.name in targets]
    progress = Progress("warm", len(wanted) * len(pasts) * seeds)
    for past, target, seed in itertools.product(pasts, wanted, range(seeds)):
        identity = {"target": target.name, "past": past, "seed": seed, "budget": budget, "code": CODE}
        if identity in kept:
            progress.skip()
            continue
        row = _run(target, past, seed, budget)
        kept.add({**identity, **row})
        at = ", ".join(f"{row['scores'][k - 1]:.3f} @{k}" for k in (6, 10, 30) if k <= budget)
        progress.done(f"{target.name} {past} seed {seed}: {at}")
    progress.close()


def _run(target: Target, past: Past, seed: int, budget: int) -> dict[str, Any]:
    warm = workloads.target_task(target.name)
    names = () if past == "none" else target.past(strangers_alone=past == "strangers")
    offered = [snapshot for snapshot in map(_snapshot, names) if snapshot is not None]
    rng = np.random.default_rng(20_000 + seed)
    return race.run(warm.task, OURS[0], Lutra(warm.task, seed, budget, past=offered), warm.measure, rng, budget)


@cache
def _snapshot(name: str) -> Snapshot | None:
    """What the past workload taught, as the service keeps it; None where it taught nothing."""
    model = fit(workloads.past(name), rng=np.random.default_rng(0))
    return model.snapshot if model.predicts else None

"""`warm`: what past workloads add. The same task cold, with a related past, and with one that has nothing to teach."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal

import click
import numpy as np
from lutra_models import History

from benchmarks.tuning import race
from benchmarks.tuning.named import kept
from benchmarks.tuning.optimisers import OURS, Lutra
from benchmarks.tuning.options import Names, Progress, results_option, seeds_option
from benchmarks.tuning.rows import CODE, Results
from benchmarks.tuning.warm_tasks import HISTORIES, WarmTask, past_workload, warm_task

KEY = ("target", "past", "seed", "budget", "code")
Kind = Literal["cold", "related", "unrelated"]


@dataclass(frozen=True)
class Pairing:
    """A target and the workload that is known beforehand; none for the cold run that the others are compared with."""

    target: str
    past: str | None
    kind: Kind


_TWITTER, _TWITTER_TOO, _SYSBENCH, _SYSBENCH_TOO = HISTORIES
PAIRINGS: tuple[Pairing, ...] = (
    *(Pairing(target, None, "cold") for target in HISTORIES),
    Pairing(_TWITTER, _TWITTER_TOO, "related"),
    Pairing(_TWITTER_TOO, _TWITTER, "related"),
    Pairing(_SYSBENCH, _SYSBENCH_TOO, "related"),
    Pairing(_SYSBENCH_TOO, _SYSBENCH, "related"),
    Pairing(_TWITTER, _SYSBENCH, "unrelated"),
    Pairing(_TWITTER_TOO, _SYSBENCH_TOO, "unrelated"),
    Pairing(_SYSBENCH, _TWITTER, "unrelated"),
    Pairing(_SYSBENCH_TOO, _TWITTER_TOO, "unrelated"),
)


@click.command("warm")
@click.option("--targets", type=Names(HISTORIES), default=",".join(HISTORIES), show_default=True)
@seeds_option()
@click.option("--budget", type=click.IntRange(2), default=50, show_default=True, help="Trials per run.")
@results_option
def warm_command(targets: Sequence[str], seeds: int, budget: int, results: Path) -> None:
    """Race the recommender with past workloads and runtime counters.

    Each target is a tuning history of MySQL 5.7 turned into a task. It is tuned cold, with 200 trials of the same kind
    of load (on other hardware, over other knobs) as past, and with 200 trials of an unrelated load.
    """
    kept_rows = Results(results / "warm.jsonl", KEY)
    pairings = [p for p in PAIRINGS if p.target in targets]
    progress, code = Progress("warm", len(pairings) * seeds), CODE
    for pairing in pairings:
        for seed in range(seeds):
            past = pairing.past or "none"
            identity = {"target": pairing.target, "past": past, "seed": seed, "budget": budget, "code": code}
            if identity in kept_rows:
                progress.skip()
                continue
            row = _run(pairing, seed, budget)
            kept_rows.add({**identity, "kind": pairing.kind, **row})
            at = ", ".join(f"{row['scores'][k - 1]:.3f} @{k}" for k in (6, 10, 30) if k <= budget)
            progress.done(f"{pairing.target} {pairing.kind} seed {seed}: {at}")
    progress.close()


def _run(pairing: Pairing, seed: int, budget: int) -> dict[str, Any]:
    target = _task(pairing.target)
    past = (_past(pairing.past),) if pairing.past else ()
    rng = np.random.default_rng(20_000 + seed)
    return race.run(target.task, OURS[0], Lutra(target.task, seed, budget, past=past), target.measure, rng, budget)


def _task(name: str) -> WarmTask:
    return kept(f"warm-{name}", partial(warm_task, name))


def _past(name: str) -> History:
    return past_workload(name, _task(name).task.space)

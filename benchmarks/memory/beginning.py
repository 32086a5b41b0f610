"""`beginning`: what the public tables add to a newcomer's first session, where nothing else is known.

Each target is the later half of a table, as in `gain`. What is known are the tables of `lutra import public`, read and
fitted as the import does, without the target's own table: `public`. `strangers` also lacks those of the same benchmark.
Targets are tuned over the settings that their table has; a past workload knows those that the catalogue has, too.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

import click
import numpy as np
from lutra_models import History, Objective, Observation
from lutra_models.gp import Snapshot, fit
from lutra_models.gp.transfer.workload import Workload
from lutra_models.metrics import Goal
from lutra_service.app.workloads.imports import public_tables

from benchmarks.memory.fleet import ALIKE, TABLES, Variation, engine_of
from benchmarks.memory.gain import KEY, LATER, RESULTS, Choose, Memory, Run, table_of, target_task
from benchmarks.memory.past import CODE as FITTED_BY
from benchmarks.memory.past import Remembered
from benchmarks.tuning.named import kept
from benchmarks.tuning.options import Names, Progress, seeds_option
from benchmarks.tuning.rows import CODE, Results
from benchmarks.tuning.warm_tasks import OBJECTIVE

Rule = Literal["none", "public", "strangers"]
RULES: tuple[Rule, ...] = get_args(Rule)
TARGETS = tuple(f"{name}{LATER}" for name in sorted(TABLES))
MADE_OF = {
    "tuna-azure-tpcc": "tuna-tpcc",
    "tuna-cloudlab-tpcc": "tuna-cloudlab",
    "tuna-azure-epinions": "tuna-epinions",
    "tuna-azure-tpch": "tuna-tpch",
    "opadviser-sysbench-12": "sysbench_rw__task18",
    "opadviser-sysbench-6": "sysbench_rw__task33",
    "opadviser-twitter-21": "twitter__task11",
    "opadviser-twitter-18": "twitter__task23",
    "dbtune-sysbench-20": "sysbench20",
    "dbtune-sysbench-5": "sysbench5",
    "dbtune-job-20": "job20",
}
"""By the public table, the one of the tuning benchmark that it was made of."""


@click.command("beginning")
@click.option("--targets", type=Names(TARGETS), default=",".join(TARGETS), show_default=True)
@click.option("--rules", type=Names(RULES), default=",".join(RULES), show_default=True)
@seeds_option(3)
@click.option("--budget", type=click.IntRange(5), default=20, show_default=True, help="Trials per run.")
@click.option("--results", type=click.Path(file_okay=False, path_type=Path), default=RESULTS)
def beginning_command(targets: Sequence[str], rules: Sequence[Rule], seeds: int, budget: int, results: Path) -> None:
    """Tune each target with and without what `lutra import public` brings."""
    rows = Results(results / "beginning.jsonl", KEY)
    progress = Progress("beginning", len(targets) * len(rules) * seeds)
    for seed, target, rule in itertools.product(range(seeds), targets, rules):
        identity = {"target": target, "rule": rule, "seed": seed, "budget": budget, "code": CODE}
        if identity in rows:
            progress.skip()
            continue
        row = Run(target, seed, _choice(rule, target)).played(budget)
        rows.add({**identity, **row})
        at = ", ".join(f"{row['scores'][k - 1]:.3f} @{k}" for k in (5, 10, 20) if k <= budget)
        progress.done(f"{target} {rule} seed {seed}: {at}")
    progress.close()


def _choice(rule: Rule, target: str) -> Choose:
    if rule == "none":
        return lambda _: []
    table = table_of(target)
    alike = set().union({table}, *(pair for pair in ALIKE if table in pair)) if rule == "strangers" else {table}
    known = [r for r in public_workloads(target_task(target).task.goal) if r.variation.table not in alike]
    return Memory(known, engine_of(table)).choose


def public_workloads(goal: Goal) -> list[Remembered]:
    """Each public table as it is remembered, of one metric: its rate, or what that is the reciprocal of."""
    names = [Path(t.file).stem for t in public_tables.listed(public_tables.folder())]
    return [_remembered(name, goal) for name in names]


def _remembered(name: str, goal: Goal) -> Remembered:
    document = kept(f"memory-{FITTED_BY}-public {name} {goal}", lambda: _fitted(name, goal))
    snapshot = Snapshot.from_dict(document)
    return Remembered(Public(MADE_OF[name], 0), (snapshot, Workload.of(snapshot, OBJECTIVE)))


@dataclass(frozen=True)
class Public(Variation):
    """A public table in place of a variation of it."""

    @property
    def name(self) -> str:
        return f"public {self.table}"


def _fitted(name: str, goal: Goal) -> dict[str, Any]:
    (found,) = (r for r in _read() if Path(r.table.file).stem == name)
    model = fit(_as_measured(found.history, goal), rng=np.random.default_rng(0))
    return model.snapshot.to_dict()


_READ: list[public_tables.Read] = []


def _read() -> list[public_tables.Read]:
    if not _READ:
        _READ.extend(public_tables.read(public_tables.folder()))
    return _READ


def _as_measured(history: History, goal: Goal) -> History:
    seen = [
        Observation(o.configuration, {OBJECTIVE: o.metrics["qps"] if goal == "maximize" else 1.0 / o.metrics["qps"]})
        if o.completed
        else o
        for o in history.observations
    ]
    return History(history.space, Objective(OBJECTIVE, goal), observations=seen, current=history.current)

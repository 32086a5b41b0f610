"""`gain`: what the memory's choice of past workloads adds to a search, against the newest five and against none."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

import click
import numpy as np
from lutra_models import History, Objective, Observation
from lutra_models.gp import Snapshot, recommend
from lutra_models.gp.transfer.choice import LOOKED_AT, chosen
from lutra_models.gp.transfer.index import Index
from lutra_models.gp.transfer.question import Question

from benchmarks.memory.fleet import TABLES, engine_of, fleet
from benchmarks.memory.past import Remembered, remembered
from benchmarks.tuning import tables
from benchmarks.tuning.named import kept
from benchmarks.tuning.options import Names, Progress, seeds_option
from benchmarks.tuning.race import Course
from benchmarks.tuning.rows import CODE, Results
from benchmarks.tuning.warm_tasks import OBJECTIVE, WarmTask, warm_task

RESULTS = Path(__file__).parent / "results"
KEY = ("target", "rule", "seed", "budget", "code")
Rule = Literal["none", "newest", "memory", "strangers"]
RULES: tuple[Rule, ...] = get_args(Rule)
NEWEST = 5
EACH, DEALT_OUT = 8, 112
"""Two hundred workloads: eight of each of eleven tables, and those that teach nothing."""
LATER, OTHER = " (later)", " (elsewhere)"
TARGETS = (*(f"{name}{LATER}" for name in sorted(TABLES)), f"sysbench20{OTHER}")
"""The half of each table that no past workload saw; and a whole table of which only another one's past is known."""
CHOSEN_ON = ("sysbench20 (later)", "tuna-tpcc (later)", "twitter__task11 (later)", "job20 (later)")
"""The targets at which the rule was looked at while it was made."""


@click.command("gain")
@click.option("--targets", type=Names(TARGETS), default=",".join(TARGETS), show_default=True)
@click.option("--rules", type=Names(RULES), default=",".join(RULES), show_default=True)
@seeds_option(3)
@click.option("--budget", type=click.IntRange(5), default=20, show_default=True, help="Trials per run.")
@click.option("--results", type=click.Path(file_okay=False, path_type=Path), default=RESULTS)
def gain_command(targets: Sequence[str], rules: Sequence[Rule], seeds: int, budget: int, results: Path) -> None:
    """Tune each target with a memory of two hundred workloads, by each rule of choosing from it."""
    rows = Results(results / "gain.jsonl", KEY)
    past = [r for r in remembered(fleet(EACH, DEALT_OUT)) if r.taught is not None]
    progress = Progress("gain", len(targets) * len(rules) * seeds)
    for seed, target, rule in itertools.product(range(seeds), targets, rules):
        identity = {"target": target, "rule": rule, "seed": seed, "budget": budget, "code": CODE}
        if identity in rows:
            progress.skip()
            continue
        row = Run(target, seed, _choice(rule, target, past, seed)).played(budget)
        rows.add({**identity, **row})
        at = ", ".join(f"{row['scores'][k - 1]:.3f} @{k}" for k in (5, 10, 20) if k <= budget)
        progress.done(f"{target} {rule} seed {seed}: {at}")
    progress.close()


Choose = Callable[[History], list[Remembered]]


@dataclass
class Run:
    """One session on a target."""

    target: str
    seed: int
    choose: Choose

    def played(self, budget: int) -> dict[str, Any]:
        warm = target_task(self.target)
        course, alike = Course(warm.task), []
        seen: list[Observation] = []
        noise = np.random.default_rng(20_000 + self.seed)
        for trial in range(budget):
            history = History(
                warm.task.space, Objective(OBJECTIVE, warm.task.goal), observations=seen, current=warm.task.default
            )
            past = self.choose(history) if trial else []
            alike.append([r.variation.stranger_to(table_of(self.target)) for r in past].count(False))
            rng = np.random.default_rng([self.seed, trial])
            asked = (
                recommend(history, [_snapshot(r) for r in past], rng=rng).configuration if trial else warm.task.default
            )
            metrics = warm.measure(asked, noise)
            seen.append(Observation.failed(asked, "did_not_start") if metrics is None else Observation(asked, metrics))
            course.add(asked, metrics)
        return {"scores": course.scores(), "failures": course.row()["failures"], "alike": alike}


def table_of(target: str) -> str:
    return target.removesuffix(LATER).removesuffix(OTHER)


def target_task(target: str) -> WarmTask:
    """The target, kept on disk once it is built."""
    table = TABLES[table_of(target)]
    return kept(f"memory-{target}", lambda: warm_task(tables.parted(table(), 1) if target.endswith(LATER) else table()))


def _snapshot(past: Remembered) -> Snapshot:
    assert past.taught is not None
    return past.taught[0]


def _choice(rule: Rule, target: str, past: Sequence[Remembered], seed: int) -> Choose:
    """Which of the past this target may lean on, by a rule, given what it has measured. Ages depend on the seed."""
    table = table_of(target)
    known = [
        r for r in past if not (target.endswith(OTHER) and r.variation.table == table and not r.variation.dealt_out)
    ]
    aged = [known[i] for i in np.random.default_rng([seed, 5]).permutation(len(known))]
    if rule == "none":
        return lambda _: []
    if rule == "newest":
        newest = [r for r in aged if r.variation.engine == engine_of(table)][-NEWEST:]
        return lambda _: newest
    wanted = [r for r in aged if rule == "memory" or r.variation.stranger_to(table)]
    return Memory(wanted, engine_of(table)).choose


class Memory:
    """The memory as the service asks it, each workload another database's."""

    def __init__(self, past: Sequence[Remembered], engine: str) -> None:
        self._by_name = {r.variation.name: r for r in past}
        self._engine = engine
        self._index = Index()
        for name, r in self._by_name.items():
            assert r.taught is not None
            self._index.put(name, r.variation.engine, name, r.taught[1])

    def choose(self, history: History) -> list[Remembered]:
        asked = Question.of(history, self._engine)
        likeliest = self._index.likeliest(asked, self._by_name, LOOKED_AT)
        return [self._by_name[name] for name in chosen([(name, name) for name in likeliest], "")]

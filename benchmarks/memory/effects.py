"""`effects`: whether what a workload says of its settings is so in another sample of it, and what it says of noise.

A table is cut into disjoint halves at random, and each half is fitted as an import is. Of each effect that one half
calls certain, its claim (the value with the largest change from the baseline, and that change) is asked of the other
half: whether the change has the same sign there, and whether the other half is certain of the setting, too, or has the
claim within its own 90 % interval. `span` is the rule of before: a curve whose highest place is two deviations of the
belief above its lowest.

The readings of a shuffled table belong to other configurations: every setting that did something for certain there is
false. No model is fitted to these, as that test asks none; what a model adds can only make fewer settings certain.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import click
import numpy as np
from lutra_models import History, Observation
from lutra_models.gp import fit
from lutra_models.gp.space.encoding import Encoding
from lutra_models.gp.transfer.certainty import RATE, chances
from lutra_models.gp.transfer.effects import ENDS, Effect
from lutra_models.gp.transfer.workload import Lesson, Workload
from lutra_service.app.workloads.imports import public_tables

from benchmarks.memory.gain import RESULTS
from benchmarks.tuning.options import Progress
from benchmarks.tuning.rows import CODE, Results

KEY = ("what", "table", "seed", "code")
HALVES, SHUFFLED = "halves", "shuffled"
SPAN = 2.0
"""Deviations from which the rule of before called an effect certain."""
Rule = Callable[[Effect], bool]
RULES: dict[str, Rule] = {"certain": lambda e: e.certain, "span": lambda e: bool(np.ptp(e.gains) > SPAN * e.deviation)}


@click.command("effects")
@click.option("--pairs", type=click.IntRange(0), default=44, show_default=True, help="Of disjoint halves.")
@click.option("--shuffles", type=click.IntRange(0), default=200, show_default=True)
@click.option("--results", type=click.Path(file_okay=False, path_type=Path), default=RESULTS)
def effects_command(pairs: int, shuffles: int, results: Path) -> None:
    """Ask each half of a table about what the other one is certain of, and shuffled tables of what they are."""
    measured(
        results,
        {Path(r.table.file).stem: r.history for r in public_tables.read(public_tables.folder())},
        pairs,
        shuffles,
    )


def measured(results: Path, histories: dict[str, History], pairs: int, shuffles: int) -> None:
    """The tables in turns; what is there already is not computed again."""
    rows = Results(results / "effects.jsonl", KEY)
    progress = Progress("effects", pairs + shuffles)
    asked: tuple[tuple[str, int, Callable[[History, int], dict[str, Any]]], ...]
    asked = ((HALVES, pairs, _halves), (SHUFFLED, shuffles, _shuffled))
    for what, count, ask in asked:
        for number in range(count):
            seed, table = number // len(histories), sorted(histories)[number % len(histories)]
            identity = {"what": what, "table": table, "seed": seed, "code": CODE}
            if identity in rows:
                progress.skip()
                continue
            row = ask(histories[table], seed)
            rows.add({**identity, **row})
            progress.done(f"{table} {what} {seed}: certain {row['certain']}")
    progress.close()


@dataclass
class Kept:
    """How many claims were made, and what became of them: `certain` of the setting there, or `inside` its interval."""

    claims: int = 0
    sign: int = 0
    certain: int = 0
    inside: int = 0
    held: int = 0

    def add(self, effect: Effect, there: Effect | None, rule: Rule) -> None:
        self.claims += 1
        if there is None:
            return
        value, claim = effect.largest
        (found,), (deviation,) = there.at([value]), replace(there, gains=there.deviations).at([value])
        certain, inside = rule(there), abs(found - claim) <= ENDS * deviation
        self.sign += bool(found * claim > 0)
        self.certain += certain
        self.inside += bool(inside)
        self.held += bool(certain or inside)


def _halves(history: History, seed: int) -> dict[str, Any]:
    order = np.random.default_rng([seed, 11]).permutation(len(history.observations))
    both = [[history.observations[i] for i in sorted(order[half::2])] for half in (0, 1)]
    (one, one_s), (other, other_s) = (_lesson(history, half) for half in both)
    out: dict[str, Any] = {}
    for name, rule in RULES.items():
        kept = Kept()
        for here, there in ((one, other), (other, one)):
            known = {e.setting: e for e in there.effects}
            for effect in (e for e in here.effects if rule(e)):
                kept.add(effect, known.get(effect.setting), rule)
        out[name] = vars(kept)
    return {**out, "processor_s": round((one_s + other_s) / 2, 4)}


def _shuffled(history: History, seed: int) -> dict[str, Any]:
    read = history.values(history.objective.metric)
    encoding = Encoding(history.space.knobs)
    values = np.random.default_rng([seed, 12]).permutation([value for _, value in read])
    began = time.process_time()
    found = chances(encoding, encoding.codes([c for c, _ in read]), values)
    seconds = time.process_time() - began
    moved = sum(chance <= RATE for chance in found.values())
    return {"settings": len(history.space), "certain": moved, "processor_s": round(seconds, 4)}


def _lesson(history: History, observations: Sequence[Observation]) -> tuple[Lesson, float]:
    """What the objective teaches by these rows, and the processor seconds of that, the fit left out."""
    metric = history.objective.metric
    snapshot = fit(_with(history, observations), rng=np.random.default_rng(0)).snapshot
    began = time.process_time()
    lesson = Workload.of(snapshot, metric).lessons[metric]
    return lesson, time.process_time() - began


def _with(history: History, observations: Sequence[Observation]) -> History:
    """The objective's readings alone: other metrics have no part in this."""
    metric = history.objective.metric
    rows = [Observation(o.configuration, {metric: o.metrics[metric]}) if o.completed else o for o in observations]
    return History(
        history.space, history.objective, observations=rows, current=history.current, context=history.context
    )


def told(rows: Sequence[dict[str, Any]]) -> Iterator[list[str]]:
    """A line a rule: its claims, and the shares that kept."""
    for rule in RULES:
        claims = sum(r[rule]["claims"] for r in rows)
        shares = [sum(r[rule][name] for r in rows) / max(claims, 1) for name in ("sign", "certain", "inside", "held")]
        yield [rule, str(claims), *(f"{100 * s:.0f} %" for s in shares)]

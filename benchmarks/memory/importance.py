"""`importance`: whether settings that mattered in other workloads matter on a target.

What a prior of which setting to move first would rest on: by setting, the mean share of the effects' sizes over the
public tables that know it. It is compared with what the target's own forest, which has seen the whole table, holds of
the settings that both have: Spearman's rank correlation, and how many of the three that matter most are named.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection

import click
import numpy as np
from scipy.stats import spearmanr

from benchmarks.memory.beginning import TARGETS, public_workloads
from benchmarks.memory.fleet import ALIKE, engine_of
from benchmarks.memory.gain import table_of, target_task
from benchmarks.memory.past import Remembered
from benchmarks.tuning.warm_tasks import OBJECTIVE

FIRST, LEAST, DRAWS = 3, 4, 4000


@click.command("importance")
def importance_command() -> None:
    """Rank settings by the public tables and by each target's own, and compare."""
    found: dict[str, list[float]] = {"all others": [], "strangers": []}
    for target in TARGETS:
        table, task = table_of(target), target_task(target).task
        weights = dict(zip(task.space.names, task.values.feature_importances_, strict=True))
        alike = set().union({table}, *(pair for pair in ALIKE if table in pair))
        of_engine = [r for r in public_workloads(task.goal) if r.variation.engine == engine_of(table)]
        for what, without in (("all others", {table}), ("strangers", alike)):
            mattered = _mattered([r for r in of_engine if r.variation.table not in without])
            shared = [n for n in task.space.names if n in mattered]
            if len(shared) < LEAST:
                continue
            here, there = [weights[n] for n in shared], [mattered[n] for n in shared]
            found[what].append(float(spearmanr(here, there).statistic))
            hit = len(set(_first(shared, here)) & set(_first(shared, there)))
            told = f"{len(shared)} of {len(task.space)} settings, {found[what][-1]:+.2f}, {hit} of the first {FIRST}"
            click.echo(f"{target}, {what}: {told}")
    for what, correlations in found.items():
        click.echo(f"{what}: {_mean(correlations)} over {len(correlations)} targets")


def _mattered(past: Collection[Remembered]) -> dict[str, float]:
    """By setting, the mean share that its effect has in those of a workload that knows it."""
    shares: dict[str, list[float]] = defaultdict(list)
    for r in past:
        assert r.taught is not None
        snapshot, workload = r.taught
        sizes = {e.setting: e.size for e in workload.lessons[OBJECTIVE].effects}
        for knob in snapshot.encoding.knobs:
            shares[knob.name].append(sizes.get(knob.name, 0.0) / (sum(sizes.values()) or 1.0))
    return {name: float(np.mean(found)) for name, found in shares.items()}


def _first(names: list[str], weights: list[float]) -> list[str]:
    return [names[i] for i in np.argsort(weights)[::-1][:FIRST]]


def _mean(found: list[float]) -> str:
    """With its bootstrap 90 % interval over targets."""
    rng = np.random.default_rng(0)
    low, high = np.quantile([rng.choice(found, len(found)).mean() for _ in range(DRAWS)], [0.05, 0.95])
    return f"{np.mean(found):+.2f} [{low:+.2f}, {high:+.2f}]"

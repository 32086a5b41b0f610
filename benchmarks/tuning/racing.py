"""`race` and `safe`: which contenders meet on which tasks, with what seeds."""

from __future__ import annotations

import itertools
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
from lutra_models.errors import InvalidOptions

from benchmarks.tuning import named, race
from benchmarks.tuning.contenders import RANDOM, Contender
from benchmarks.tuning.optimisers import OURS, of_document, variant
from benchmarks.tuning.options import Names, Progress, results_option, seeds_option, tasks_option
from benchmarks.tuning.peers import PEERS, version
from benchmarks.tuning.rows import CODE, Results

CONTENDERS: tuple[Contender, ...] = (*OURS, RANDOM, *PEERS)
KEY = ("task", "optimiser", "seed", "budget", "code")
SAFE_TASKS = "tuna-tpcc,tuna-epinions"


class Variant(click.ParamType[Contender]):
    """Options of the recommender, as a contender."""

    name = "options"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Contender:
        try:
            return variant(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)


class OptionsFile(click.Path):
    """An options document, as a contender."""

    name = "file"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        try:
            return of_document(Path(os.fsdecode(super().convert(value, param, ctx))))
        except (InvalidOptions, UnicodeDecodeError) as error:
            self.fail(str(error), param, ctx)


@click.command("race")
@tasks_option()
@click.option("--optimisers", type=Names([c.name for c in CONTENDERS]), default="lutra", show_default=True)
@seeds_option()
@click.option("--budget", type=click.IntRange(2), default=50, show_default=True, help="Trials per run.")
@click.option(
    "--variant",
    "variants",
    type=Variant(),
    multiple=True,
    help="Race the recommender with other options too: search.opening_trials=8, or several of them with commas.",
)
@click.option(
    "--options",
    "documents",
    type=OptionsFile(exists=True, dir_okay=False),
    multiple=True,
    help="Race the recommender with the options in this document too (`lutra models options` prints one).",
)
@results_option
def race_command(
    tasks: Sequence[str],
    optimisers: Sequence[str],
    seeds: int,
    budget: int,
    variants: Sequence[Contender],
    documents: Sequence[Contender],
    results: Path,
) -> None:
    """Race optimisers from the default configuration.

    A score of 0 is the default's true value, 1 the best known; after each trial the configuration with the best reading
    so far counts. The peers need the dependency group `peers` (uv pip install --group peers); what they scored is
    among the data already. Runs that are in the results file are not run again, so interrupting costs
    at most the run under way. Variants' runs have a file of their own, which no report reads.
    """
    compete(tasks, [c for c in CONTENDERS if c.name in optimisers], seeds, budget, results / "race.jsonl")
    if variants or documents:
        compete(tasks, [*variants, *documents], seeds, budget, results / "variants.jsonl")


@click.command("safe")
@tasks_option(SAFE_TASKS)
@seeds_option()
@click.option("--budget", type=click.IntRange(2), default=50, show_default=True, help="Trials per run.")
@results_option
def safe_command(tasks: Sequence[str], seeds: int, budget: int, results: Path) -> None:
    """Count unsafe trials with safe=True against the unconstrained search.

    A trial is unsafe where it fails or its true value is worse than the default's by more than a tenth. Uses the
    race's runs where they are there.
    """
    compete(tasks, OURS, seeds, budget, results / "race.jsonl")


def compete(tasks: Sequence[str], contenders: Sequence[Contender], seeds: int, budget: int, file: Path) -> None:
    kept = Results(file, KEY)
    progress = Progress("race", len(tasks) * len(contenders) * seeds)
    for name, contender in itertools.product(tasks, contenders):
        code = CODE if contender.ours else version(contender.packages) or "built in"
        for seed in range(seeds):
            identity = {"task": name, "optimiser": contender.name, "seed": seed, "budget": budget, "code": code}
            if identity in kept:
                progress.skip()
                continue
            row = race.play(named.task(name), contender, seed, budget)
            kept.add({**identity, **row})
            progress.done(
                f"{name} {contender.name} seed {seed}: {row['scores'][-1]:.3f} after {budget} trials, "
                f"{row['failures']} failed, {row['unsafe']} unsafe, {row['ask_s']:.2f} s per suggestion"
            )
    progress.close()

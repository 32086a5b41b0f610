"""`handover`: how many settings what is handed over changes, and what of the full configuration's true gain it keeps.

The full configuration is the best by posterior, in place of which one with fewer changes is handed over. Gains are
scores: 0 is the default's
true value, 1 the best known. A configuration under which the server would not run gains nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
import numpy as np
from lutra_models import Configuration
from lutra_models.gp import fit

from benchmarks.tuning import named
from benchmarks.tuning.coverage import watched
from benchmarks.tuning.optimisers import Lutra
from benchmarks.tuning.options import Progress, results_option, seeds_option, tasks_option
from benchmarks.tuning.rows import CODE, Results, Row
from benchmarks.tuning.tasks import Task

KEY = ("task", "seed", "trials", "code")
AFTER = (20, 30, 50)


@click.command("handover")
@tasks_option()
@seeds_option()
@results_option
def handover_command(tasks: Sequence[str], seeds: int, results: Path) -> None:
    """Count the settings that a handover changes.

    After 20, 30 and 50 trials of a tuning run, what is handed over is compared with the measured configuration that it
    is shortened from: changed settings, and true gains over the default.
    """
    kept = Results(results / "handover.jsonl", KEY)
    progress = Progress("handover", len(tasks) * seeds)
    for name in tasks:
        for seed in range(seeds):
            identity = {"task": name, "seed": seed, "code": CODE}
            if {**identity, "trials": AFTER[-1]} in kept:
                progress.skip()
                continue
            rows = handed_over(named.task(name), seed)
            for row in rows:
                kept.add({**identity, **row})
            counts = ", ".join(f"{r['settings']} of {r['full_settings']}" for r in rows)
            gains = ", ".join(f"{r['gain']:.2f} of {r['full_gain']:.2f}" for r in rows)
            progress.done(f"{name} seed {seed}: {counts} settings, gains {gains}")
    progress.close()


def handed_over(task: Task, seed: int) -> list[dict[str, Any]]:
    """A row for each number of trials of one run."""
    optimiser = Lutra(task, seed, AFTER[-1], baseline=task.default)
    rows = []
    for trial, _ in enumerate(watched(task, optimiser, seed, AFTER[-1]), 1):
        if trial in AFTER:
            best = fit(optimiser.history, rng=np.random.default_rng([seed, trial])).best()
            full = best.simplified_from or best.configuration
            rows.append({"trials": trial, **compared(task, full, best.configuration)})
    return rows


def compared(task: Task, full: Configuration, short: Configuration) -> dict[str, Any]:
    """How many settings each changes of the default, and what each truly gains over it."""
    return {
        "full_settings": len(task.default.changes_to(full)),
        "settings": len(task.default.changes_to(short)),
        "full_gain": gain(task, full),
        "gain": gain(task, short),
    }


def gain(task: Task, configuration: Configuration) -> float:
    return 0.0 if task.fails(configuration) else round(task.score(task.truth(configuration)), 4)


def summary(rows: Sequence[Row]) -> dict[str, float]:
    """Medians of changed settings, mean gains, and the short ones' share of the full ones' gain, all runs together."""
    full, short = (sum(r[name] for r in rows) / len(rows) for name in ("full_gain", "gain"))
    return {
        "full_settings": float(np.median([r["full_settings"] for r in rows])),
        "settings": float(np.median([r["settings"] for r in rows])),
        "full_gain": full,
        "gain": short,
        "share": short / full if full > 0 else float("nan"),
    }

"""`scale`: a recommendation from thousands of windows, and whether the noise that they show is taken as it is."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from statistics import median

import click
import numpy as np
from lutra_models import History
from lutra_models.gp import fit

from benchmarks.tuning import synthetic
from benchmarks.tuning.options import Progress, results_option
from benchmarks.tuning.rows import CODE, Results
from benchmarks.tuning.speed import machine, recommended, timed

KEY = ("windows", "configurations", "loads", "code")
LOADS: tuple[tuple[int, ...], ...] = ((8,), (8, 32))


@click.command("scale")
@click.option("--windows", type=click.IntRange(100), default=10_000, show_default=True)
@click.option("--configurations", type=click.IntRange(2), default=36, show_default=True)
@results_option
def scale_command(windows: int, configurations: int, results: Path) -> None:
    """Recommend from a long history: thousands of windows of a few dozen configurations, at one load and at two.

    Besides the time it checks that the noise is right: at the present load, the 90 % interval of a known configuration
    should hold nine in ten new readings and be about as wide as they scatter.
    """
    kept, code = Results(results / "scale.jsonl", KEY), CODE
    progress = Progress("scale", len(LOADS))
    for loads in LOADS:
        identity = {"windows": windows, "configurations": configurations, "loads": len(loads), "code": code}
        if identity in kept:
            progress.skip()
            continue
        history = synthetic.windows(windows, configurations, 20, 1, loads)
        clock_s, cpu_s = timed(partial(recommended, history, ()), 3)
        row = {**identity, "clock_s": clock_s, "cpu_s": cpu_s, **known_readings(history), **machine()}
        kept.add(row)
        progress.done(
            f"{windows} windows of {configurations} configurations at {len(loads)} loads: {cpu_s:.2f} s of processor, "
            f"{row['held']:.0%} of new readings held, interval {row['width']:.2f} times their scatter"
        )
    progress.close()


def known_readings(history: History) -> dict[str, float]:
    """How many of 200 new readings per configuration its interval holds, and its width over their 5–95 % range."""
    known = list(dict.fromkeys(o.configuration for o in history.observations))
    truths = synthetic.true_targets(history.space, known)[0]
    predictions = fit(history, rng=np.random.default_rng(0)).predict(known)
    noise = np.exp(synthetic.NOISE * np.random.default_rng(2).standard_normal((len(known), 200)))
    held, widths = [], []
    for truth, prediction, factor in zip(truths, predictions, noise, strict=True):
        p99, readings = prediction["p99_ms"], truth * factor
        held.append(float(np.mean((p99.low <= readings) & (readings <= p99.high))))
        widths.append((p99.high - p99.low) / float(np.subtract(*np.quantile(readings, [0.95, 0.05]))))
    return {"held": round(float(np.mean(held)), 4), "width": round(median(widths), 4)}

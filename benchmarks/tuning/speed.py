"""`speed`: seconds per recommendation over observations, knobs and past workloads."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache, partial
from pathlib import Path
from statistics import median
from typing import Any

import click
import numpy as np
from lutra_models import History
from lutra_models.gp import Snapshot, fit, recommend

from benchmarks.tuning import synthetic
from benchmarks.tuning.options import Progress, results_option
from benchmarks.tuning.rows import CODE, Results

KEY = ("observations", "knobs", "past", "code")
_PAST_OBSERVATIONS = 200


@dataclass(frozen=True)
class Size:
    """A history's size; `limit_s` is the most that a recommendation may take, where that is stated."""

    observations: int
    knobs: int
    past: int = 0
    limit_s: float | None = None


SIZES: tuple[Size, ...] = (
    Size(30, 20, limit_s=0.5),
    Size(200, 30, 5, limit_s=3.0),
    Size(1_000, 20, limit_s=10.0),
    *(Size(n, 20) for n in (10, 60, 100, 200, 400)),
    *(Size(60, k) for k in (5, 10, 30, 60, 120)),
    *(Size(60, 20, p) for p in (1, 5, 10)),
)


@click.command("speed")
@click.option("--repeats", type=click.IntRange(1), default=5, show_default=True, help="The median of them counts.")
@results_option
def speed_command(repeats: int, results: Path) -> None:
    """Time one recommendation with two targets (p99 and QPS) on one core.

    Past workloads are given as snapshots, as the service stores them; what fitting one costs is timed apart. Processor
    seconds are kept beside those of the clock: on a busy machine the clock says little.
    """
    kept, code = Results(results / "speed.jsonl", KEY), CODE
    progress = Progress("speed", len(SIZES))
    recommend(synthetic.history(12, 5, 0), rng=np.random.default_rng(0))
    for size in SIZES:
        identity = {"observations": size.observations, "knobs": size.knobs, "past": size.past, "code": code}
        if identity in kept:
            progress.skip()
            continue
        past = [_past(size.knobs, i) for i in range(size.past)]
        history = synthetic.history(size.observations, size.knobs, 1)
        clock_s, cpu_s = timed(partial(recommended, history, past), repeats)
        fit_s = timed(partial(_fitted, history), repeats)[1]
        row = {**asdict(size), "clock_s": clock_s, "cpu_s": cpu_s, "fit_cpu_s": fit_s, **machine()}
        kept.add({**identity, **row})
        limit = f" (at most {size.limit_s} s)" if size.limit_s else ""
        progress.done(
            f"{size.observations} observations x {size.knobs} knobs, {size.past} past: "
            f"{cpu_s:.2f} s of processor, {clock_s:.2f} s by the clock{limit}"
        )
    progress.close()


def recommended(history: History, past: Sequence[Snapshot], seed: int) -> object:
    return recommend(history, past, rng=np.random.default_rng(seed))


def _fitted(history: History, seed: int) -> object:
    return fit(history, rng=np.random.default_rng(seed))


def timed(call: Callable[[int], object], repeats: int) -> tuple[float, float]:
    """Median seconds of the clock and of the processor over seeds 0, 1, …"""
    clock, processor = [], []
    for seed in range(repeats):
        began, used = time.perf_counter(), time.process_time()
        call(seed)
        clock.append(time.perf_counter() - began)
        processor.append(time.process_time() - used)
    return round(median(clock), 4), round(median(processor), 4)


@lru_cache
def _past(knobs: int, index: int) -> Snapshot:
    """A past workload over a space that shares most knobs with the present one."""
    history = synthetic.history(_PAST_OBSERVATIONS, knobs, 100 + index, first=index % 3, shift=1.0 + index)
    return fit(history, rng=np.random.default_rng(0)).snapshot


def machine() -> dict[str, Any]:
    return {"machine": _processor(), "load": round(os.getloadavg()[0], 1), "python": platform.python_version()}


def _processor() -> str:
    lines: Sequence[str] = Path("/proc/cpuinfo").read_text().splitlines() if Path("/proc/cpuinfo").exists() else []
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), platform.machine())

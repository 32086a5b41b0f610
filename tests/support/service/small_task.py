"""A tuning task over a made-up table: quick to build, with failures, a choice and a wide range."""

from __future__ import annotations

import numpy as np
import pandas as pd

from benchmarks.tuning.tables import Table
from benchmarks.tuning.tasks import Task, forest_task


def small_table(rows: int = 120) -> Table:
    """Larger buffers are better up to a point, `fast` is better than `slow`, and large buffers do not start."""
    rng = np.random.default_rng(5)
    buffers = np.exp(rng.uniform(np.log(16), np.log(65_536), rows)).round()
    ratio, method = rng.uniform(0, 1, rows), rng.choice(["fast", "slow"], rows)
    values = 100 + 20 * np.log(buffers) - 50 * (ratio - 0.3) ** 2 + 30 * (method == "fast")
    settings = pd.DataFrame({"buffers": buffers, "ratio": ratio, "method": method, "constant": 1})
    default = {"buffers": 128, "ratio": 0.5, "method": "slow"}
    return Table("small", settings, values, buffers > 20_000, "maximize", default, noise=0.05)


def small_task() -> Task:
    return forest_task(small_table())

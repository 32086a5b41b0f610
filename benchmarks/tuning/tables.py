"""The measured tables, read into one shape: rows are configurations that somebody measured.

Shapes: n rows, c columns of settings.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from lutra_models.metrics import Goal

DATA = Path(__file__).parent / "data"


@dataclass(frozen=True, eq=False)
class Table:
    """`settings` (n, c), what was measured (n,), and which rows failed (n,): their values are never read.

    `noise` is one reading's relative standard deviation. `most_knobs` keeps the most telling settings only. `counters`
    (n, any) is what the server counted meanwhile, where somebody kept it.
    """

    name: str
    settings: pd.DataFrame
    values: np.ndarray
    failed: np.ndarray
    goal: Goal
    default: Mapping[str, Any]
    noise: float
    most_knobs: int | None = None
    spans_decades: bool = False
    counters: pd.DataFrame | None = None

    def __post_init__(self) -> None:
        lengths = {len(self.settings), len(self.values), len(self.failed)}
        if len(lengths) > 1:
            raise ValueError(f"{self.name}: settings, values and failures differ in length: {sorted(lengths)}")


def read(path: Path) -> pd.DataFrame:
    """A table without the row numbers that some were saved with."""
    frame = pd.read_csv(path)
    return frame[[c for c in frame if not str(c).startswith("Unnamed")]].rename(columns=str.strip)


def sysbench() -> Table:
    """MySQL 5.7 under SYSBENCH, 20 knobs; options are codes in the table, hence the three defaults in its spelling."""
    spelt = {"innodb_doublewrite": "0", "log_output": "0", "general_log": "0"}
    return _mysql("sysbench20", "SYSBENCH_20knob.csv.gz", "tps", "maximize", spelt)


def sysbench_few() -> Table:
    """The same with five of the knobs, measured apart."""
    return _mysql("sysbench5", "SYSBENCH_5knob.csv.gz", "tps", "maximize", {"innodb_doublewrite": "0"})


def join_order() -> Table:
    """MySQL 5.7 under the Join Order Benchmark: the mean latency of its queries over 20 knobs."""
    return _mysql("job20", "JOB_20knob.csv.gz", "lat", "minimize", {})


def _mysql(name: str, file: str, target: str, goal: Goal, spelt: Mapping[str, Any]) -> Table:
    frame = read(DATA / "pku" / file)
    knobs = json.loads((DATA / "pku" / "mysql57_knobs_197.json").read_text())
    default = {n: k["default"] for n, k in knobs.items()} | dict(spelt)
    nothing_failed = np.zeros(len(frame), dtype=bool)
    return Table(
        name, frame.drop(columns=target), frame[target].to_numpy(float), nothing_failed, goal, default, noise=0.03
    )


def tuna(name: str, runs_of: str, goal: Goal, failed_from: float = 1e6) -> Table:
    """PostgreSQL 16, host and workload as in `azure__postgres__tpcc`.

    A configuration's value is the median over its machines; it failed where most machines failed.
    """
    folder = DATA / "tuna"
    configs = read(folder / f"{runs_of}.configs.csv.gz")
    runs = read(folder / f"{runs_of}.measurements.csv.gz")
    first = runs.loc[runs["suggestion"] == 0, "config_id"].mode()[0]
    default = configs[configs["config_id"] == first].iloc[0].to_dict()
    bad = (runs["performance"] <= 0) | (runs["performance"] >= failed_from)
    failed = bad.groupby(runs["config_id"]).mean() >= 0.5
    values = runs[~bad].groupby("config_id")["performance"].median().reindex(failed.index).fillna(1.0)
    measured = configs[configs["config_id"].isin(failed.index)]
    ids = measured["config_id"]
    return Table(
        name,
        measured.drop(columns="config_id").reset_index(drop=True),
        values.loc[ids].to_numpy(float),
        failed.loc[ids].to_numpy(bool),
        goal,
        default,
        noise=0.05,
        most_knobs=25,
        spans_decades=goal == "minimize",
    )


def from_history(name: str, noise: float) -> Table:
    """One of the tuning histories, with its counters; its first row is the default."""
    (path,) = (DATA / "opadviser").glob(f"{name}*.csv.gz")
    frame = read(path).sort_values("iter", kind="stable")
    failed = (frame["trial_state"] != 0) | (frame["tps"] <= 0)
    settings = _named(frame, "k.")
    counters = _named(frame, "m.")
    moved = [c for c in counters if counters[c].nunique() > 1]
    return Table(
        name,
        settings,
        frame["tps"].to_numpy(float),
        failed.to_numpy(bool),
        "maximize",
        {str(n): v for n, v in settings.iloc[0].to_dict().items()},
        noise,
        counters=counters[moved].fillna(0.0),
    )


def _named(frame: pd.DataFrame, start: str) -> pd.DataFrame:
    """The columns that begin so, without that beginning."""
    return frame[[c for c in frame if str(c).startswith(start)]].rename(columns=lambda c: c[len(start) :])


def parted(table: Table, half: int) -> Table:
    """Every second row, from the first (0) or the second (1) on: the same workload, measured twice."""
    rows = np.arange(half, len(table.values), 2)
    counters = None if table.counters is None else table.counters.iloc[rows].reset_index(drop=True)
    settings = table.settings.iloc[rows].reset_index(drop=True)
    values, failed = table.values[rows], table.failed[rows]
    return replace(table, settings=settings, values=values, failed=failed, counters=counters)


def scrambled(table: Table, seed: int = 1) -> Table:
    """What was measured, dealt out among the configurations at random: nothing is left to learn from it."""
    order = np.random.default_rng(seed).permutation(len(table.values))
    counters = None if table.counters is None else table.counters.iloc[order].reset_index(drop=True)
    return replace(table, values=table.values[order], failed=table.failed[order], counters=counters)

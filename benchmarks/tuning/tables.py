"""The measured tables, read into one shape: rows are configurations that somebody measured.

Shapes: n rows, c columns of settings.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from lutra_models.metrics import Goal

DATA = Path(__file__).parent / "data"


@dataclass(frozen=True, eq=False)
class Table:
    """`settings` (n, c), what was measured (n,), and which rows failed (n,): their values are never read.

    `noise` is one reading's relative standard deviation. `most_knobs` keeps the most telling settings only.
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

    def __post_init__(self) -> None:
        lengths = {len(self.settings), len(self.values), len(self.failed)}
        if len(lengths) > 1:
            raise ValueError(f"{self.name}: settings, values and failures differ in length: {sorted(lengths)}")


def read(path: Path) -> pd.DataFrame:
    """A table without the row numbers that some were saved with."""
    frame = pd.read_csv(path)
    return frame[[c for c in frame if not c.startswith("Unnamed")]].rename(columns=str.strip)


def sysbench() -> Table:
    """MySQL 5.7 under SYSBENCH, 20 knobs; options are codes in the table, hence the three defaults in its spelling."""
    frame = read(DATA / "pku" / "SYSBENCH_20knob.csv.gz")
    knobs = json.loads((DATA / "pku" / "mysql57_knobs_197.json").read_text())
    default = {n: k["default"] for n, k in knobs.items()}
    default |= {"innodb_doublewrite": "0", "log_output": "0", "general_log": "0"}
    nothing_failed = np.zeros(len(frame), dtype=bool)
    return Table(
        "sysbench20", frame.drop(columns="tps"), frame["tps"].to_numpy(float), nothing_failed, "maximize", default, 0.03
    )


def tuna(name: str, workload: str, goal: Goal, failed_from: float = 1e6) -> Table:
    """PostgreSQL 16: a configuration's value is the median over its machines; it failed where most machines failed."""
    folder = DATA / "tuna"
    configs = read(folder / f"azure__postgres__{workload}.configs.csv.gz")
    runs = read(folder / f"azure__postgres__{workload}.measurements.csv.gz")
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


def history(name: str) -> pd.DataFrame:
    """One of the tuning histories: `k.` settings, `m.` counters, `tps`, and whether the trial failed."""
    (path,) = (DATA / "opadviser").glob(f"{name}*.csv.gz")
    frame = read(path)
    failed = (frame["trial_state"] != 0) | (frame["tps"] <= 0)
    return pd.concat([frame, failed.rename("failed")], axis=1)


def settings_of(frame: pd.DataFrame) -> list[str]:
    return [c for c in frame if c.startswith("k.")]


def counters_of(frame: pd.DataFrame) -> list[str]:
    """The counters that ever moved."""
    return [c for c in frame if c.startswith("m.") and frame[c].nunique() > 1]


def from_history(name: str, noise: float) -> Table:
    """A history as a table; trial 0 is the default."""
    frame = history(name)
    default = frame[frame["iter"] == 0].iloc[0]
    knobs = settings_of(frame)
    return Table(
        name,
        frame[knobs].rename(columns=_bare),
        frame["tps"].to_numpy(float),
        frame["failed"].to_numpy(bool),
        "maximize",
        {_bare(k): default[k] for k in knobs},
        noise,
    )


def _bare(column: str) -> str:
    return column[2:]

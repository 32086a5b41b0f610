"""What was measured, as histories: of the fleet's workloads, or of a table of one's own."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from lutra_client import Client
from lutra_client.schemas import WorkloadAnswer
from lutra_models.history import History, Observation
from lutra_models.knobs import Choice, Domain, Knob, KnobSpace, Number
from lutra_models.metrics import Goal, Objective
from lutra_models.scores import LEAST_TRIALS

from lutra_notebooks.fleet import labels

DECADES = 100.0
"""A column whose greatest value is so many times its least one is searched on a logarithm."""
APART = (-1, 0)
"""Where the others are on a logarithm, these stand for something else: off, or automatic."""


def histories(client: Client, found: Sequence[WorkloadAnswer], most: int = 12) -> dict[str, History]:
    """By name what was measured of up to `most` workloads with at least 6 readings of their objective: the newest
    sessions, and imported tables. Where there are many of both, half are tables."""
    names = labels(found)
    enough = [w for w in found if w["observations"] >= LEAST_TRIALS]
    tables = [w for w in enough if w["session"] is None]
    sessions = [w for w in enough if w["session"] is not None]
    kept = tables[: max(most // 2, most - len(sessions))]
    told = {names[w["id"]]: client.history(w["id"]) for w in [*sessions[: most - len(kept)], *kept]}
    return {
        name: history for name, history in told.items() if len(history.values(history.objective.metric)) >= LEAST_TRIALS
    }


def thinned(history: History, most: int) -> History:
    """Up to so many of the trials, evenly in their order."""
    rows = history.observations
    kept = np.unique(np.linspace(0, len(rows) - 1, min(most, len(rows))).round().astype(int))
    return replace(history, observations=tuple(rows[i] for i in kept), pending=())


def shuffled(history: History, seed: int = 0) -> History:
    """The trials in random order: an imported table may be sorted by what was measured."""
    order = np.random.default_rng(seed).permutation(len(history.observations))
    return replace(history, observations=tuple(history.observations[i] for i in order), pending=())


def of_csv(file: str | Path, metric: str, goal: Goal, ignore: Collection[str] = ()) -> History:
    """A table of your own: a row a trial, a column a setting, and the column `metric`, which is to become better.

    A row without a reading is a failure. Numbers range over what the table holds, on a logarithm where that is over two
    decades, where -1 and 0 stand apart; texts are options. Columns that never move are left
    out. Raises ValueError for a table without that column, without readings, or without a setting that moves, and for
    one with gaps.
    """
    return of_frame(pd.read_csv(file), metric, goal, ignore)


def of_frame(table: pd.DataFrame, metric: str, goal: Goal, ignore: Collection[str] = ()) -> History:
    """The same of a data frame."""
    if metric not in table.columns:
        raise ValueError(f"there is no column {metric!r}; the columns are {', '.join(map(str, table.columns))}")
    readings = pd.to_numeric(table[metric], errors="coerce")
    settings = [c for c in table.columns if c != metric and c not in ignore and table[c].nunique() > 1]
    if not settings or readings.notna().sum() < LEAST_TRIALS:
        raise ValueError(
            f"{len(settings)} columns move and {metric} was read {readings.notna().sum()} times; wanted are a column "
            f"that moves and {LEAST_TRIALS} readings"
        )
    gaps = [str(c) for c in settings if table[c].isna().any()]
    if gaps:
        raise ValueError(f"{', '.join(gaps)}: a row holds no value; fill it, or name the column in `ignore`")
    knobs = [Knob(str(c), _domain(table[c])) for c in settings]
    rows = [
        _observation({k.name: _plain(v, k) for k, v in zip(knobs, values, strict=True)}, metric, read)
        for values, read in zip(table[settings].itertuples(index=False), readings, strict=True)
    ]
    return History(KnobSpace(knobs), Objective(metric, goal), observations=rows)


def _observation(configuration: dict[str, Any], metric: str, read: float) -> Observation:
    failed = not np.isfinite(read)
    return Observation.failed(configuration, "no_reading") if failed else Observation(configuration, {metric: read})


def _domain(column: pd.Series) -> Domain:
    if not pd.api.types.is_numeric_dtype(column) or pd.api.types.is_bool_dtype(column):
        return Choice(tuple(sorted(map(str, column.unique()))))
    apart = tuple(sorted({float(v) for v in column if v in APART}))
    rest = column[~column.isin(APART)]
    decades = len(rest) > 0 and 0 < rest.min() <= rest.max() / DECADES
    line, special = (rest, apart) if decades else (column, ())
    integer = bool((column == column.round()).all())
    return Number(float(line.min()), float(line.max()), log=bool(decades), integer=integer, special=special)


def _plain(value: Any, knob: Knob) -> Any:
    if isinstance(knob.domain, Choice):
        return str(value)
    return int(value) if knob.domain.integer else float(value)


def tried(history: History, names: Sequence[str]) -> pd.DataFrame:
    """A row a reading and setting: the setting's `value`, the `reading` of the objective, whether it `failed`, and
    its `place` in the order of measuring, from 1."""
    metric = history.objective.metric
    rows = [
        {"setting": name, "value": o.configuration[name], "place": place, **_read(o, metric)}
        for place, o in enumerate(history.observations, 1)
        for name in names
    ]
    return pd.DataFrame(rows, columns=["setting", "value", "place", "reading", "failed"])


def _read(observation: Observation, metric: str) -> dict[str, Any]:
    return {"reading": observation.metrics.get(metric, np.nan), "failed": not observation.completed}


def pairs(history: History, one: str, other: str) -> pd.DataFrame:
    """A row a reading: its values of two settings, in columns that are called like these."""
    read = history.values(history.objective.metric)
    return pd.DataFrame([{one: c[one], other: c[other]} for c, _ in read], columns=[one, other])

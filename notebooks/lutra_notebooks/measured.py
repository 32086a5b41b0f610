"""What was measured of the fleet's workloads, as histories, and tables of their readings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from lutra_client import Client
from lutra_client.schemas import WorkloadAnswer
from lutra_models.history import History, Observation
from lutra_models.scores import LEAST_TRIALS

from lutra_notebooks.fleet import labels


def histories(client: Client, found: Sequence[WorkloadAnswer], most: int = 12) -> dict[str, History]:
    """By name what was measured of up to `most` workloads with at least 6 readings of their objective: the newest
    sessions, and imported tables, their rows in random order. Where there are many of both, half are tables."""
    names = labels(found)
    enough = [w for w in found if w["observations"] >= LEAST_TRIALS]
    tables = [w for w in enough if w["session"] is None]
    sessions = [w for w in enough if w["session"] is not None]
    kept = tables[: max(most // 2, most - len(sessions))]
    told = {names[w["id"]]: client.history(w["id"]) for w in sessions[: most - len(kept)]}
    told |= {names[w["id"]]: shuffled(client.history(w["id"])) for w in kept}
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

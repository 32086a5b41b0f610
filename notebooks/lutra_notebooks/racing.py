"""Options against each other on what was measured before: forecasts of held-out trials, and a race over the rows of a
session or of a public table.

Shapes: m candidates.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import islice
from statistics import NormalDist, fmean

import numpy as np
import pandas as pd
from lutra_client import Client
from lutra_client.schemas import ModelAnswer
from lutra_models.gp import Options, fit
from lutra_models.gp.documents import read
from lutra_models.gp.scoring import score_session
from lutra_models.gp.search.acquisition import acquisition
from lutra_models.history import History, Observation
from lutra_models.knobs import Configuration
from lutra_models.scores import LEAST_TRIALS

OPENING = 4
"""Rows that a race begins with, the same for every entrant."""
Z = NormalDist().inv_cdf(0.95)
RANDOM = "at random"


def champion(client: Client) -> tuple[ModelAnswer, Options]:
    """The model version that serves, and its options."""
    found = next(m for m in client.list_models() if m["serves"])
    return found, read(client.get_model_options(found["id"]), "toml")


def past_sessions(client: Client, most: int = 40) -> dict[str, History]:
    """By name, the histories of sessions and imported tables with at least 6 measured trials, the newest of each
    database, up to `most`."""
    found: dict[str, History] = {}
    for database in client.list_databases():
        for session in islice(client.list_sessions(database["id"]), 3):
            if len(found) < most and database["name"] not in found and session["trials_done"] >= LEAST_TRIALS:
                history = client.history(session["id"])
                if len(history.completed) >= LEAST_TRIALS:
                    found[database["name"]] = history
    return found


def quick(options: Options) -> Options:
    """The same options, fitted by numpy in place of GPy: the same mode in a tenth of the time."""
    return options.varied(**{"surrogate.name": "numpy"}) if options.surrogate.name == "gpy" else options


def thinned(history: History, most: int) -> History:
    """Up to so many of the trials, evenly in their order."""
    rows = history.observations
    kept = np.unique(np.linspace(0, len(rows) - 1, min(most, len(rows))).round().astype(int))
    return replace(history, observations=tuple(rows[i] for i in kept), pending=())


def scores(histories: Mapping[str, History], entrants: Mapping[str, Options], trials: int = 30) -> pd.DataFrame:
    """A row a session and entrant: how good its forecasts of held-out trials were (`lutra_models.gp.scoring`, as the
    service's scorecard, each session alone): `held_90`, `width_90`, `log_score`, `error`, `rank_correlation`,
    `regret`."""
    rows = [
        {"session": name, "entrant": entrant, **score_session(thinned(history, trials), (), options)["served"]}
        for name, history in histories.items()
        for entrant, options in entrants.items()
    ]
    shown = ("n", "held_90", "width_90", "log_score", "error", "rank_correlation", "regret")
    return pd.DataFrame(rows, columns=["session", "entrant", *shown])


def race(history: History, entrants: Mapping[str, Options], trials: int = 12, seeds: int = 3) -> pd.DataFrame:
    """A row an entrant, seed and trial: by how many percent the best row found so far misses the best of all rows.

    Every entrant begins with the same 4 rows, is fitted to what it has seen, and picks the next row by its own
    acquisition; a pick is answered with what was measured. `at random` picks blindly.
    """
    table = _table(history)
    blind = {RANDOM: None}
    rows = [
        {"entrant": name, "seed": seed, "trial": trial, "missed": missed}
        for seed in range(seeds)
        for name, options in {**entrants, **blind}.items()
        for trial, missed in enumerate(_run(history, table, options, trials, seed), 1)
    ]
    return pd.DataFrame(rows, columns=["entrant", "seed", "trial", "missed"])


def _table(history: History) -> dict[Configuration, float]:
    """What each configuration gave of the objective, on average."""
    read: dict[Configuration, list[float]] = {}
    for configuration, value in history.values(history.objective.metric):
        read.setdefault(configuration, []).append(value)
    return {configuration: fmean(values) for configuration, values in read.items()}


def _run(
    history: History, table: Mapping[Configuration, float], options: Options | None, trials: int, seed: int
) -> list[float]:
    gain = history.objective.gain
    order = [list(table)[i] for i in np.random.default_rng(seed).permutation(len(table))]
    seen, left = order[:OPENING], order[OPENING:]
    while left and len(seen) < trials:
        pick = 0 if options is None else _picked(history, table, options, seen, left)
        seen.append(left.pop(pick))
    best = max(gain(v) for v in table.values())
    reached = np.maximum.accumulate([gain(table[c]) for c in seen])
    return [float(v) for v in 100 * (best - reached) / abs(best)]


def _picked(
    history: History,
    table: Mapping[Configuration, float],
    options: Options,
    seen: Sequence[Configuration],
    left: Sequence[Configuration],
) -> int:
    """Which of the rows that are left is worth most, by the prediction's median and interval and the acquisition."""
    metric = history.objective.metric
    rows = tuple(Observation(c, {metric: table[c]}) for c in seen)
    model = fit(replace(history, observations=rows, pending=()), rng=np.random.default_rng(0), options=options)
    told = model.columns(left)
    median, low, high = (told[f"{metric}.{end}"] for end in ("median", "low", "high"))
    positive = bool(np.all(low > 0)) and all(table[c] > 0 for c in seen)
    scaled = np.log if positive else np.asarray
    sign = history.objective.gain(1.0)
    mean, deviation = sign * scaled(median), np.maximum((scaled(high) - scaled(low)) / (2 * Z), 1e-9)
    best = max(sign * float(scaled(np.asarray(table[c]))) for c in seen)
    return int(np.argmax(acquisition(options.search.acquisition).score(mean, deviation, best)))

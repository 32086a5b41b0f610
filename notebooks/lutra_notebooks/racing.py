"""Options against each other on what was measured before: forecasts of held-out trials, and a race over the rows of a
session or of a public table.

Shapes: m candidates.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from statistics import NormalDist, fmean

import numpy as np
import pandas as pd
from lutra_client import Client
from lutra_client.schemas import ModelAnswer
from lutra_models.gp import Options, fit
from lutra_models.gp.documents import read
from lutra_models.gp.scoring import AFTER, score_session
from lutra_models.gp.search.acquisition import acquisition
from lutra_models.history import History, Observation
from lutra_models.knobs import Configuration
from lutra_models.scores import Comparison, compared
from lutra_models.scores.comparison import LEAST_TOLD, MOST_NEEDED
from lutra_models.student import quantile

from lutra_notebooks.measured import thinned
from lutra_notebooks.shares import wilson

OPENING = 4
"""Rows that a race begins with, the same for every entrant."""
Z = NormalDist().inv_cdf(0.95)
RANDOM = "at random"
MEASURES = {"log_score": 1.0, "regret": -1.0, "missed": -1.0}
"""What entrants are compared by, with the sign that makes more better."""


def champion(client: Client) -> tuple[ModelAnswer, Options]:
    """The model version that serves, and its options."""
    found = next(m for m in client.models.list() if m["serves"])
    return found, read(client.models.get_options(found["id"]), "toml")


def quick(options: Options) -> Options:
    """The same options, fitted by numpy in place of GPy: the same mode in a tenth of the time."""
    return options.using(surrogate="numpy") if options.surrogate.name == "gpy" else options


def scores(histories: Mapping[str, History], entrants: Mapping[str, Options], trials: int = 30) -> pd.DataFrame:
    """A row a session and entrant: how good its forecasts of held-out trials were (`lutra_models.gp.scoring`, as the
    service's scorecard, each session alone): `held_90`, `width_90`, `log_score`, `error`, `rank_correlation`,
    `regret`, and how many trials were `predicted`, each several times."""
    short = {name: thinned(history, trials) for name, history in histories.items()}
    rows = [
        {
            "session": name,
            "entrant": entrant,
            "predicted": sum(bool(o.metrics) for o in history.observations[AFTER[0] :]),
            **score_session(history, (), options)["served"],
        }
        for name, history in short.items()
        for entrant, options in entrants.items()
    ]
    shown = ("predicted", "held_90", "width_90", "log_score", "error", "rank_correlation", "regret")
    return pd.DataFrame(rows, columns=["session", "entrant", *shown])


def held(table: pd.DataFrame) -> pd.DataFrame:
    """A row an entrant: the share of readings inside its 90 % intervals (`held`), with the 90 % interval of that share
    (`low`, `high`), out of `n` trials. A trial counts once: forecasts of one trial, and of several metrics of it, hold
    or fail together."""
    rows = []
    for entrant, group in table.dropna(subset=["held_90"]).groupby("entrant", sort=False):
        n = int(group.predicted.sum())
        share = float((group.held_90 * group.predicted).sum()) / n
        low, high = wilson(share * n, n)
        rows.append({"entrant": entrant, "n": n, "held": share, "low": low, "high": high, "level": 0.9})
    return pd.DataFrame(rows, columns=["entrant", "n", "held", "low", "high", "level"])


def differences(table: pd.DataFrame, first: str, by: str = "session") -> pd.DataFrame:
    """A row a measure, entrant and session: by how much the entrant is better than the entrant `first`
    (`difference`; above 0 is better, whichever way the measure goes)."""
    rows = []
    for measure, sign in MEASURES.items():
        if measure not in table.columns:
            continue
        wide = table.pivot_table(index=by, columns="entrant", values=measure, aggfunc="mean", sort=False)
        for entrant in (e for e in dict.fromkeys(table.entrant) if e != first and {e, first} <= set(wide.columns)):
            told = (sign * (wide[entrant] - wide[first])).dropna()
            rows += [{"measure": measure, "entrant": entrant, "session": s, "difference": d} for s, d in told.items()]
    return pd.DataFrame(rows, columns=["measure", "entrant", "session", "difference"])


def judged(found: pd.DataFrame, one: str = "session") -> pd.DataFrame:
    """A row a measure and entrant of `differences`: their `mean`, its interval (`low`, `high`; as a promotion is
    judged, `lutra_models.scores.compared`), the `verdict`, and what it needs (`told`). `one` is what people call that
    which gives one difference."""
    rows = []
    for (measure, entrant), group in found.groupby(["measure", "entrant"], sort=False):
        told = compared(group.difference.tolist())
        low, high = (np.nan if end is None else end for end in (told.low, told.high))
        ends = {"mean": told.mean, "low": low, "high": high, f"{one}s": told.sessions}
        rows.append({"measure": measure, "entrant": entrant, **ends, "verdict": told.verdict, "told": _told(told, one)})
    columns = ["measure", "entrant", "mean", "low", "high", f"{one}s", "verdict", "told"]
    return pd.DataFrame(rows, columns=columns)


def _told(found: Comparison, one: str) -> str:
    if found.verdict != "undecided":
        return found.verdict
    if found.needed is not None:
        return f"undecided: needs some {found.needed} more {one}s to decide"
    if found.sessions < LEAST_TOLD:
        return f"undecided: with {LEAST_TOLD} {one}s, this says how many more are needed"
    return f"undecided: {MOST_NEEDED:,} more {one}s might not be enough"


def race(history: History, entrants: Mapping[str, Options], trials: int = 12, seeds: int = 6) -> pd.DataFrame:
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


def race_differences(races: Mapping[str, pd.DataFrame], first: str) -> pd.DataFrame:
    """`differences` of each race by itself, whose name is the `measure`: of what each start `missed` on average after
    the rows that all entrants began with. Starts from one table resemble each other, so races are not pooled."""
    frames = [differences(t[t.trial > OPENING], first, by="seed").assign(measure=name) for name, t in races.items()]
    return pd.concat(frames, ignore_index=True) if frames else differences(pd.DataFrame(), first)


def lines(table: pd.DataFrame) -> pd.DataFrame:
    """A row an entrant and trial of a race: the mean over the seeds (`missed`), and its 90 % interval (Student's)."""
    grouped = table.groupby(["entrant", "trial"], sort=False).missed
    told = grouped.agg(missed="mean", deviation="std", n="size").reset_index()
    wide = np.array([quantile(0.05, max(n - 1, 1)) for n in told.n])
    half = wide * told.deviation.fillna(0.0) / np.sqrt(told.n)
    return told.assign(low=(told.missed - half).clip(lower=0.0), high=told.missed + half)


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
    told = model.predict(pd.DataFrame(left))
    median, low, high = (told[f"{metric}.{end}"] for end in ("median", "low", "high"))
    positive = bool(np.all(low > 0)) and all(table[c] > 0 for c in seen)
    scaled = np.log if positive else np.asarray
    sign = history.objective.gain(1.0)
    mean, deviation = sign * scaled(median), np.maximum((scaled(high) - scaled(low)) / (2 * Z), 1e-9)
    best = max(sign * float(scaled(np.asarray(table[c]))) for c in seen)
    return int(np.argmax(acquisition(options.search.acquisition).score(mean, deviation, best)))

"""The score of options on a past session: fitted to its first trials, and asked about the later ones.

The model does not know any of the readings that it is asked about. The session is one workload; the others from which
it may learn are fitted with the same options.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from statistics import fmean
from typing import Any

import numpy as np

from lutra_models.errors import FitFailed
from lutra_models.gp.model import Model
from lutra_models.gp.options import Options
from lutra_models.gp.recommender import fit
from lutra_models.gp.transfer.contexts import split
from lutra_models.history import History, Observation
from lutra_models.knobs import Configuration
from lutra_models.scores import Forecast, rank_correlation, tally

LEVELS = (0.8, 0.9)
AFTER = (3, 6, 10, 16, 24)
"""Trials after which a model is fitted."""
LEAST_LEFT = 3
"""The least number of trials that are left to predict for such a fit."""


def score_session(history: History, others: Sequence[History], options: Options) -> dict[str, Any]:
    """What `options` would have predicted: `served` with the others as past workloads, and `alone` without, if any.

    Each has the means of `scores.tally` over all metrics and trials left. For the objective it also has the
    `rank_correlation` of predictions with readings, and the `regret`: the share by which the best of the trials left is
    better than the model's choice.
    """
    alone = _replayed(history, (), options)
    return {"served": _replayed(history, others, options) if others else alone, "alone": alone if others else None}


def _replayed(history: History, others: Sequence[History], options: Options) -> dict[str, Any]:
    own, _ = split(history)
    forecasts: list[Forecast] = []
    ranked: list[float | None] = []
    regrets: list[float | None] = []
    for known, left in _cuts(own):
        model = fit(known, others, rng=np.random.default_rng(0), options=options)
        if not model.predicts:
            continue
        found = _predictions_of(model, left)
        forecasts += [f for metric in found.values() for f in metric]
        objective = found.get(history.objective.metric, [])
        ranked.append(rank_correlation([f.median for f in objective], [f.measured for f in objective]))
        regrets.append(_regret(history, model, left))
    return {**_sane(tally(forecasts)), "rank_correlation": _mean(ranked), "regret": _mean(regrets)}


def _cuts(history: History) -> list[tuple[History, tuple[Observation, ...]]]:
    """The session as it was after some of its trials, and the completed ones that came then."""
    rows, found = history.observations, []
    for count in AFTER:
        left = tuple(o for o in rows[count:] if o.metrics)
        if len(left) >= LEAST_LEFT:
            found.append((replace(history, observations=rows[:count], pending=()), left))
    return found


def _predictions_of(model: Model, left: Sequence[Observation]) -> dict[str, list[Forecast]]:
    """By metric."""
    rows = [o.configuration for o in left]
    told = {level: model.predict(rows, level) for level in LEVELS}
    found: dict[str, list[Forecast]] = {}
    for i, observation in enumerate(left):
        for metric, first in told[LEVELS[0]][i].items():
            if metric in observation.metrics:
                ends = {level: (p[i][metric].low, p[i][metric].high) for level, p in told.items()}
                found.setdefault(metric, []).append(Forecast(first.median, ends, observation.metrics[metric]))
    return found


def _regret(history: History, model: Model, left: Sequence[Observation]) -> float | None:
    """Of the trials left, each configuration once, at the mean of its readings."""
    metric, gain = history.objective.metric, history.objective.gain
    readings: dict[Configuration, list[float]] = {}
    for o in left:
        if metric in o.metrics:
            readings.setdefault(o.configuration, []).append(o.metrics[metric])
    measured = {c: gain(fmean(values)) for c, values in readings.items()}
    if len(measured) < LEAST_LEFT:
        return None
    told = model.predict(list(measured))
    picked = max(zip(measured, told, strict=True), key=lambda pair: gain(pair[1][metric].median))[0]
    best = max(measured.values())
    return (best - measured[picked]) / max(abs(best), 1e-300)


def _mean(values: Sequence[float | None]) -> float | None:
    known = [v for v in values if v is not None]
    return fmean(known) if known else None


def _sane(told: Mapping[str, Any]) -> dict[str, Any]:
    """Raises FitFailed if a model predicted what is no number."""
    strange = [name for name, value in told.items() if value is not None and not np.isfinite(value)]
    if strange:
        raise FitFailed(f"predictions that are not numbers: {', '.join(strange)}")
    return dict(told)

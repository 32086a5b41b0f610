"""A live history with its readings moved to the current load of its clients: the load is a covariate of p99.

The logarithm of a reading is a level of its configuration plus a curve of the offered rate (see `load_curve`). The
curve's slopes are zero by their prior, so that few windows at nearly one load give no slope. A configuration that was
read at one load only takes no part in the slopes: its level takes all of it up. Shapes: n readings, c configurations, q
columns of the curve.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from statistics import median

import numpy as np

from lutra_models.gp.fitted.offered import OfferedLoad
from lutra_models.gp.space.encoding import Array
from lutra_models.gp.surrogate.dataset import targets
from lutra_models.history import History, Observation
from lutra_models.load_curve import Curve
from lutra_models.metrics import QPS, TPS

NOW = 3
"""The number of the newest windows whose median rate is the current load."""
SLOPES = 2.0
"""The prior's deviation of each slope: p99 grows about as the load, and faster where a server is full."""
LEVELS = 10.0
"""The same of a configuration's level around the mean, in logarithms: hardly any."""
NOISE = 0.05
"""The least deviation of a reading."""
TAILS = 4.0
"""Degrees of freedom of the noise: rare windows are far off."""
ROUNDS = 3
RATES = (QPS.name, TPS.name)


def offered_loads(history: History) -> dict[str, OfferedLoad]:
    """By target the curve of a live database's history; none in a lab, where the rate is what settings give."""
    if history.evidence is None:
        return {}
    rate_of = next((n for n in RATES if all(o.metrics.get(n, 0.0) > 0 for o in history.completed)), None)
    wanted = [m for m in targets(history) if m not in RATES]
    found = {m: _curve(history, m, rate_of) for m in wanted} if rate_of is not None else {}
    return {metric: load for metric, load in found.items() if load is not None}


def at_load_of_now(history: History) -> tuple[History, dict[str, OfferedLoad]]:
    """The history with its targets' readings moved to the current load, and the curves used for that."""
    loads = offered_loads(history)
    return at_load(history, loads), loads


def at_load(history: History, loads: Mapping[str, OfferedLoad]) -> History:
    """The history with each target's readings moved to the current load."""
    return replace(history, observations=tuple(_brought(o, loads) for o in history.observations)) if loads else history


def _brought(one: Observation, loads: Mapping[str, OfferedLoad]) -> Observation:
    brought = {
        metric: one.metrics[metric] * float(np.exp(load.shift(one.metrics[load.rate_of], load.here)[0]))
        for metric, load in loads.items()
        if metric in one.metrics
    }
    return replace(one, metrics={**one.metrics, **brought}) if brought else one


def _curve(history: History, metric: str, rate_of: str) -> OfferedLoad | None:
    """None if the readings are no positive numbers, or the rates hardly differ."""
    read = [o for o in history.completed if metric in o.metrics]
    rates = [o.metrics[rate_of] for o in read]
    curve = Curve.over(rates)
    if not curve.line or any(o.metrics[metric] <= 0 for o in read):
        return None
    places = {c: i for i, c in enumerate(dict.fromkeys(o.configuration for o in read))}
    levels = np.zeros((len(read), len(places)))
    levels[np.arange(len(read)), [places[o.configuration] for o in read]] = 1.0
    columns = np.array([curve.row(rate) for rate in rates])
    y = np.log([o.metrics[metric] for o in read])
    slopes, covariance = _slopes(np.hstack([levels, columns]), y - y.mean(), len(places))
    here = median(rates[-NOW:])
    return OfferedLoad(rate_of, curve, slopes, covariance, here, min(rates), max(rates))


def _slopes(x: Array, y: Array, levels: int) -> tuple[Array, Array]:
    """(q,) the posterior mean of the last columns' coefficients and (q, q) its covariance, under Student's noise."""
    prior = np.diag([LEVELS**-2] * levels + [SLOPES**-2] * (x.shape[1] - levels))
    weights, variance = np.ones(len(y)), max(float(np.var(y)), NOISE**2)
    mean, covariance = np.zeros(x.shape[1]), np.asarray(np.linalg.inv(prior))
    for _ in range(ROUNDS):
        covariance = np.asarray(np.linalg.inv((x.T * weights) @ x / variance + prior))
        mean = covariance @ (x.T @ (weights * y)) / variance
        squares = (y - x @ mean) ** 2
        freedom = max(len(y) - x.shape[1], 1)
        variance = max(float(np.sum(weights * squares)) / freedom, NOISE**2)
        weights = (TAILS + 1) / (TAILS + squares / variance)
    return mean[levels:], covariance[levels:, levels:]

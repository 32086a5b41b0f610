"""A history whose readings are as the server would give them now; see `surrogate.drift`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from lutra_models.gp.options import Options
from lutra_models.gp.space.encoding import Encoding
from lutra_models.gp.surrogate.dataset import direction, targets
from lutra_models.gp.surrogate.drift import Drift, drift
from lutra_models.history import History, Observation


def drifts(history: History, encoding: Encoding, options: Options) -> dict[str, Drift]:
    """The drift of each target, by its name."""
    return {m: drift(history.values(m), encoding, direction(history, m), options) for m in targets(history)}


def levelled(history: History, found: Mapping[str, Drift]) -> History:
    """The history with each target's readings, and bounds among them, brought to the level of the newest ones."""
    changed = {metric: one for metric, one in found.items() if one.changes}
    if not changed:
        return history
    observations = list(history.observations)
    for metric, one in changed.items():
        places = [i for i, o in enumerate(observations) if metric in o.metrics]
        now = one.now(np.array([observations[i].metrics[metric] for i in places]))
        for i, value in zip(places, now, strict=True):
            observations[i] = _with(observations[i], metric, float(value))
        for i, o in enumerate(observations):
            if metric in o.bounds:
                between = np.array([sum(place < i for place in places) - 0.5])
                bound = float(one.now_at(np.array([o.bounds[metric]]), between)[0])
                observations[i] = replace(o, bounds={**o.bounds, metric: bound})
    return replace(history, observations=tuple(observations))


def _with(observation: Observation, metric: str, value: float) -> Observation:
    return replace(observation, metrics={**observation.metrics, metric: value})

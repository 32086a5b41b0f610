"""First configurations: the current one, the starts (a rule-based one), then points that fill the space.

Shapes: m candidates, k knobs.

A space-filling point is the candidate of a scrambled Sobol sequence that lies farthest from everything tried, so that
it depends on the history alone and not on a position in a sequence. Half of them fill logarithmic axes evenly in the
value: where a setting spans decades, its larger values are as likely to matter as its smaller ones.
"""

from __future__ import annotations

import numpy as np
from scipy.stats import qmc

from lutra_models.advice import SearchOrigin
from lutra_models.gp.space.encoding import Array, Encoding
from lutra_models.history import History
from lutra_models.knobs import Configuration, Number


def opening(history: History, with_starts: bool = True) -> tuple[SearchOrigin, Configuration] | None:
    """The first of current and starts that was neither tried nor proposed, with its origin; None if there is none."""
    tried = {o.configuration for o in history.observations} | set(history.pending)
    named: list[tuple[SearchOrigin, Configuration]] = [("current", history.current)] if history.current else []
    named += [("rule_based", start) for start in history.warm_starts if with_starts or not named]
    for i, (origin, configuration) in enumerate(named):
        if configuration and configuration not in tried and (i == 0 or legal(history, configuration)):
            return origin, configuration
    return None


def legal(history: History, configuration: Configuration) -> bool:
    """Inside every domain, under the current covariates, and allowed by the rules."""
    held = history.held
    if any(configuration[n] != value for n, value in held.items()):
        return False
    inside = all(configuration[k.name] in k.domain for k in history.space if k.name not in held)
    return inside and history.space.refusal(configuration) is None


def middle(history: History) -> Configuration:
    """Each number's middle (on its own scale), each choice's first option."""
    encoding = Encoding(history.space.knobs)
    codes = np.array([0.5 if isinstance(k.domain, Number) else 0.0 for k in history.space])
    return history.standing(encoding.decode(codes))


def candidates(encoding: Encoding, trials: int, rng: np.random.Generator, m: int) -> Array:
    """(m, k) codes that fill the space; every second of the `trials` evenly in the value on logarithmic axes."""
    unit = qmc.Sobol(len(encoding.knobs), scramble=True, rng=rng).random(m)
    return encoding.cube(unit, linear=np.full(m, trials % 2 == 1))


def spread(encoding: Encoding, codes: Array, tried: Array) -> Array:
    """(m,) squared distance of codes (m, k) from the nearest of the features (n, d) of what was tried."""
    x = encoding.features(codes)
    return np.asarray(np.min(np.sum((x[:, None, :] - tried[None, :, :]) ** 2, axis=2), axis=1))

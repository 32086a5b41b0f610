"""Does a configuration run at all? A Gaussian process over runs (+1) and failures (-1), after Gelbart et al., UAI 2014.

The targets of a failed configuration are not invented.
"""

from __future__ import annotations

import numpy as np
from scipy.special import log_ndtr

from lutra_models.gp.options import Surrogates
from lutra_models.gp.space.encoding import Array, Encoding
from lutra_models.gp.surrogate.base import Surrogate
from lutra_models.gp.surrogate.dataset import Readings
from lutra_models.gp.surrogate.posterior import GaussianProcess
from lutra_models.gp.surrogate.transforms import Transform
from lutra_models.history import History
from lutra_models.knobs import Configuration

_PLAIN = Transform(log=False, shift=0.0, scale=1.0)


def runs(history: History) -> dict[Configuration, float]:
    """Configuration → share of its trials that ran."""
    trials: dict[Configuration, list[bool]] = {}
    for o in history.observations:
        trials.setdefault(o.configuration, []).append(o.completed)
    return {c: float(np.mean(ran)) for c, ran in trials.items()}


def fit_feasibility(
    history: History, encoding: Encoding, surrogate: Surrogate, options: Surrogates
) -> GaussianProcess | None:
    """The posterior of running, None if nothing ever failed."""
    shares = runs(history)
    if min(shares.values(), default=1.0) >= 1.0:
        return None
    z = 2.0 * np.array(list(shares.values())) - 1.0
    none = np.zeros(0)
    x, ones = encoding.encode(list(shares)), np.ones(len(z))
    labels = Readings(x, z, ones, 0.0, 0, _PLAIN, options.boundary_noise, np.zeros((len(z), 0)), none, none)
    return surrogate.fit(labels, options.broad, options)


def log_probability_of_running(gp: GaussianProcess | None, x: Array, blur: float) -> Array:
    """(m,) log probabilities at (m, d) features; `blur` is the variance of the boundary, in label units."""
    if gp is None:
        return np.zeros(len(x))
    mean, variance = gp.latent(x)
    return np.asarray(log_ndtr(mean / np.sqrt(variance + blur)))

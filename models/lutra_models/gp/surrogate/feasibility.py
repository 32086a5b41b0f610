"""Does a configuration run at all? A Gaussian process over runs (+1) and failures (-1), after Gelbart et al., UAI 2014.

Nothing is invented for the targets of a configuration that failed.
"""

from __future__ import annotations

import numpy as np
from scipy.special import log_ndtr

from lutra_models.gp.space.encoding import Array, Encoding
from lutra_models.gp.surrogate.dataset import Readings
from lutra_models.gp.surrogate.gpy_fit import fit_gp
from lutra_models.gp.surrogate.posterior import GaussianProcess
from lutra_models.gp.surrogate.transforms import Transform
from lutra_models.history import History
from lutra_models.knobs import Configuration

_BLUR = 0.1
"""How far from certain a configuration is that lies exactly on others: variance of the boundary, in label units."""
_PLAIN = Transform(log=False, shift=0.0, scale=1.0)


def runs(history: History) -> dict[Configuration, float]:
    """Configuration → share of its trials that ran."""
    trials: dict[Configuration, list[bool]] = {}
    for o in history.observations:
        trials.setdefault(o.configuration, []).append(o.completed)
    return {c: float(np.mean(ran)) for c, ran in trials.items()}


def fit_feasibility(history: History, encoding: Encoding) -> GaussianProcess | None:
    """The posterior of running, None where nothing ever failed."""
    shares = runs(history)
    if min(shares.values(), default=1.0) >= 1.0:
        return None
    z = 2.0 * np.array(list(shares.values())) - 1.0
    none = np.zeros(0)
    x, ones = encoding.encode(list(shares)), np.ones(len(z))
    return fit_gp(Readings(x, z, ones, 0.0, 0, _PLAIN, 0.2, np.zeros((len(z), 0)), none, none))


def log_probability_of_running(gp: GaussianProcess | None, x: Array) -> Array:
    """(m,) log probabilities at (m, d) features."""
    if gp is None:
        return np.zeros(len(x))
    mean, variance = gp.latent(x)
    return np.asarray(log_ndtr(mean / np.sqrt(variance + _BLUR)))

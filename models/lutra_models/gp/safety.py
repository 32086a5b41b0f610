"""Safe recommendations: only what is held to be no worse than the current configuration, growing outwards from it.

After SafeOpt (Sui et al., ICML 2015) and OnlineTune (Zhang et al., SIGMOD 2022): a configuration is safe where the wary
posterior gives it the stated probability of staying within the tolerance of the current configuration, of running, and
of keeping the limits. The posterior is sure only near what was measured, so the safe region grows with the evidence; a
choice never tried is a long way off, a small step of a number is not.
Shapes: m candidates, k knobs.
"""

from __future__ import annotations

import numpy as np

from lutra_models.gp import acquisition
from lutra_models.gp.encoding import Array
from lutra_models.gp.learned import Learned

PROBABILITY = 0.95
TOLERANCE = 0.05
"""How much worse than the current configuration still counts as no worse, relatively: the width of the noise."""
LESSON = 0.75
"""By how much each bad surprise widens what is believed possible."""
_BAD = 0.1


def shortfall(learned: Learned, codes: Array) -> Array:
    """(m,) 0 where codes (m, k) are safe, else by how much their log probability of being safe falls short (< 0)."""
    history, gp = learned.history, learned.wary
    reference = history.current or history.observations[0].configuration
    floor, _ = gp.latent(learned.wary_inputs(learned.encoding.codes([reference])))
    slack = TOLERANCE / gp.transform.scale if gp.transform.log else 0.1
    mean, variance = gp.latent(learned.wary_inputs(codes))
    bound = float(learned.sign * floor[0]) - slack
    doubt = gp.spread.worse * (1.0 + LESSON * surprises(learned))
    sure = acquisition.log_probability_above(learned.sign * mean, doubt * np.sqrt(variance), bound)
    sure = sure + learned.log_running(codes) + learned.log_limits(codes)
    return np.asarray(np.minimum(sure - np.log(PROBABILITY), 0.0))


def surprises(learned: Learned) -> int:
    """Trials that failed, or measured the objective clearly worse than the current configuration."""
    history = learned.history
    metric, gain = history.objective.metric, history.objective.gain
    usual = [o.metrics[metric] for o in history.completed if o.configuration == history.current and metric in o.metrics]
    failed = sum(not o.completed for o in history.observations)
    if not usual:
        return failed
    level = float(np.mean(usual))
    worst = gain(level) - _BAD * abs(level)
    return failed + sum(gain(value) < worst for _, value in history.values(metric))

"""Safe recommendations: only configurations that are probably no worse than the current one, growing outwards from it.

After SafeOpt (Sui et al., ICML 2015) and OnlineTune (Zhang et al., SIGMOD 2022): a configuration is safe if the
conservative posterior gives it the stated probability. It has to run, to keep the limits, and to stay within the
tolerance of the current configuration. The posterior is sure only near what was measured, so the safe region grows with
the evidence; a choice never tried is far from it, a small step of a number is near. Shapes: m candidates, k knobs.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from lutra_models.gp.learning.learned import Learned
from lutra_models.gp.space.encoding import SPECIAL, Array
from lutra_models.gp.surrogate.calibration import stretch
from lutra_models.gp.surrogate.dataset import Grouped
from lutra_models.gp.surrogate.feasibility import runs
from lutra_models.gp.surrogate.probability import log_probability_above
from lutra_models.history import History
from lutra_models.knobs import Choice, Configuration, Knob


def shortfall(learned: Learned, codes: Array) -> Array:
    """(m,) 0 if codes (m, k) are safe, else by how much their log probability of being safe falls short (< 0)."""
    history, gp, options = learned.history, learned.wary, learned.options.safety
    reference = history.current or history.observations[0].configuration
    slack = options.tolerance / gp.transform.scale if gp.transform.log else 0.1
    mean, variance = gp.against(learned.wary_inputs(codes), learned.wary_inputs(learned.encoding.codes([reference])))
    doubt = stretch(history, learned.options.calibration)[0]
    doubt *= 1.0 + options.lesson * len(surprises(history, options.bad))
    sure = log_probability_above(learned.sign * mean, doubt * np.sqrt(variance), -slack)
    sure = sure + learned.log_running(codes) + learned.log_limits(codes)
    return np.asarray(np.minimum(sure - np.log(options.probability), 0.0))


def surprises(history: History, bad: float) -> list[Configuration]:
    """Configurations that failed, or are worse than the current one, relatively by more than `bad`.

    A configuration measured before the current one does not count as a surprise only because it was overtaken: it is
    compared with the first one measured. A configuration's reading is the mean of its readings; without any, it is the
    bound of a window that was ended early.
    """
    metric, gain = history.objective.metric, history.objective.gain
    groups = Grouped.of(history.values(metric))
    read = {c: float(np.mean(r)) for c, r in zip(groups.configurations, groups.readings, strict=True)}
    levels = dict(history.bounds(metric)) | read
    failed = {o.configuration for o in history.observations if not o.completed}

    def worst(usual: float | None) -> float:
        return -np.inf if usual is None else gain(usual) - bad * abs(usual)

    now = worst(read.get(history.current) if history.current else None)
    begin = worst(next(iter(read.values()), None))
    found, later = [], history.current not in read
    for configuration in runs(history):
        later = later or configuration == history.current
        level = levels.get(configuration)
        if configuration in failed or (level is not None and gain(level) < (now if later else begin)):
            found.append(configuration)
    return found


def heedless(learned: Learned, codes: Array, moved: npt.NDArray[np.intp]) -> npt.NDArray[np.bool_]:
    """(m,) whether a move of the knobs `moved` (m,) to codes (m, k) repeats one that ended in a surprise.

    A surprise is attributed to its differences from the nearest configuration without one: that option is not tried
    again, nor a number that far in the same direction.
    """
    bad = surprises(learned.history, learned.options.safety.bad)
    good = [c for c in runs(learned.history) if c not in bad]
    out = np.zeros(len(codes), dtype=bool)
    if not bad or not good:
        return out
    sound = learned.encoding.codes(good)
    for fallen in learned.encoding.codes(bad):
        origin = sound[np.argmin(np.sum(sound != fallen, axis=1))]
        blamed = np.flatnonzero(origin != fallen)
        if len(blamed) <= learned.options.safety.telling_knobs:
            for j in blamed:
                out |= (moved == j) & _as_far(codes[:, j], origin[j], fallen[j], learned.encoding.knobs[j])
    return out


def _as_far(codes: Array, origin: float, fallen: float, knob: Knob) -> npt.NDArray[np.bool_]:
    """(m,) which codes of one knob are the fallen one, or at least half as far from the origin on the same side."""
    if isinstance(knob.domain, Choice) or max(origin, fallen) >= SPECIAL:
        return np.asarray(codes == fallen)
    return np.asarray((codes < SPECIAL) & ((codes - origin) * np.sign(fallen - origin) >= 0.5 * abs(fallen - origin)))

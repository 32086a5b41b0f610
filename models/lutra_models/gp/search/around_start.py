"""The rule-based start as a prior of the best's place: near it, with a belief that fades with every trial.

Rules know the direction of a setting, but not the distance. So by the prior each setting of the best is as in the
start, around it, or anywhere, independently of the others. The acquisition is multiplied by that prior to a power that
falls with the number of trials (πBO: Hvarfner et al., ICLR 2022). The opening moves some of the start's settings in
place of all. A start that reads worse than the previous configuration is ignored. Shapes: m candidates, k knobs.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import mean

import numpy as np

from lutra_models.gp.options import Start
from lutra_models.gp.search import initial_design
from lutra_models.gp.space.encoding import SPECIAL, Array, Encoding
from lutra_models.history import History
from lutra_models.knobs import Choice, Configuration


@dataclass(frozen=True, eq=False)
class AroundStart:
    """Around one configuration, `start` (k,) its codes."""

    encoding: Encoding
    start: Array
    options: Start

    def log(self, codes: Array) -> Array:
        """(m,) the logarithm of how probable codes (m, k) are, beside that of the start."""
        total = np.zeros(len(codes))
        for j, knob in enumerate(self.encoding.knobs):
            at, here = self.start[j], codes[:, j]
            anywhere = self.options.anywhere
            if isinstance(knob.domain, Choice) or at >= SPECIAL:
                total += np.where(here == at, 0.0, np.log(anywhere))
                continue
            near = np.exp(-0.5 * ((here - at) / self.options.around) ** 2)
            total += np.where(here >= SPECIAL, np.log(anywhere), np.log(anywhere + (1.0 - anywhere) * near))
        return total

    def draw(self, candidates: Array, rng: np.random.Generator) -> Array:
        """Of points that fill the space (m, k), those that the belief leaves where they are; others at the start."""
        moved = rng.random(candidates.shape) < self.options.moved
        return self.encoding.snap(np.where(moved, candidates, self.start))


def around_start(history: History, encoding: Encoding, options: Start) -> AroundStart | None:
    """Around the history's first start that rules allow; None without one, or where it was not read or read worse."""
    start = next((s for s in history.warm_starts if initial_design.legal(history, s)), None)
    if start is None or not _read_better(history, start):
        return None
    return AroundStart(encoding, encoding.snap(encoding.codes([start]))[0], options)


def _read_better(history: History, start: Configuration) -> bool:
    """Whether the start's readings are better than those of what was active when the session began, or as good."""
    readings: dict[Configuration, list[float]] = {}
    for configuration, value in history.values(history.objective.metric):
        readings.setdefault(configuration, []).append(value)
    if start not in readings:
        return False
    before = readings.get(history.reference) if history.reference is not None else None
    gain = history.objective.gain
    return before is None or gain(mean(readings[start])) >= gain(mean(before))

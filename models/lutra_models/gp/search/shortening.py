"""Fewer changes for nearly the same gain: settings that contribute nothing go back, and the rest is measured.

Settings go back to the baseline one at a time, always the one whose undoing costs least by the conservative posterior
(backward elimination; Ax calls it pruning towards a target). The settings that stay longest contribute most: read
backwards, the same path gives each share of the gain with its fewest settings. The losses are joint: the posterior's
values of two configurations that differ in one setting are nearly the same, however uncertain each one is. Shapes: m
candidates, k knobs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

from lutra_models.advice import Share
from lutra_models.gp.learning.learned import Learned
from lutra_models.gp.space.encoding import Array
from lutra_models.knobs import Configuration

Allowed = Callable[[Configuration], bool]
Bools = npt.NDArray[np.bool_]
LEVEL = 0.9
_ROUNDING = 1e-9
_IMPOSSIBLE = 1e6
"""The weight of an uncertain run, or of uncertain limits, against any gain, in standard units."""


@dataclass(frozen=True, eq=False)
class Path:
    """Configurations that differ from `baseline` in fewer and fewer settings; the first is the full one."""

    learned: Learned
    baseline: Configuration
    steps: tuple[Configuration, ...]

    @cached_property
    def counts(self) -> list[int]:
        """The number of settings that each step changes."""
        return [len(self.baseline.changes_to(step)) for step in self.steps]

    @cached_property
    def codes(self) -> Array:
        """(m, k) codes of the steps."""
        return self.learned.encoding.codes(self.steps)

    @cached_property
    def losses(self) -> tuple[Array, Array]:
        """Mean and deviation (m,) of what each step loses against the full configuration, in standard units."""
        return _losses(self.learned, self.codes, self.codes[:1])

    @cached_property
    def sure(self) -> Bools:
        """(m,) whether each step runs and keeps the limits as surely as the full one, or as surely as is asked."""
        return np.asarray(_shortfall(self.learned, self.codes, self.codes[:1]) >= 0.0)

    def shortest(self, loss: float, risk: float) -> Configuration:
        """The step with the fewest changes that loses little of the predicted gain.

        Its expected loss is a share of `loss` at most, and one of `risk` at one deviation beyond that. Both are in the
        metric's unit and in standard units: a twentieth of a rate that grew eightfold is more in standard units, one of
        a p99 that fell to an eighth in its own unit. The full configuration stays if nothing is gained, or if little is
        known about the effect of a single setting.
        """
        if not self._gains:
            return self.steps[0]
        mean, deviation = self.losses
        within = (self._kept(mean) >= 1.0 - loss) & (self._kept(mean + deviation) >= 1.0 - risk)
        return self.steps[max(np.flatnonzero(within & self.sure), default=0)]

    def at_most(self, changes: int) -> Configuration | None:
        """The best step by posterior with at most that many changes; None if there is none."""
        few = np.flatnonzero((np.array(self.counts) <= changes) & self.sure)
        return self.steps[few[np.argmin(self.losses[0][few])]] if len(few) else None

    def shares(self) -> tuple[Share, ...]:
        """From the fewest settings to all of them, each step's share of the predicted gain. Empty without a gain."""
        if not self._gains:
            return ()
        mean, deviation = self.losses
        z = NormalDist().inv_cdf(0.5 + LEVEL / 2.0)
        low, middle, high = (self._share(mean + by * deviation) for by in (z, 0.0, -z))
        rows = range(len(self.steps) - 1, -1, -1)
        return tuple(
            Share(self.counts[i], self._added(i), float(middle[i]), float(low[i]), float(high[i])) for i in rows
        )

    @cached_property
    def _ends(self) -> Array:
        """(2,) what the posterior holds of the full configuration and of the baseline, in standard units."""
        codes = np.vstack([self.codes[:1], self.learned.encoding.codes([self.baseline])])
        return np.asarray(self.learned.wary.latent(self.learned.wary_inputs(codes))[0])

    @property
    def _gains(self) -> bool:
        """Whether the full configuration is predicted to be better than the baseline, in the metric's unit."""
        full, base = self.learned.wary.transform.backward(self._ends)
        return bool(self.learned.sign * (full - base) > 0)

    def _share(self, loss: Array) -> Array:
        """The share of the gain in the metric's unit that losses (m,) in standard units leave."""
        back = self.learned.wary.transform.backward
        full, base = back(self._ends)
        return np.asarray((back(self._ends[0] - self.learned.sign * loss) - base) / (full - base))

    def _kept(self, loss: Array) -> Array:
        """The same, or what they leave in standard units where that is less."""
        full, base = self._ends
        left = 1.0 - loss / (self.learned.sign * (full - base))
        return np.asarray(np.minimum(self._share(loss), left))

    def _added(self, i: int) -> tuple[str, ...]:
        """The settings that step `i` changes and the next shorter one does not."""
        shorter = self.steps[i + 1] if i + 1 < len(self.steps) else self.baseline
        return tuple(shorter.changes_to(self.steps[i]))


def counted_from(reference: Configuration | None) -> Configuration:
    """The configuration from which changes are counted. Raises ValueError if there is none."""
    if reference is None:
        raise ValueError("max_changes needs a baseline, or a current configuration, to count changes from")
    return reference


def path(learned: Learned, full: Configuration, baseline: Configuration, allowed: Allowed | None = None) -> Path:
    """From `full` back to `baseline`, only over what is `allowed`; all is, where that is None.

    A setting whose undoing alone is not allowed goes back together with another one. The path ends where nothing is
    left that may go back.
    """
    steps = [full]
    codes, back = learned.encoding.codes([full, baseline])
    places = {name: j for j, name in enumerate(learned.history.space.names)}
    start = codes[None]
    while names := list(baseline.changes_to(steps[-1])):
        groups = _groups(steps[-1], baseline, names, allowed)
        if not groups:
            break
        shorter = np.tile(codes, (len(groups), 1))
        for row, group in zip(shorter, groups, strict=True):
            at = [places[name] for name in group]
            row[at] = back[at]
        worth = -_losses(learned, shorter, start)[0] + _IMPOSSIBLE * _shortfall(learned, shorter, start)
        best = int(np.argmax(worth))
        codes = shorter[best]
        steps.append(steps[-1].replace(baseline.restrict(groups[best])))
    return Path(learned, baseline, tuple(steps))


def _groups(
    at: Configuration, baseline: Configuration, names: Sequence[str], allowed: Allowed | None
) -> list[tuple[str, ...]]:
    """Settings to undo at once: one, or two where a rule refuses the undoing of one alone."""
    if allowed is None:
        return [(name,) for name in names]

    def passes(group: tuple[str, ...]) -> bool:
        left = at.replace(baseline.restrict(group))
        return not baseline.changes_to(left) or allowed(left)

    single = {name: passes((name,)) for name in names}
    refused = [name for name, passed in single.items() if not passed]
    pairs = [(one, two) for one in refused for two in names if two != one and (single[two] or one < two)]
    return [*((name,) for name, passed in single.items() if passed), *filter(passes, pairs)]


def _losses(learned: Learned, codes: Array, full: Array) -> tuple[Array, Array]:
    """Mean and deviation (m,) of what codes (m, k) lose against the full one's (1, k), in standard units."""
    mean, variance = learned.wary.against(learned.wary_inputs(codes), learned.wary_inputs(full))
    return -learned.sign * mean, np.sqrt(variance)


def _shortfall(learned: Learned, codes: Array, full: Array) -> Array:
    """(m,) 0 if codes (m, k) are as sure to run and to keep the limits as the full one's (1, k), or as is asked.

    Elsewhere by how much their log probability falls short (< 0).
    """
    sure, there = (learned.log_running(c) + learned.log_limits(c) for c in (codes, full))
    least = min(float(there[0]), math.log(learned.options.safety.probability)) - _ROUNDING
    return np.asarray(np.minimum(sure - least, 0.0))

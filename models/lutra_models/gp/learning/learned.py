"""The lessons of a history, in one value: posteriors of the targets and of running at all, and the best so far.

Shapes: n distinct configurations, m query points, k knobs, d features, p trends.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import NormalDist

import numpy as np

from lutra_models.gp.fitted.snapshot import Snapshot
from lutra_models.gp.fitted.trend import Trend
from lutra_models.gp.options import Options
from lutra_models.gp.space.encoding import Array, Encoding
from lutra_models.gp.surrogate.dataset import Grouped
from lutra_models.gp.surrogate.drift import STEADY, Drift
from lutra_models.gp.surrogate.feasibility import log_probability_of_running, runs
from lutra_models.gp.surrogate.posterior import GaussianProcess
from lutra_models.gp.surrogate.probability import log_probability_above
from lutra_models.history import History
from lutra_models.knobs import Configuration


@dataclass(frozen=True, eq=False)
class Learned:
    """A history with its posteriors. `searching` models the objective for the search alone, `wary` for promises.

    The history's targets are moved to the server's current state, by their `drifts` and, on a live database, to the
    current load (the snapshot's `loads`). `local` replaces `searching` in an unrestricted search if it predicts the
    readings better.
    """

    history: History
    options: Options
    encoding: Encoding
    searching: GaussianProcess
    trends: tuple[Trend, ...]
    wary: GaussianProcess
    wary_trends: tuple[Trend, ...]
    snapshot: Snapshot
    running: GaussianProcess | None
    local: GaussianProcess | None = None
    drifts: Mapping[str, Drift] = field(default_factory=dict)

    @property
    def drift(self) -> Drift:
        """The objective's."""
        return self.drifts.get(self.history.objective.metric, STEADY)

    @property
    def sign(self) -> float:
        """+1 if a larger reading of the objective is better, else -1."""
        return self.history.objective.gain(1.0)

    def inputs(self, codes: Array) -> Array:
        """(m, d + p) inputs of `searching` at (m, k) codes."""
        return inputs_of(self.encoding, self.trends, codes)

    def wary_inputs(self, codes: Array) -> Array:
        """(m, d + p) inputs of `wary` at (m, k) codes."""
        return inputs_of(self.encoding, self.wary_trends, codes)

    def log_limits(self, codes: Array) -> Array:
        """(m,) log probability that every limit holds."""
        total = np.zeros(len(codes))
        for limit in self.history.limits:
            gp = self.snapshot.posteriors.get(limit.metric)
            if gp is None:
                continue
            mean, variance = gp.latent(self.snapshot.inputs(limit.metric, codes))
            sign = 1.0 if limit.goal == "maximize" else -1.0
            bound = sign * float(gp.transform.forward(np.array(limit.bound)))
            total += log_probability_above(sign * mean, np.sqrt(variance), bound)
        return total

    def log_running(self, codes: Array) -> Array:
        """(m,) log probability that the server runs."""
        return log_probability_of_running(
            self.running, self.encoding.features(codes), self.options.surrogate.boundary_blur
        )

    @property
    def usual_noise(self) -> float:
        """The variance of a reading in standard units: if readings are noisy, the search's model shows it first."""
        return max(self.wary.noise, self.searching.noise)

    def unreliable(self, codes: Array) -> Array:
        """(m,) by how much more than usual the lower quantile of readings at (m, k) codes lies below their median."""
        own = np.sqrt(self.wary.noise_factors_at(self.wary_inputs(codes)) * self.wary.noise)
        more = np.maximum(own - np.sqrt(self.usual_noise), 0.0)
        return np.asarray(NormalDist().inv_cdf(1.0 - self.options.targets.reliable) * more)

    def ranked(self) -> list[Configuration]:
        """Configurations whose objective was measured and that never failed, the best by posterior first.

        Those that probably keep the limits come before those that probably do not. A configuration with more than the
        usual scatter counts at its reliable level.
        """
        shares = runs(self.history)
        measured = dict.fromkeys(c for c, _ in self.history.values(self.history.objective.metric))
        sound = [c for c in measured if shares[c] >= 1.0] or list(measured)
        codes = self.encoding.codes(sound)
        limits = self.log_limits(codes)
        holds = limits >= np.log(0.5)
        mean = self.sign * self.wary.latent(self.wary_inputs(codes))[0] - self.unreliable(codes)
        order = np.lexsort((-np.where(holds, mean, limits), ~holds))
        return [sound[i] for i in order]


def ahead(learned: Learned, one: Configuration, other: Configuration) -> bool:
    """Whether `one` is better than `other` by more than a reading's noise; keeping the limits comes first."""
    here, there = learned.encoding.codes([one]), learned.encoding.codes([other])
    keeps, other_keeps = (bool(learned.log_limits(codes)[0] >= np.log(0.5)) for codes in (here, there))
    if keeps != other_keeps:
        return keeps
    difference, _ = learned.wary.against(learned.wary_inputs(here), learned.wary_inputs(there))
    reliable = learned.sign * difference - learned.unreliable(here) + learned.unreliable(there)
    return bool(reliable[0] > np.sqrt(learned.wary.noise))


def least_reading(learned: Learned) -> float | None:
    """The least reading (the greatest, if less is better) with which a configuration can become the best.

    None while the best by posterior probably breaks a limit: then a configuration that reads worse may be of interest.
    """
    best = learned.encoding.codes(learned.ranked()[:1])
    if learned.log_limits(best)[0] < np.log(0.5):
        return None
    mean = learned.wary.latent(learned.wary_inputs(best))[0]
    median = float(learned.wary.transform.backward(mean)[0])
    return median if median > 0 else None


def lucky(learned: Learned) -> Configuration | None:
    """The configuration with the best reading, if it was read once and the posterior attributes that to luck."""
    gp = learned.wary
    groups = Grouped.of(learned.history.values(learned.history.objective.metric))
    best = int(np.argmax(learned.sign * gp.z[: gp.read]))
    excess = learned.sign * (gp.z[best] - gp.latent(gp.x[best : best + 1])[0][0])
    return (
        groups.configurations[best]
        if len(groups.readings[best]) == 1 and excess > learned.options.search.luck * np.sqrt(gp.noise)
        else None
    )


def contradicted(learned: Learned) -> Configuration | None:
    """A configuration whose two readings contradict each other, if it would lead by the better one."""
    gp = learned.wary
    groups = Grouped.of(learned.history.values(learned.history.objective.metric))
    lead = float(np.max(learned.sign * gp.latent(gp.x[: gp.read])[0]))
    least = learned.options.search.contradicted * learned.usual_noise / gp.noise
    for configuration, readings, factor in zip(groups.configurations, groups.readings, gp.noise_factors, strict=True):
        better = float(np.max(learned.sign * gp.transform.forward(readings)))
        if len(readings) == 2 and factor > least and better > lead:
            return configuration
    return None


def inputs_of(encoding: Encoding, trends: Sequence[Trend], codes: Array) -> Array:
    """(m, d + p) inputs of a posterior with these trends at (m, k) codes."""
    return np.hstack([encoding.features(codes), *(t.column(codes)[:, None] for t in trends)])


def fantasised(gp: GaussianProcess, x: Array) -> GaussianProcess:
    """The posterior as if each of (m, d + p) had been measured at its mean (the kriging believer)."""
    if not len(x):
        return gp
    z, share = np.concatenate([gp.z, gp.latent(x)[0]]), np.concatenate([gp.share, np.ones(len(x))])
    return replace(gp, x=np.vstack([gp.x, x]), z=z, share=share, imagined=gp.imagined + len(x))


def codes_of(encoding: Encoding, configurations: Sequence[Mapping[str, int | float | str]]) -> Array:
    """(m, k), even for m = 0."""
    return encoding.codes(configurations) if configurations else np.zeros((0, len(encoding.knobs)))

"""What a history teaches, in one value: posteriors of the targets and of running at all, and who is best so far.

Shapes: n distinct configurations, m query points, k knobs, d features, p trends.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from lutra_models.errors import NotEnoughObservations
from lutra_models.gp import acquisition, past
from lutra_models.gp.bridge import Trend
from lutra_models.gp.calibration import calibrated
from lutra_models.gp.encoding import Array, Encoding
from lutra_models.gp.evidence import Grouped, direction, readings_of, targets
from lutra_models.gp.feasibility import fit_feasibility, log_probability_of_running, runs
from lutra_models.gp.posterior import GaussianProcess
from lutra_models.gp.snapshot import Snapshot
from lutra_models.gp.surrogate import BROAD, WARY, Belief, fit_gp
from lutra_models.history import History
from lutra_models.knobs import Configuration

ENOUGH = 2
"""Readings of a metric from which it has a posterior of its own."""
_LUCK = 2.0
"""Noise deviations by which a reading exceeds what the posterior holds of it to be taken for luck."""
_PROVING = 5
"""Rows from which past workloads have to prove that they help to foresee what was measured here."""


@dataclass(frozen=True, eq=False)
class Learned:
    """A history with its posteriors. `searching` models the objective for the search alone, `wary` for promises."""

    history: History
    encoding: Encoding
    searching: GaussianProcess
    trends: tuple[Trend, ...]
    wary: GaussianProcess
    wary_trends: tuple[Trend, ...]
    snapshot: Snapshot
    running: GaussianProcess | None

    @property
    def sign(self) -> float:
        """+1 where a larger reading of the objective is better, else -1."""
        return self.history.objective.gain(1.0)

    def inputs(self, codes: Array) -> Array:
        """(m, d + p) inputs of `searching` at (m, k) codes."""
        return _inputs(self.encoding, self.trends, codes)

    def wary_inputs(self, codes: Array) -> Array:
        """(m, d + p) inputs of `wary` at (m, k) codes."""
        return _inputs(self.encoding, self.wary_trends, codes)

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
            total += acquisition.log_probability_above(sign * mean, np.sqrt(variance), bound)
        return total

    def log_running(self, codes: Array) -> Array:
        """(m,) log probability that the server runs."""
        return log_probability_of_running(self.running, self.encoding.features(codes))

    def ranked(self) -> list[Configuration]:
        """Configurations whose objective was measured and that never failed, the best by posterior first.

        Those that probably keep the limits come before those that probably do not.
        """
        shares = runs(self.history)
        measured = dict.fromkeys(c for c, _ in self.history.values(self.history.objective.metric))
        sound = [c for c in measured if shares[c] >= 1.0] or list(measured)
        codes = self.encoding.codes(sound)
        limits = self.log_limits(codes)
        holds = limits >= np.log(0.5)
        mean = self.sign * self.wary.latent(self.wary_inputs(codes))[0]
        order = np.lexsort((-np.where(holds, mean, limits), ~holds))
        return [sound[i] for i in order]


def teachable(history: History, least: int = ENOUGH) -> bool:
    """Whether the objective was measured at least `least` times."""
    return len(history.values(history.objective.metric)) >= least


def learn(history: History, snapshots: Sequence[Snapshot], rng: np.random.Generator, least: int = ENOUGH) -> Learned:
    """Fit everything. Raises NotEnoughObservations below `least` readings of the objective."""
    encoding = Encoding(history.space.knobs)
    metric = history.objective.metric
    if not teachable(history, least):
        count = len(history.values(metric))
        raise NotEnoughObservations(f"{metric} was measured {count} times; a model needs at least {least} readings")
    grouped = {name: Grouped.of(history.values(name)) for name in targets(history)}
    fitter = _Fitter(history, encoding, snapshots, rng)
    searching, trends = fitter.fit(metric, grouped[metric], BROAD, drawn=True)
    posteriors, columns = {}, {}
    for name, group in grouped.items():
        if len(group.values) >= ENOUGH or name == metric:
            gp, columns[name] = fitter.fit(name, group, WARY)
            posteriors[name] = calibrated(gp, history, direction(history, name))
    wary = posteriors[metric]
    enough = {name: gp for name, gp in posteriors.items() if len(grouped[name].values) >= ENOUGH}
    home = encoding.codes([history.current or history.observations[0].configuration])[0]
    snapshot = Snapshot(encoding, enough, home, trends={name: columns[name] for name in enough})
    running = fit_feasibility(history, encoding)
    return Learned(history, encoding, searching, trends, wary, columns[metric], snapshot, running)


@dataclass(frozen=True, eq=False)
class _Fitter:
    history: History
    encoding: Encoding
    snapshots: Sequence[Snapshot]
    rng: np.random.Generator

    def fit(
        self, metric: str, group: Grouped, belief: Belief, drawn: bool = False
    ) -> tuple[GaussianProcess, tuple[Trend, ...]]:
        """The posterior of a metric, and the trends of past workloads that it holds."""
        readings = readings_of(group, self.encoding, direction(self.history, metric), drawn)
        usable = past.candidates(self.encoding, metric, readings.transform, self.snapshots)
        own = fit_gp(readings, belief)
        if not usable:
            return own, ()
        where = past.counters_in(self.history, [self.snapshots[i] for i in usable])
        codes = self.encoding.codes(group.configurations)
        trends, with_trends = past.weighed(list(usable.values()), readings, codes, own, where, self.rng)
        if not trends:
            return own, ()
        helped = fit_gp(with_trends, belief)
        if len(own.z) >= _PROVING and foresight(helped) < foresight(own):
            return own, ()
        return helped, trends


def ahead(learned: Learned, configuration: Configuration) -> bool:
    """Whether it beats the current one by more than a reading's noise, or keeps limits that the current one breaks."""
    current = learned.history.current
    if current is None:
        return True
    here, there = learned.encoding.codes([configuration]), learned.encoding.codes([current])
    if learned.log_limits(there)[0] < np.log(0.5) <= learned.log_limits(here)[0]:
        return True
    difference, _ = learned.wary.against(learned.wary_inputs(here), learned.wary_inputs(there))
    return bool(learned.sign * difference[0] > np.sqrt(learned.wary.noise))


def lucky(learned: Learned) -> Configuration | None:
    """The configuration with the best reading, where it was read once and the posterior takes that for luck."""
    gp = learned.wary
    groups = Grouped.of(learned.history.values(learned.history.objective.metric))
    best = int(np.argmax(learned.sign * gp.z))
    excess = learned.sign * (gp.z[best] - gp.latent(gp.x[best : best + 1])[0][0])
    return groups.configurations[best] if gp.share[best] == 1.0 and excess > _LUCK * np.sqrt(gp.noise) else None


def _inputs(encoding: Encoding, trends: tuple[Trend, ...], codes: Array) -> Array:
    return np.hstack([encoding.features(codes), *(t.column(codes)[:, None] for t in trends)])


def foresight(gp: GaussianProcess) -> float:
    """Mean log density of each row's target when it is left out: how well the posterior foresees."""
    mean, variance = gp.left_out()
    return float(np.mean(-0.5 * np.log(variance) - 0.5 * (gp.z - mean) ** 2 / variance))


def fantasised(gp: GaussianProcess, x: Array) -> GaussianProcess:
    """The posterior as if each of (m, d + p) had been measured at its mean (the kriging believer)."""
    if not len(x):
        return gp
    z, share = np.concatenate([gp.z, gp.latent(x)[0]]), np.concatenate([gp.share, np.ones(len(x))])
    return replace(gp, x=np.vstack([gp.x, x]), z=z, share=share)


def codes_of(encoding: Encoding, configurations: Sequence[Mapping[str, int | float | str]]) -> Array:
    """(m, k), also of none."""
    return encoding.codes(configurations) if configurations else np.zeros((0, len(encoding.knobs)))

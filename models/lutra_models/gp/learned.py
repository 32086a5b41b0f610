"""What a history teaches, in one value: posteriors of the targets and of running at all, and who is best so far.

Shapes: n distinct configurations, m query points, d features, k knobs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from lutra_models.errors import NotEnoughObservations
from lutra_models.gp import acquisition
from lutra_models.gp.encoding import Array, Encoding
from lutra_models.gp.evidence import Grouped, readings_of, targets
from lutra_models.gp.feasibility import fit_feasibility, log_probability_of_running, runs
from lutra_models.gp.snapshot import GaussianProcess, Snapshot
from lutra_models.gp.surrogate import fit_gp
from lutra_models.history import History
from lutra_models.knobs import Configuration

ENOUGH = 2
"""Readings of a metric from which it has a posterior."""


@dataclass(frozen=True, eq=False)
class Learned:
    """A history with its posteriors. `searching` models the objective in gain, for the search alone."""

    history: History
    encoding: Encoding
    searching: GaussianProcess
    snapshot: Snapshot
    running: GaussianProcess | None

    @property
    def sign(self) -> float:
        """+1 where a larger reading of the objective is better, else -1."""
        return self.history.objective.gain(1.0)

    def gain(self, x: Array) -> tuple[Array, Array]:
        """Mean and deviation (m,) of the objective's gain at (m, d) features, in the search's standard units."""
        mean, variance = self.searching.latent(x)
        return self.sign * mean, np.sqrt(variance)

    def log_limits(self, x: Array) -> Array:
        """(m,) log probability that every limit holds."""
        total = np.zeros(len(x))
        for limit in self.history.limits:
            gp = self.snapshot.posteriors.get(limit.metric)
            if gp is None:
                continue
            mean, variance = gp.latent(x)
            sign = 1.0 if limit.goal == "maximize" else -1.0
            bound = sign * float(gp.transform.forward(np.array(limit.bound)))
            total += acquisition.log_probability_above(sign * mean, np.sqrt(variance), bound)
        return total

    def log_running(self, x: Array) -> Array:
        """(m,) log probability that the server runs."""
        return log_probability_of_running(self.running, x)

    def ranked(self) -> list[Configuration]:
        """Configurations whose objective was measured and that never failed, the best by posterior first.

        Those that probably keep the limits come before those that probably do not.
        """
        shares = runs(self.history)
        measured = dict.fromkeys(c for c, _ in self.history.values(self.history.objective.metric))
        sound = [c for c in measured if shares[c] >= 1.0] or list(measured)
        x = self.encoding.encode(sound)
        limits = self.log_limits(x)
        holds = limits >= np.log(0.5)
        order = np.lexsort((-np.where(holds, self.gain(x)[0], limits), ~holds))
        return [sound[i] for i in order]


def learn(history: History) -> Learned:
    """Fit everything. Raises NotEnoughObservations below two readings of the objective."""
    encoding = Encoding(history.space.knobs)
    metric = history.objective.metric
    grouped = {name: Grouped.of(history.values(name)) for name in targets(history)}
    count = len(grouped[metric].values) if metric in grouped else 0
    if count < ENOUGH:
        raise NotEnoughObservations(f"{metric} was measured {count} times; a model needs at least {ENOUGH} readings")
    posteriors = {
        name: fit_gp(readings_of(group, encoding)) for name, group in grouped.items() if len(group.values) >= ENOUGH
    }
    searching = fit_gp(readings_of(grouped[metric], encoding, history.objective.gain(1.0)))
    return Learned(history, encoding, searching, Snapshot(encoding, posteriors), fit_feasibility(history, encoding))


def teachable(history: History) -> bool:
    return len(history.values(history.objective.metric)) >= ENOUGH


def fantasised(gp: GaussianProcess, x: Array) -> GaussianProcess:
    """The posterior as if each of (m, d) features had been measured at its mean (the kriging believer)."""
    if not len(x):
        return gp
    return GaussianProcess(
        np.vstack([gp.x, x]),
        np.concatenate([gp.z, gp.latent(x)[0]]),
        np.concatenate([gp.share, np.ones(len(x))]),
        gp.lengthscales,
        gp.variance,
        gp.noise,
        gp.transform,
        gp.mean,
        gp.widen,
    )


def features(encoding: Encoding, configurations: Sequence[Mapping[str, int | float | str]]) -> Array:
    """(m, d), also of none."""
    return encoding.encode(configurations) if configurations else np.zeros((0, encoding.d))

"""Fits everything that a history teaches: a posterior per metric, with past workloads if they prove to help.

Shapes: n distinct configurations, k knobs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from lutra_models.errors import FitFailed, NotEnoughObservations
from lutra_models.gp.fitted.snapshot import Snapshot
from lutra_models.gp.fitted.trend import Trend
from lutra_models.gp.learning.at_load import at_load_of_now
from lutra_models.gp.learning.learned import Learned, codes_of, inputs_of
from lutra_models.gp.learning.levelled import drifts, levelled
from lutra_models.gp.options import DEFAULT, Belief, Options
from lutra_models.gp.space.encoding import Array, Encoding
from lutra_models.gp.surrogate.base import Surrogate
from lutra_models.gp.surrogate.bounds import fit_within
from lutra_models.gp.surrogate.calibration import calibrated
from lutra_models.gp.surrogate.dataset import Grouped, Readings, direction, readings_of, targets
from lutra_models.gp.surrogate.feasibility import fit_feasibility
from lutra_models.gp.surrogate.numpy_fit import NUMPY
from lutra_models.gp.surrogate.posterior import GaussianProcess
from lutra_models.gp.surrogate.steadiness import windows
from lutra_models.gp.surrogate.table import quick, surrogate
from lutra_models.gp.transfer import prior_mean
from lutra_models.history import History

ENOUGH = 2
"""The number of readings from which a metric has its own posterior."""


def teachable(history: History, least: int = ENOUGH) -> bool:
    """Whether the objective was measured at least `least` times."""
    return len(history.values(history.objective.metric)) >= least


def learn(
    history: History,
    snapshots: Sequence[Snapshot],
    least: int = ENOUGH,
    options: Options = DEFAULT,
) -> Learned:
    """Fit everything. Raises NotEnoughObservations below `least` readings of the objective."""
    encoding = Encoding(history.space.knobs)
    metric = history.objective.metric
    if not teachable(history, least):
        count = len(history.values(metric))
        raise NotEnoughObservations(f"{metric} was measured {count} times; a model needs at least {least} readings")
    quiet = {name: windows(history, name, options.targets) for name in targets(history)}
    history, loads = at_load_of_now(history)
    found = drifts(history, encoding, options)
    history = levelled(history, found)
    grouped = {n: Grouped.of(history.values(n), quiet[n], history.bounds(n)) for n in targets(history)}
    fitter = _Fitter(history, encoding, snapshots, options, surrogate(options.surrogate.name))
    searching = fitter.searching(metric, grouped[metric])
    local = fitter.local(metric, grouped[metric], searching)
    wanted = [name for name, group in grouped.items() if len(group.values) >= ENOUGH or name == metric]
    fitted = {name: fitter.fit(name, grouped[name], options.surrogate.wary) for name in wanted}
    spread = {name: fitter.calibrated(name, grouped[name], f, options.surrogate.wary) for name, f in fitted.items()}
    enough = {name: fitted[name] for name in wanted if len(grouped[name].values) >= ENOUGH}
    snapshot = Snapshot(
        encoding,
        {name: spread[name] for name in enough},
        encoding.codes([history.reference or history.observations[0].configuration])[0],
        trends={name: f.trends for name, f in enough.items()},
        alone={name: f.alone for name, f in enough.items() if f.trends},
        context=history.context or {},
        options=options.fingerprint,
        loads={name: load for name, load in loads.items() if name in enough},
    )
    running = fit_feasibility(history, encoding, fitter.surrogate, options.surrogate)
    wary, wary_trends = spread[metric], fitted[metric].trends
    return Learned(
        history, options, encoding, searching.gp, searching.trends, wary, wary_trends, snapshot, running, local, found
    )


@dataclass(frozen=True, eq=False)
class _Fitted:
    """A metric's posterior with the readings that it was fitted to, the trends of past workloads that it holds, and
    the posterior without these.
    """

    gp: GaussianProcess
    readings: Readings
    trends: tuple[Trend, ...]
    alone: GaussianProcess


@dataclass(frozen=True, eq=False)
class _Fitter:
    history: History
    encoding: Encoding
    snapshots: Sequence[Snapshot]
    options: Options
    surrogate: Surrogate

    def local(self, metric: str, group: Grouped, broad: _Fitted) -> GaussianProcess | None:
        """The search's posterior under the local belief, where it foresees the readings better than `broad`.

        None if past workloads lead: they say already where it may be better.
        """
        if broad.trends:
            return None
        belief = self.options.surrogate.local
        found = self._posterior(metric, group, self._readings(metric, group, drawn=True), belief)
        return found if foresight(found) > foresight(broad.gp) else None

    def searching(self, metric: str, group: Grouped) -> _Fitted:
        """By what the search goes: with past workloads where it is their turn to lead."""
        found = self.fit(metric, group, self.options.surrogate.broad, drawn=True)
        return found if _past_leads(self.history, self.options) else replace(found, gp=found.alone, trends=())

    def fit(self, metric: str, group: Grouped, belief: Belief, drawn: bool = False) -> _Fitted:
        readings = self._readings(metric, group, drawn)
        options = self.options.transfer
        usable = prior_mean.candidates(self.encoding, metric, readings.transform, self.snapshots, options)
        own = self._posterior(metric, group, readings, belief)
        alone = _Fitted(own, readings, (), own)
        if not usable:
            return alone
        theirs = [self.snapshots[i] for i in usable]
        where = prior_mean.counters_in(self.history, theirs, options)
        apart = prior_mean.circumstances_of(self.history, theirs, options)
        codes = self.encoding.codes(group.configurations)
        past = list(usable.values())
        trends, with_trends = prior_mean.weighed(past, readings, codes, own, where, apart, options)
        if not trends:
            return alone
        helped = self._posterior(metric, group, with_trends, belief, trends)
        if own.read >= self.options.surrogate.proving_rows and foresight(helped) < foresight(own):
            return alone
        return _Fitted(helped, with_trends, trends, own)

    def calibrated(self, metric: str, group: Grouped, fitted: _Fitted, belief: Belief) -> GaussianProcess:
        """The posterior with the spread of its readings corrected."""
        history, searched = self.history, metric == self.history.objective.metric
        predicted = self._predicted(metric, group, fitted, belief)
        return calibrated(fitted.gp, history, direction(history, metric), searched, predicted, self.options.calibration)

    def _predicted(self, metric: str, group: Grouped, fitted: _Fitted, belief: Belief) -> Array:
        """(n,) the mean of each reading's target by a model that was fitted to none of its part of the readings.

        A part whose model cannot be fitted is left out with the hyperparameters of all. So are all readings of a
        surrogate of another kind, because nobody knows how long its fits take.
        """
        readings, options, mean = fitted.readings, self.options, fitted.gp.left_out()[0]
        if quick(self.surrogate) is not NUMPY:
            return mean
        few = replace(
            options.surrogate, fitted_rows=min(options.surrogate.fitted_rows, options.calibration.folded_rows)
        )
        fitter = replace(self, surrogate=quick(self.surrogate), options=replace(options, surrogate=few))
        part = np.arange(len(mean)) % options.calibration.folds
        for i in range(min(options.calibration.folds, len(mean)) if len(mean) > 1 else 0):
            rows = np.flatnonzero(part == i)
            try:
                gp = fitter._posterior(metric, group, readings.chosen(np.flatnonzero(part != i)), belief, fitted.trends)
            except FitFailed:
                continue
            mean[rows] = gp.latent(np.hstack([readings.x[rows], readings.trends[rows]]))[0]
        return mean

    def _readings(self, metric: str, group: Grouped, drawn: bool) -> Readings:
        return readings_of(group, self.encoding, direction(self.history, metric), self.options.targets, drawn)

    def _posterior(
        self, metric: str, group: Grouped, readings: Readings, belief: Belief, trends: Sequence[Trend] = ()
    ) -> GaussianProcess:
        x = inputs_of(self.encoding, trends, codes_of(self.encoding, [c for c, _ in group.bounded]))

        def fit(rows: Readings) -> GaussianProcess:
            return self.surrogate.fit(rows, belief, self.options.surrogate)

        return fit_within(fit, readings, x, direction(self.history, metric))


def _past_leads(history: History, options: Options) -> bool:
    """Whether past workloads have a say in where the search goes next.

    A search that they lead in every trial stays near what they praise.
    """
    turn = len(history.observations) + len(history.pending)
    return turn < options.search.opening_trials or turn % options.transfer.turns == 0


def foresight(gp: GaussianProcess) -> float:
    """Mean log density of each row's target when it is left out: the quality of the posterior's predictions."""
    mean, variance = gp.left_out()
    return float(np.mean(-0.5 * np.log(variance) - 0.5 * (gp.z[: gp.read] - mean) ** 2 / variance))

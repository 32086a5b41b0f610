"""The lessons of one workload, as plain numbers; predictions need only numpy.

Shapes: m configurations, k knobs, d features, p trends.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from lutra_models.advice import Prediction, Record
from lutra_models.gp.fitted.offered import OfferedLoad
from lutra_models.gp.fitted.predictor import Predictor
from lutra_models.gp.fitted.trend import Trend
from lutra_models.gp.space.encoding import SPECIAL, Array, Encoding
from lutra_models.gp.surrogate.calibration import record
from lutra_models.gp.surrogate.posterior import GaussianProcess
from lutra_models.knobs import Choice, Value
from lutra_models.serial import knob_from_dict, knob_to_dict

MATERIAL = 0.05
"""The distance beyond the measured values, as a share of the setting's range, that still counts as measured."""
BEYOND = 0.5
"""The same distance, as a share of the measured range."""


def unlike(encoding: Encoding, codes: Array, measured: Array) -> set[str]:
    """The knobs that at codes (1, k) have an option or a special value that none of the features (n, d) has, or a place
    well beyond theirs."""
    features = encoding.features(codes)[0]
    found: set[str] = set()
    for j, knob in enumerate(encoding.knobs):
        columns = encoding.columns(j)
        here, there = features[columns], measured[:, columns]
        apart = isinstance(knob.domain, Choice) or codes[0, j] >= SPECIAL
        if not _alike(here, there) if apart else _beyond(here, there):
            found.add(knob.name)
    return found


def _alike(here: Array, there: Array) -> bool:
    return bool(np.any(np.all(np.isclose(there, here), axis=1)))


def _beyond(here: Array, there: Array) -> bool:
    """Whether a place is well outside the range of those measured, special values left out."""
    places = there[np.all(there[:, 1:] == 0.0, axis=1), 0]
    if not len(places):
        return True
    low, high = float(np.min(places)), float(np.max(places))
    room = MATERIAL + BEYOND * (high - low)
    return not low - room <= float(here[0]) <= high + room


_FAR = 0.9
"""A prediction whose latent variance is above this share of the prior's rests on hardly any measurement."""
_FORMAT = 1

Signature = Mapping[str, tuple[float, ...]]
"""Telling counter → its deciles over a workload's observations, from the smallest to the largest: eleven numbers."""


@dataclass(frozen=True, eq=False)
class Snapshot:
    """A posterior per metric over a workload's knobs.

    `home` is a configuration of that workload (codes), at which a knob stays when another workload does not have it.
    `trends` are the columns by metric that other workloads contribute to its posterior; `alone` holds the posterior of
    each such metric without them, from which other workloads learn. `context` are the circumstances of its
    measurements. `options` is the fingerprint of the options it was fitted with, empty if unknown. `loads` is the
    dependence of each metric on the offered load, if a live database was read under several.
    """

    encoding: Encoding
    posteriors: Mapping[str, GaussianProcess]
    home: Array
    signature: Signature = field(default_factory=dict)
    trends: Mapping[str, tuple[Trend, ...]] = field(default_factory=dict)
    alone: Mapping[str, GaussianProcess] = field(default_factory=dict)
    context: Mapping[str, Value] = field(default_factory=dict)
    options: str = ""
    loads: Mapping[str, OfferedLoad] = field(default_factory=dict)

    @property
    def metrics(self) -> tuple[str, ...]:
        """Those that it predicts."""
        return tuple(self.posteriors)

    def bare(self, metric: str) -> GaussianProcess | None:
        """The metric's posterior from this workload's own readings alone; None if that is not known."""
        return self.alone.get(metric) if self.trends.get(metric) else self.posteriors.get(metric)

    def inputs(self, metric: str, codes: Array) -> Array:
        """(m, d + p) inputs of a metric's posterior at (m, k) codes."""
        columns = [t.column(codes)[:, None] for t in self.trends.get(metric, ())]
        return np.hstack([self.encoding.features(codes), *columns])

    def predict(self, configurations: Sequence[Mapping[str, Value]], level: float = 0.9) -> list[dict[str, Prediction]]:
        """Per configuration, a reading's distribution for each metric; `Prediction.unmodelled` names other settings.

        The same bits in every process, whatever other configurations are asked about.
        """
        if not 0 < level < 1:
            raise ValueError(f"level must be between 0 and 1, got {level}")
        kept = {m: record(p.gp, p.left_out(), level) for m, p in self._predictors.items() if p.gp.read > 1}
        return [{m: self._prediction(m, c, level, kept.get(m)) for m in self.posteriors} for c in configurations]

    def columns(self, configurations: Sequence[Mapping[str, Value]], level: float = 0.9) -> dict[str, Array]:
        """`predict` as (m,) arrays named `qps.median`, `qps.low`, `qps.high`, …: what a data frame is made of."""
        rows = self.predict(configurations, level)
        ends = ("median", "low", "high")
        return {f"{m}.{end}": np.array([getattr(r[m], end) for r in rows]) for m in self.posteriors for end in ends}

    @cached_property
    def _predictors(self) -> dict[str, Predictor]:
        return {metric: Predictor(gp) for metric, gp in self.posteriors.items()}

    def _prediction(
        self, metric: str, configuration: Mapping[str, Value], level: float, kept: Record | None
    ) -> Prediction:
        predictor = self._predictors[metric]
        gp, codes = predictor.gp, self.encoding.codes([configuration])
        trends = [t.at(codes) for t in self.trends.get(metric, ())]
        row = np.array([*self.encoding.features(codes)[0], *trends])
        mean, variance = predictor.latent(row)
        ends = gp.interval(np.array([mean]), np.array([variance]), level, float(gp.noise_factors_at(row[None])[0]))
        median, low, high = (float(end[0]) for end in ends)
        unlike = self._unlike(metric, codes)
        far = variance > _FAR * gp.variance or bool(unlike)
        return Prediction(metric, median, low, high, level, far, kept, unlike, self.unseen(configuration))

    def at_rate(self, predicted: Mapping[str, Prediction], rate: float) -> dict[str, Prediction]:
        """The result of `predict` at another offered load, for the metrics whose dependence on the load is known.

        Raises ValueError for a rate outside the measured ones.
        """
        found: dict[str, Prediction] = {}
        for metric, load in self.loads.items():
            if not load.holds(rate):
                raise ValueError(f"{load.rate_of} {rate:g}: measured were {load.low:.4g} to {load.high:.4g}")
            if metric in predicted:
                median, low, high = load.at(predicted[metric], rate)
                found[metric] = replace(predicted[metric], median=median, low=low, high=high)
        return found

    def unseen(self, names: Iterable[str]) -> tuple[str, ...]:
        """The settings that are not knobs here: the model knows nothing about them."""
        known = {k.name for k in self.encoding.knobs}
        return tuple(n for n in names if n not in known)

    def _unlike(self, metric: str, codes: Array) -> tuple[str, ...]:
        """The settings to whose values at codes (1, k) nothing like it was measured, here or in a past workload."""
        gp = self.posteriors[metric]
        found = unlike(self.encoding, codes, gp.x[: gp.read])
        for trend in self.trends.get(metric, ()):
            there = trend.bridge.there
            strange = unlike(there, trend.bridge.codes(codes), trend.gp.x[: trend.gp.read])
            found -= set(trend.bridge.shared) - strange
        return tuple(k.name for k in self.encoding.knobs if k.name in found)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON-able numbers; `from_dict` gives the same predictions again."""
        return {
            "format": _FORMAT,
            "knobs": [knob_to_dict(k) for k in self.encoding.knobs],
            "posteriors": {metric: gp.to_dict() for metric, gp in self.posteriors.items()},
            "home": self.home.tolist(),
            "signature": {name: list(deciles) for name, deciles in self.signature.items()},
            "trends": {metric: [t.to_dict() for t in trends] for metric, trends in self.trends.items()},
            "alone": {metric: gp.to_dict() for metric, gp in self.alone.items()},
            "context": dict(self.context),
            "options": self.options,
            **({"loads": {metric: load.to_dict() for metric, load in self.loads.items()}} if self.loads else {}),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Snapshot:
        """The snapshot that `to_dict` wrote. Raises ValueError for a document of another format."""
        if data.get("format") != _FORMAT:
            raise ValueError(f"unknown snapshot format {data.get('format')!r}, expected {_FORMAT}")
        encoding = Encoding([knob_from_dict(k) for k in data["knobs"]])
        return cls(
            encoding,
            {m: GaussianProcess.from_dict(d) for m, d in data["posteriors"].items()},
            np.array(data["home"], dtype=float),
            {name: tuple(map(float, deciles)) for name, deciles in data["signature"].items()},
            {m: tuple(Trend.from_dict(t, encoding) for t in ts) for m, ts in data["trends"].items()},
            {m: GaussianProcess.from_dict(d) for m, d in data["alone"].items()},
            data["context"],
            data["options"],
            {metric: OfferedLoad.from_dict(d) for metric, d in data.get("loads", {}).items()},
        )

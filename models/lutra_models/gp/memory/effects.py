"""What each setting did to a metric of a past workload, with its uncertainty: one curve a setting.

A curve is the posterior's mean while one setting goes over its values and the others stay as they were measured,
averaged over the measured rows (partial dependence: Friedman, Annals of Statistics 2001, section 8.2). A mean of a
Gaussian process is linear in it, so the deviation is exact. The sum of the curves is a rough posterior that ranks
configurations without a matrix: cheap enough to ask hundreds of workloads.
Shapes: n rows, k knobs, d features, g places of a setting, r rows that are averaged over, m configurations.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from lutra_models.gp.space.encoding import SPECIAL, Array, Encoding, value_of
from lutra_models.gp.surrogate.posterior import GaussianProcess
from lutra_models.knobs import Choice, Configuration, Number, Value

PLACES = 5
"""Places of a number's curve, evenly between the least and the greatest that were measured."""
AVERAGED = 12
"""Rows that a curve is averaged over, picked evenly."""
STRONGEST = 24
"""Settings whose curves are kept."""


@dataclass(frozen=True)
class Effect:
    """One setting's curve: `gains` (g,) at `values` (g,), around their mean, in the metric's unit or on its logarithm.

    The values are options where `choice`, else numbers; between numbers the curve is a straight line, on the numbers'
    logarithm where `log`. Special values stand apart from the line: they are the last `special` of the values.
    `deviation` is that of the posterior's belief in the curve.
    """

    setting: str
    values: tuple[Value, ...]
    gains: tuple[float, ...]
    deviation: float
    log: bool = False
    choice: bool = False
    special: int = 0

    @property
    def size(self) -> float:
        """The distance from the curve's lowest to its highest gain."""
        return max(self.gains) - min(self.gains)

    def at(self, values: Sequence[Value]) -> Array:
        """(m,) gains at the setting's values; 0 at an option that the workload did not meet."""
        line = len(self.values) - self.special
        apart = dict(zip(self.values, self.gains, strict=True) if self.choice else self._apart(line))
        if self.choice:
            return np.array([apart.get(v, 0.0) for v in values])
        numbers = [v for v in values if not isinstance(v, str)]
        if len(numbers) < len(values) or not line:
            return np.array([apart.get(v, 0.0) for v in values])
        places, known = self._scaled(numbers), self._scaled(list(self.values[:line]))
        on_line = np.interp(places, known, self.gains[:line])
        return np.array([apart.get(v, float(g)) for v, g in zip(values, on_line, strict=True)])

    def _apart(self, line: int) -> list[tuple[Value, float]]:
        return list(zip(self.values[line:], self.gains[line:], strict=True))

    def _scaled(self, values: Sequence[Value]) -> Array:
        numbers = np.array(values, dtype=float)
        return np.log(np.maximum(numbers, 1e-300)) if self.log else numbers

    def to_dict(self) -> dict[str, Any]:
        return {
            "setting": self.setting,
            "values": list(self.values),
            "gains": list(self.gains),
            "deviation": self.deviation,
            **({"log": True} if self.log else {}),
            **({"choice": True} if self.choice else {}),
            **({"special": self.special} if self.special else {}),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Effect:
        values, gains = tuple(data["values"]), tuple(float(g) for g in data["gains"])
        if not values or len(values) != len(gains):
            raise ValueError(f"{data['setting']}: {len(values)} values and {len(gains)} gains")
        rest = {n: data[n] for n in ("log", "choice", "special") if n in data}
        return cls(str(data["setting"]), values, gains, float(data["deviation"]), **rest)


def effects(encoding: Encoding, gp: GaussianProcess) -> tuple[Effect, ...]:
    """The strongest curves of a posterior without trends, the strongest first; none of a setting that did not vary."""
    codes = _codes(encoding, gp)
    found = (_effect(encoding, gp, codes, j) for j in range(len(encoding.knobs)))
    told = [effect for effect in found if effect is not None]
    return tuple(sorted(told, key=lambda e: -e.size)[:STRONGEST])


def total(found: Sequence[Effect], configurations: Sequence[Configuration]) -> Array:
    """(m,) the curves' sum at configurations; a setting that those do not name adds nothing."""
    out = np.zeros(len(configurations))
    for effect in found:
        if all(effect.setting in c for c in configurations):
            out += effect.at([c[effect.setting] for c in configurations])
    return out


def unexplained(found: Sequence[Effect], encoding: Encoding, gp: GaussianProcess) -> float:
    """The variance of the rows' targets that the curves' sum leaves, in the curves' unit."""
    measured = [encoding.decode(row) for row in _codes(encoding, gp)]
    left = gp.z[: gp.read] * gp.transform.scale - total(found, measured)
    return float(np.var(left))


def _effect(encoding: Encoding, gp: GaussianProcess, codes: Array, knob: int) -> Effect | None:
    domain, column = encoding.knobs[knob].domain, codes[:, knob]
    line, special = _line(column), sorted({float(c) for c in column if c >= SPECIAL})
    if isinstance(domain, Choice):
        line = np.array(sorted({float(c) for c in column if c >= 0}))
    places = np.concatenate([line, np.array(special)])
    if len(places) < 2:
        return None
    gains, deviation = _averaged(encoding, gp, codes, knob, places)
    values = tuple(_value(domain, place) for place in places)
    is_choice = isinstance(domain, Choice)
    log = isinstance(domain, Number) and domain.log
    name = encoding.knobs[knob].name
    return Effect(name, values, tuple(gains.tolist()), deviation, log, is_choice, 0 if is_choice else len(special))


def _line(column: Array) -> Array:
    """Places between the least and the greatest; none where it never moved."""
    inside = column[column < SPECIAL]
    if not len(inside):
        return np.zeros(0)
    low, high = float(np.min(inside)), float(np.max(inside))
    return np.linspace(low, high, PLACES) if high - low > 1e-6 else np.array([low])


def _averaged(encoding: Encoding, gp: GaussianProcess, codes: Array, knob: int, places: Array) -> tuple[Array, float]:
    """(g,) the averaged curve around its mean, and the root of its mean variance, both in the metric's own scale."""
    kept = np.unique(np.linspace(0, len(codes) - 1, AVERAGED).round().astype(int))
    rows = np.tile(codes[kept], (len(places), 1))
    rows[:, knob] = np.repeat(places, len(kept))
    x, g, r = encoding.features(rows), len(places), len(kept)
    centred = np.eye(g) - 1.0 / g
    known = centred @ gp.kernel(x, gp.x).reshape(g, r, -1).mean(axis=1)
    own = gp.kernel(x, x).reshape(g, r, g, r).mean(axis=(1, 3))
    half = known @ gp.factor.T
    covariance = centred @ own @ centred - half @ half.T
    deviation = float(np.sqrt(max(float(np.mean(np.diag(covariance))), 0.0)))
    return (known @ gp.weights) * gp.transform.scale, deviation * gp.transform.scale


def _value(domain: Number | Choice, place: float) -> Value:
    if isinstance(domain, Choice):
        return domain.options[int(place)]
    if place >= SPECIAL:
        return domain.special[int(place - SPECIAL)]
    return float(value_of(domain, np.array(place)))


def _codes(encoding: Encoding, gp: GaussianProcess) -> Array:
    """(n, k) codes of the posterior's rows of features (n, d): the way back from `Encoding.features`."""
    features = gp.x[: gp.read, : gp.d]
    out = np.empty((len(features), len(encoding.knobs)))
    for j, knob in enumerate(encoding.knobs):
        block = features[:, encoding.columns(j)]
        if not isinstance(knob.domain, Choice):
            special = np.argmax(block[:, 1:], axis=1) if block.shape[1] > 1 else np.zeros(len(block))
            out[:, j] = np.where(np.any(block[:, 1:] > 0, axis=1), SPECIAL + special, block[:, 0])
        elif len(knob.domain.options) == 2:
            out[:, j] = np.where(block[:, 0] == 0.5, -1.0, block[:, 0])
        else:
            out[:, j] = np.where(np.any(block > 0, axis=1), np.argmax(block, axis=1), -1.0)
    return out

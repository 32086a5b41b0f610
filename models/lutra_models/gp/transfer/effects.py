"""The effect of each setting on a metric of a past workload, with its uncertainty: one curve a setting.

A curve is the improvement of the metric over its value at the setting's baseline, the value at which the workload
began. It is the posterior's mean while one setting goes over its values and the others stay as they were measured,
averaged over the measured rows (partial dependence: Friedman, Annals of Statistics 2001, section 8.2). A mean of a
Gaussian process is linear in it, so the deviations are exact. The posterior does not decide whether a setting has an
effect at all, see `certainty`. The sum of the curves is a rough posterior that ranks configurations without a matrix:
cheap enough for hundreds of workloads. Shapes: n rows, k knobs, d features, g places of a setting, r rows that are
averaged over, m configurations.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from lutra_models.gp.space.encoding import SPECIAL, Array, Encoding, place_of, value_of
from lutra_models.gp.surrogate.posterior import GaussianProcess
from lutra_models.gp.transfer import certainty
from lutra_models.knobs import Choice, Configuration, Number, Value

PLACES = 5
"""The number of points of a number's curve, evenly between the least and the greatest measured value; and the same
number in the sensible part of the range, if that is smaller.
"""
AVERAGED = 12
"""The number of rows over which a curve is averaged, picked evenly."""
STRONGEST = 24
"""The number of settings whose curves are kept."""
WIDER = 1.5
"""The factor by which a gain's deviation exceeds the posterior's, which is overconfident at the mode of its
hyperparameters. It is chosen so that the effects in one half of a table hold in the other.
"""
SAME = 1e-9
"""The distance up to which codes count as one point."""
ENDS = 1.645
"""Deviations from a belief's middle to the ends of its 90 % interval."""


@dataclass(frozen=True)
class Effect:
    """One setting's curve: `gains` (g,) over the baseline at `values` (g,), in the metric's unit or on its logarithm.

    A gain is positive if the metric is better than at the `baseline`, which is one of the values; `deviations` (g,) are
    those of the belief in each gain, `deviation` that of the belief in the curve around its mean. `chance` is the
    probability that a setting without any effect looks as strong, see `certainty`. The values are options with
    `choice`, otherwise numbers. Between numbers the curve is a straight line, with `log` on the numbers' logarithm.
    Special values are apart from the line: they are the last `special` of the values. Values outside `serves` (from,
    to) were measured, but suit no server on such a host.
    """

    setting: str
    values: tuple[Value, ...]
    gains: tuple[float, ...]
    deviations: tuple[float, ...]
    baseline: Value
    deviation: float
    chance: float = 1.0
    log: bool = False
    choice: bool = False
    special: int = 0
    serves: tuple[float, float] | None = None

    @property
    def certain(self) -> bool:
        """Whether the setting had an effect, at a false discovery rate of `certainty.RATE`, with a known direction: the
        90 % interval of its largest change excludes 0.
        """
        return self.chance <= certainty.RATE and abs(self.largest[1]) > ENDS * self.deviations[self._largest]

    @property
    def best(self) -> Value:
        """The sensible value with the greatest gain."""
        return self.values[self._best]

    @property
    def gain(self) -> float:
        """The gain of `best` over the baseline; 0 if no value is better."""
        return self.gains[self._best]

    @property
    def interval(self) -> tuple[float, float]:
        """The 90 % interval of the belief in `gain`."""
        half = ENDS * self.deviations[self._best]
        return self.gain - half, self.gain + half

    @property
    def size(self) -> float:
        """The largest change from the baseline by a sensible value, for better or for worse."""
        return abs(self.largest[1])

    @property
    def _best(self) -> int:
        return max(self._serving(), key=lambda i: self.gains[i])

    @property
    def _largest(self) -> int:
        return max(self._serving(), key=lambda i: abs(self.gains[i]))

    def _serving(self) -> list[int]:
        """Places of the values that serve: the baseline does, and so do options and special values."""
        line = len(self.values) - self.special
        low, high = self.serves or (-np.inf, np.inf)
        near = 1e-9 * max(abs(low), abs(high)) if self.serves else 0.0
        return [
            i
            for i, v in enumerate(self.values)
            if i >= line or isinstance(v, str) or v == self.baseline or low - near <= v <= high + near
        ]

    @property
    def largest(self) -> tuple[Value, float]:
        """The sensible value with the largest change from the baseline, and that change."""
        return self.values[self._largest], self.gains[self._largest]

    def at(self, values: Sequence[Value]) -> Array:
        """(m,) gains at the setting's values; the mean of all at a value that the curve does not have."""
        line, elsewhere = len(self.values) - self.special, float(np.mean(self.gains))
        apart = dict(zip(self.values, self.gains, strict=True) if self.choice else self._apart(line))
        if self.choice:
            return np.array([apart.get(v, elsewhere) for v in values])
        numbers = [v for v in values if not isinstance(v, str)]
        if len(numbers) < len(values) or not line:
            return np.array([apart.get(v, elsewhere) for v in values])
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
            "deviations": list(self.deviations),
            "baseline": self.baseline,
            "deviation": self.deviation,
            "chance": self.chance,
            **({"log": True} if self.log else {}),
            **({"choice": True} if self.choice else {}),
            **({"special": self.special} if self.special else {}),
            **({"serves": list(self.serves)} if self.serves else {}),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Effect:
        """The effect that `to_dict` wrote. Raises ValueError."""
        values, gains, deviation = tuple(data["values"]), tuple(map(float, data["gains"])), float(data["deviation"])
        deviations = tuple(map(float, data["deviations"]))
        if not values or len(values) != len(gains) or len(values) != len(deviations):
            raise ValueError(f"{data['setting']}: {len(values)} values and {len(gains)} gains")
        rest = {n: data[n] for n in ("log", "choice", "special") if n in data}
        serves = (float(data["serves"][0]), float(data["serves"][1])) if data.get("serves") else None
        told = (str(data["setting"]), values, gains, deviations, data["baseline"], deviation, float(data["chance"]))
        return cls(*told, **rest, serves=serves)


def effects(encoding: Encoding, gp: GaussianProcess, home: Array, good: float) -> tuple[Effect, ...]:
    """The strongest curves of a posterior without trends: the certain ones first, and of these the strongest.

    None of a setting that did not vary. `home` (k,) are the codes at which the workload began; `good` is +1 if more
    of the metric is better, else -1.
    """
    curves = _Curves(encoding, gp, _codes(encoding, gp), home, good)
    found = (curves.of(j) for j in range(len(encoding.knobs)))
    told = [effect for effect in found if effect is not None]
    return tuple(sorted(told, key=lambda e: (not e.certain, -e.size))[:STRONGEST])


def total(found: Sequence[Effect], configurations: Sequence[Configuration]) -> Array:
    """(m,) the curves' sum at configurations; a setting that those do not name adds nothing."""
    out = np.zeros(len(configurations))
    for effect in found:
        if all(effect.setting in c for c in configurations):
            out += effect.at([c[effect.setting] for c in configurations])
    return out


def unexplained(found: Sequence[Effect], encoding: Encoding, gp: GaussianProcess, good: float) -> float:
    """The variance of the rows' targets that the curves' sum leaves, in the curves' unit."""
    measured = [encoding.decode(row) for row in _codes(encoding, gp)]
    left = good * gp.z[: gp.read] * gp.transform.scale - total(found, measured)
    return float(np.var(left))


class _Curves:
    """What one posterior's curves are made of; see `effects`."""

    def __init__(self, encoding: Encoding, gp: GaussianProcess, codes: Array, home: Array, good: float) -> None:
        self._encoding, self._gp, self._codes, self._home, self._good = encoding, gp, codes, home, good
        self._rows = codes[np.unique(np.linspace(0, len(codes) - 1, AVERAGED).round().astype(int))]
        self._chances = certainty.chances(encoding, codes, gp.z[: gp.read])

    def of(self, knob: int) -> Effect | None:
        """None if it did not vary."""
        domain, name = self._encoding.knobs[knob].domain, self._encoding.knobs[knob].name
        if len(np.unique(self._codes[:, knob])) < 2:
            return None
        places, even = _places(domain, self._codes[:, knob], self._home[knob])
        began = int(np.argmin(np.abs(places - self._home[knob])))
        gains, deviations, deviation = self._averaged(knob, places, began, even)
        values = tuple(_value(domain, place) for place in places)
        number = domain if isinstance(domain, Number) else None
        return Effect(
            name,
            values,
            tuple(gains.tolist()),
            tuple(deviations.tolist()),
            values[began],
            deviation,
            self._chances.get(name, 1.0),
            log=number is not None and number.log,
            choice=number is None,
            special=int(np.sum(places >= SPECIAL)) if number is not None else 0,
            serves=None if number is None else number.serves,
        )

    def _averaged(self, knob: int, places: Array, began: int, even: Array) -> tuple[Array, Array, float]:
        """(g,) the averaged curve over its value at the place `began`, (g,) the deviations of that, and the root of the
        mean variance around the curve's mean over its `even` places, in the metric's own scale."""
        gp, g, r = self._gp, len(places), len(self._rows)
        rows = np.tile(self._rows, (g, 1))
        rows[:, knob] = np.repeat(places, r)
        x = self._encoding.features(rows)
        known = gp.kernel(x, gp.x).reshape(g, r, -1).mean(axis=1)
        own = gp.kernel(x, x).reshape(g, r, g, r).mean(axis=(1, 3))
        half = known @ gp.factor.T
        covariance = own - half @ half.T
        spread = np.diag(covariance)
        against = spread + spread[began] - 2.0 * covariance[:, began]
        around = max(float(np.mean(spread[even]) - np.mean(covariance[np.ix_(even, even)])), 0.0)
        gains = self._good * ((known - known[began]) @ gp.weights)
        scale = gp.transform.scale
        return gains * scale, WIDER * np.sqrt(np.maximum(against, 0.0)) * scale, float(np.sqrt(around)) * scale


def _places(domain: Number | Choice, column: Array, home: float) -> tuple[Array, Array]:
    """(g,) codes in ascending order: the options, or a line's places and then the special values; `home` among them.

    And (g,) whether each counts for the curve as a whole: those do not that are there for the range that serves, or for
    `home`, since how many there are of these says nothing of the workload.
    """
    met = np.unique([*column, home])
    if isinstance(domain, Choice):
        options = met[met >= 0]
        return options, np.ones(len(options), dtype=bool)
    inside = column[column < SPECIAL]
    low, high = (float(np.min(inside)), float(np.max(inside))) if len(inside) else (0.0, 0.0)
    evenly = np.linspace(low, high, PLACES) if high - low > 1e-6 else inside[:1]
    line = [*evenly]
    if domain.serves is not None and len(inside):
        first, last = np.clip(place_of(domain, np.array(domain.serves)), low, high)
        line += [*np.linspace(first, last, PLACES)]
    line += [home] if home < SPECIAL else []
    apart = np.diff(line := sorted(line), prepend=-np.inf) > SAME
    places = np.concatenate([np.array(line)[apart], met[met >= SPECIAL]])
    return places, (places >= SPECIAL) | np.any(np.abs(places[:, None] - evenly) <= SAME, axis=1)


def _value(domain: Number | Choice, place: float) -> Value:
    if isinstance(domain, Choice):
        return domain.options[int(place)]
    if place >= SPECIAL:
        return domain.special[int(place - SPECIAL)]
    return float(f"{float(value_of(domain, np.array(place))):.12g}")


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

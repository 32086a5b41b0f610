"""A test whether the server's readings have drifted: the change over time that all configurations share, apart from the
settings.

A session's readings are not exchangeable: a cold cache, a neighbour or a slower disk shifts everything from some trial
on. The candidate courses are a step at every place and a slope. Each is one more column of the readings' own Gaussian
process, with a coefficient that is zero by its prior. Its score is the growth of the log evidence at the
hyperparameters' mode, less the logarithm of the number of courses (Rasmussen & Williams, sections 2.7 and 5.4.1). A
search that moves to a better place looks like a step as well: only a configuration that was read on both sides
distinguishes the two. A course without such a witness is therefore a suspicion, and with one a change. Shapes: n
readings in their order, d features, c courses.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from lutra_models.gp.options import Drifts, Options
from lutra_models.gp.space.encoding import Array, Encoding
from lutra_models.gp.surrogate.base import posterior_at
from lutra_models.gp.surrogate.dataset import Grouped, Readings, readings_of
from lutra_models.gp.surrogate.map_estimate import Problem, covariance_at, highest
from lutra_models.gp.surrogate.posterior import GaussianProcess
from lutra_models.knobs import Configuration


@dataclass(frozen=True)
class Change:
    """One change of the level: a step after reading `first` = `last` - 1, or a slope from `first` to `last`.

    `size` is added to readings up to `first` so that they read as those from `last` on: of logarithms if the metric is
    modelled by them, otherwise in its unit.
    """

    first: int
    last: int
    size: float

    def course(self, n: int) -> Array:
        """(n,) 1 before the change, 0 after it."""
        return self.course_at(np.arange(n, dtype=float))

    def course_at(self, places: Array) -> Array:
        """The same at (m,) positions among the readings, which may lie between two of them."""
        return np.asarray(np.clip((self.last - places) / (self.last - self.first), 0.0, 1.0))


@dataclass(frozen=True)
class Drift:
    """A metric's changes that witnesses prove, and the position of a change that none proves or disproves yet."""

    log: bool = True
    changes: tuple[Change, ...] = ()
    suspected: Change | None = None

    def now(self, values: Array) -> Array:
        """The readings (n,) of the metric as the server would give them now."""
        return self.now_at(values, np.arange(len(values), dtype=float))

    def now_at(self, values: Array, places: Array) -> Array:
        """The same for values (m,) at places (m,) among the readings, which may lie between two of them."""
        shift = sum((c.size * c.course_at(places) for c in self.changes), np.zeros(len(values)))
        return np.asarray(values * np.exp(shift) if self.log else values + shift)

    def to_dict(self) -> dict[str, Any]:
        rows = [[c.first, c.last, c.size] for c in self.changes]
        s = self.suspected
        return {"log": self.log, "changes": rows, "suspected": None if s is None else [s.first, s.last, s.size]}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Drift:
        s = data["suspected"]
        changes = tuple(Change(*row) for row in data["changes"])
        return cls(bool(data["log"]), changes, None if s is None else Change(*s))


STEADY = Drift()


def drift(pairs: Sequence[tuple[Configuration, float]], encoding: Encoding, good: float, options: Options) -> Drift:
    """The drift of a metric's readings, in their order; `good` is +1 if a larger reading is better, else -1.

    Readings without a posterior show no change, and neither do readings that are all zero.
    """
    skipped = max(0, len(pairs) - options.drift.most_rows)
    newest = pairs[skipped:]
    if len(newest) < options.drift.least_rows or not any(value for _, value in newest):
        return STEADY
    alone = Grouped.apart(newest)
    readings = readings_of(alone, encoding, good, options.targets, drawn=True)
    transform, twice = readings.transform, readings.transform.relative(1.0, alone.values)
    scale = 1.0 / twice if transform.log else transform.scale
    doubt = options.drift.size * twice
    try:
        found, doubtful = _Look(readings, _sides(alone.configurations), doubt, options).found()
    except np.linalg.LinAlgError:
        return STEADY

    def placed(change: Change) -> Change:
        return Change(skipped + change.first, skipped + change.last, scale * change.size)

    return Drift(transform.log, tuple(map(placed, found)), None if doubtful is None else placed(doubtful))


def _sides(configurations: Sequence[Configuration]) -> Array:
    """(r, 2) for each configuration that was read again, the places of its first and its last reading."""
    places: dict[Configuration, list[int]] = {}
    for i, configuration in enumerate(configurations):
        places.setdefault(configuration, []).append(i)
    return np.array([[p[0], p[-1]] for p in places.values() if len(p) > 1], dtype=int).reshape(-1, 2)


@dataclass(frozen=True, eq=False)
class _Look:
    readings: Readings
    sides: Array
    doubt: float
    """The deviation of a change's size around none, in standard units."""
    options: Options

    @property
    def rules(self) -> Drifts:
        return self.options.drift

    def found(self) -> tuple[list[Change], Change | None]:
        """The proven changes with their sizes in standard units, and the first suspicion."""
        n = len(self.readings.z)
        candidates = [Change(t - 1, t, 0.0) for t in range(2, n - 1)] + [Change(0, n - 1, 0.0)]
        courses = np.stack([c.course(n) for c in candidates], axis=1)
        kept: list[int] = []
        gp, density = self._fitted(courses[:, kept])
        while len(kept) < self.rules.most_changes:
            best = self._likeliest(gp, courses)
            if best is None:
                break
            fuller, higher = self._fitted(courses[:, [*kept, best]])
            witnessed = self._witnessed(candidates[best])
            opening = not witnessed and candidates[best].last <= self.options.search.opening_trials
            asked = self.rules.evidence + (self.rules.opening if opening else 0.0)
            if higher - density < asked + math.log(len(candidates)):
                break
            if not witnessed:
                return self._sized(candidates, kept, gp), candidates[best]
            kept, gp, density = [*kept, best], fuller, higher
        return self._sized(candidates, kept, gp), None

    def _fitted(self, columns: Array) -> tuple[GaussianProcess, float]:
        """The readings' own posterior with these courses (n, c), and the log density of its hyperparameters' mode."""
        none = np.zeros(columns.shape[1])
        with_columns = replace(self.readings, trends=columns, slopes=none, doubts=none + self.doubt)
        belief, steps = self.options.surrogate.broad, self.options.surrogate.steps
        with np.errstate(all="ignore"):
            problem = Problem.of(with_columns, belief, self.options.surrogate)
            point, density = highest(problem, steps)
        return posterior_at(with_columns, *covariance_at(problem, point)), density

    def _likeliest(self, gp: GaussianProcess, courses: Array) -> int | None:
        """The course whose column adds most to the evidence at the hyperparameters as they are."""
        half = gp.factor @ courses
        power, pull = np.sum(half * half, 0), half.T @ (gp.factor @ (gp.z - gp.prior_mean(gp.x)))
        gains = 0.5 * pull**2 / (power + self.doubt**-2) - 0.5 * np.log1p(self.doubt**2 * power)
        best = int(np.argmax(gains))
        return best if gains[best] > self.rules.promise else None

    def _witnessed(self, change: Change) -> bool:
        """Whether some configuration was read before the change and after it."""
        course = change.course(len(self.readings.z))
        return bool(len(self.sides)) and bool(np.any(course[self.sides[:, 0]] - course[self.sides[:, 1]] > 0.5))

    def _sized(self, candidates: Sequence[Change], kept: list[int], gp: GaussianProcess) -> list[Change]:
        pulls = self.doubt**2 * (gp.x[:, gp.d :].T @ gp.weights)
        return [replace(candidates[j], size=-float(pull)) for j, pull in zip(kept, pulls, strict=True)]

"""History in, recommendation out; and a loop of it: ask for a configuration, measure it, add the result.

Every function here is pure: the same history, options and generator give the same answer in any process.
"""

from __future__ import annotations

import copy
import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, overload

import numpy as np

from lutra_models.advice import Recommendation
from lutra_models.gp.fitted.snapshot import Snapshot
from lutra_models.gp.learning.fit import learn, teachable
from lutra_models.gp.model import Model, recommendations
from lutra_models.gp.options import DEFAULT, Options
from lutra_models.gp.options.reading import Named
from lutra_models.gp.transfer.contexts import split
from lutra_models.history import History
from lutra_models.knobs import Configuration, KnobSpace
from lutra_models.metrics import Objective

Past = Sequence[History | Snapshot]
Seed = int | np.random.Generator
_ONE_READING = 1


def fit(
    history: History,
    past: Past = (),
    *,
    rng: Seed,
    options: Options | None = None,
    surrogate: str | Named | None = None,
    kernel: str | Named | None = None,
    acquisition: str | Named | None = None,
) -> Model:
    """The model of `history` together with `past`: histories or snapshots of other workloads.

    `rng` is a seed or a generator, of which the model keeps a copy. `options` are the shipped ones by default;
    `surrogate`, `kernel` and `acquisition` replace their parts, each an object or a name. Raises FitFailed if the
    observations admit no model, and TypeError for an argument of another type.
    """
    if not isinstance(history, History):
        raise TypeError(f"fit takes a History(space, objective, observations=…), got {history!r:.80}")
    options = _chosen(options, surrogate, kernel, acquisition)
    history, elsewhere = split(history)
    snapshots = _snapshots((*_workloads(past), *elsewhere), options)
    known = teachable(history, _ONE_READING)
    learned = learn(history, snapshots, _ONE_READING, options) if known else None
    return Model(history, learned, bool(snapshots), options, copy.deepcopy(np.random.default_rng(rng)))


def recommend(
    history: History,
    past: Past = (),
    *,
    rng: Seed,
    safe: bool = False,
    max_changes: int | None = None,
    exploration: int | None = None,
    options: Options | None = None,
) -> Recommendation:
    """`fit(…).recommend(safe=…, max_changes=…, exploration=…)`, drawn from `rng` itself. Raises FitFailed."""
    rng = np.random.default_rng(rng)
    model = fit(history, past, rng=rng, options=options)
    (chosen,) = recommendations(model, 1, safe, rng, max_changes, exploration)
    return chosen


class Tuner:
    """Proposes configurations, and learns from their readings.

        tuner = Tuner(KnobSpace([Knob("x", Number(-10, 10))]), Objective("loss", "minimize"))
        for _ in range(12):
            asked = tuner.ask()
            tuner.tell(asked, (asked["x"] - 2) ** 2)
        tuner.best().configuration

    The same space, readings and seed give the same configurations. `history` holds the readings that were passed to
    `tell`; `model` is fitted to it, and predicts, ranks and recommends.
    """

    history: History

    def __init__(
        self,
        space: KnobSpace,
        objective: Objective,
        *,
        rng: Seed = 0,
        past: Past = (),
        options: Options | None = None,
        surrogate: str | Named | None = None,
        kernel: str | Named | None = None,
        acquisition: str | Named | None = None,
        **history: Any,
    ) -> None:
        """`past` are histories or snapshots of other workloads. `surrogate`, `kernel` and `acquisition` take the place
        of those of `options`, each an object or a name. `history` is as for a `History`: `limits`, `current`,
        `baseline`, `observations`, … Raises TypeError for an argument of another type.
        """
        self.history = History(space, objective, **history)
        self._rng, self._past = np.random.default_rng(rng), _workloads(past)
        self._options = _chosen(options, surrogate, kernel, acquisition)
        self._model: Model | None = None

    @overload
    def ask(self, count: None = None) -> Configuration: ...
    @overload
    def ask(self, count: int) -> tuple[Configuration, ...]: ...
    def ask(self, count: int | None = None) -> Configuration | tuple[Configuration, ...]:
        """The configuration to measure next; with a `count`, as many that are measured side by side.

        A configuration that `ask` returned is pending, and influences the next ones, until `tell` gets its result.
        Raises FitFailed, SpaceExhausted if the rules leave nothing to try, and ValueError for a `count` below 1.
        """
        model = self.model
        made = recommendations(model, 1 if count is None else count, False, self._rng)
        asked = tuple(one.configuration for one in made)
        pending = (*self.history.pending, *asked)
        self.history = replace(self.history, pending=pending)
        self._model = replace(model, history=replace(model.history, pending=pending))
        return asked[0] if count is None else asked

    def tell(
        self,
        configuration: Mapping[str, Any],
        measured: float | Mapping[str, float] | None = None,
        *,
        failure: str | None = None,
        **more: Any,
    ) -> None:
        """Add the result of a configuration, asked for or not: the objective, several metrics by name, or the reason
        why there is no reading.

        `tell(asked, failure="did_not_start")` keeps the search away from there. `more` is as for an observation. Raises
        ValueError if both are given, or neither.
        """
        self.history = self.history.tell(configuration, measured, failure=failure, **more)
        self._model = None

    @property
    def model(self) -> Model:
        """The model of the readings so far. Raises FitFailed."""
        if self._model is None:
            self._model = fit(self.history, self._past, rng=self._rng, options=self._options)
        return self._model

    def best(self) -> Recommendation:
        """The configuration to deploy now, with its predictions: `model.best()`. Raises NotEnoughObservations."""
        return self.model.best()

    def __repr__(self) -> str:
        return f"Tuner({self.history!r})"


def _chosen(
    options: Options | None, surrogate: str | Named | None, kernel: str | Named | None, acquisition: str | Named | None
) -> Options:
    """Raises TypeError."""
    options = DEFAULT if options is None else options
    if not isinstance(options, Options):
        raise TypeError(f"options are Options(search=Search(…)) or Options().varied(…), got {options!r:.80}")
    return options.using(surrogate=surrogate, kernel=kernel, acquisition=acquisition)


def _workloads(past: Past) -> Past:
    """Raises TypeError."""
    strange = (
        [past] if isinstance(past, History | Snapshot) else [p for p in past if not isinstance(p, History | Snapshot)]
    )
    if strange:
        raise TypeError(f"past is a list of histories and snapshots, got {strange[0]!r:.80}")
    return past


_FITTED: OrderedDict[tuple[str, str], Snapshot] = OrderedDict()
"""Past histories already fitted, by their content and the options: these give the same snapshot."""
_FITTED_LOCK = threading.Lock()
_FITTED_AT_MOST = 32


def _snapshots(past: Past, options: Options) -> tuple[Snapshot, ...]:
    """Each past workload as a snapshot; those with too few readings to teach anything are left out."""
    fitted = (p if isinstance(p, Snapshot) else _snapshot(p, options) for p in past)
    return tuple(s for s in fitted if s is not None)


def _snapshot(history: History, options: Options) -> Snapshot | None:
    """Kept by its content and the options, unless these hold an object: two objects may have one name."""
    if options.holds_objects:
        return _fitted(history, options)
    key = history.key, options.fingerprint
    with _FITTED_LOCK:
        known = _FITTED.get(key)
    if known is None and (known := _fitted(history, options)) is not None:
        with _FITTED_LOCK:
            _FITTED[key] = known
            while len(_FITTED) > _FITTED_AT_MOST:
                _FITTED.popitem(last=False)
    return known


def _fitted(history: History, options: Options) -> Snapshot | None:
    if not teachable(history):
        return None
    model = fit(history, rng=0, options=options)
    return model.snapshot if model.predicts else None

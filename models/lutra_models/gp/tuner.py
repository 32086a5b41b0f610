"""A tuning loop of one's own: ask for a configuration, measure it, tell what it read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, overload

import numpy as np

from lutra_models.advice import Recommendation
from lutra_models.gp.model import Model, recommendations
from lutra_models.gp.options import Options
from lutra_models.gp.options.reading import Named
from lutra_models.gp.recommender import Past, Seed, fit
from lutra_models.history import History
from lutra_models.knobs import Configuration, KnobSpace
from lutra_models.metrics import Objective


class Tuner:
    """Asks for configurations, and learns from what they read.

        tuner = Tuner(KnobSpace([Knob("x", Number(-10, 10))]), Objective("loss", "minimize"))
        for _ in range(12):
            asked = tuner.ask()
            tuner.tell(asked, (asked["x"] - 2) ** 2)
        tuner.best().configuration

    The same space, readings and seed give the same configurations. `history` holds what was told; `model` is fitted to
    it, and predicts, ranks and recommends.
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
        self._rng = np.random.default_rng(rng)
        parts = {"surrogate": surrogate, "kernel": kernel, "acquisition": acquisition}
        self._fit: dict[str, Any] = {"past": past, "options": options, **parts}
        self._model: Model | None = None

    @overload
    def ask(self, count: None = None) -> Configuration: ...
    @overload
    def ask(self, count: int) -> tuple[Configuration, ...]: ...
    def ask(self, count: int | None = None) -> Configuration | tuple[Configuration, ...]:
        """The configuration to measure next; with a `count`, as many that are measured side by side.

        An asked one is pending, and shapes what is asked next, until it is told. Raises FitFailed, SpaceExhausted where
        rules leave nothing to try, and ValueError for a `count` below 1.
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
        """What a configuration read, asked for or not: the objective, several metrics by name, or why there is nothing.

        `tell(asked, failure="did_not_start")` keeps the search away from there. `more` is as for an observation. Raises
        ValueError where both are given, or neither.
        """
        self.history = self.history.tell(configuration, measured, failure=failure, **more)
        self._model = None

    @property
    def model(self) -> Model:
        """What the readings teach so far. Raises FitFailed."""
        if self._model is None:
            self._model = fit(self.history, rng=self._rng, **self._fit)
        return self._model

    def best(self) -> Recommendation:
        """What to deploy now, with its predictions: `model.best()`. Raises NotEnoughObservations."""
        return self.model.best()

    def __repr__(self) -> str:
        return f"Tuner({self.history!r})"

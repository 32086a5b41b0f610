"""The lessons of one history, as an object: it recommends the next configuration, names the best one, and predicts."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeVar, overload

import numpy as np

from lutra_models.advice import Prediction, Recommendation, SearchOrigin, Share
from lutra_models.errors import InvalidConfiguration, NotEnoughObservations
from lutra_models.gp.advice import advise
from lutra_models.gp.advice.measured_comparisons import Shown
from lutra_models.gp.fitted.snapshot import Snapshot
from lutra_models.gp.learning.fit import ENOUGH, teachable
from lutra_models.gp.learning.learned import Learned, least_reading
from lutra_models.gp.options import Options
from lutra_models.gp.reasons import final_reasons, reasons
from lutra_models.gp.saved import generator_from_dict, generator_to_dict, learned_from_dict, learned_to_dict
from lutra_models.gp.search.careful import CAREFUL
from lutra_models.gp.search.exploring import EXPLORING
from lutra_models.gp.search.few_changes import verify_most, with_few_changes, with_few_starts
from lutra_models.gp.search.final import Final, final
from lutra_models.gp.search.shortening import path
from lutra_models.gp.search.strategy import Strategy
from lutra_models.history import SETTING, History, rows_of
from lutra_models.knobs import Configuration, Value
from lutra_models.serial import history_from_dict, history_to_dict
from lutra_models.server import Policy, Server

Frame = TypeVar("Frame")
_FORMAT = 1


@dataclass(frozen=True, eq=False)
class Model:
    """A history and its fitted models; `fit` makes one. The same question always has the same answer.

    `history` holds the readings of its own context alone. `learned` is None before the first reading of the objective.
    `uses_past` says that it was given past workloads.
    """

    history: History
    learned: Learned | None
    uses_past: bool
    options: Options
    rng: np.random.Generator
    """The state of the generator after the fit. Each answer draws from a copy."""

    @property
    def predicts(self) -> bool:
        """Whether there are enough readings to predict from: two of the objective."""
        return self.learned is not None and teachable(self.history)

    @property
    def past_weights(self) -> dict[int, float]:
        """By its place among those that `fit` was given, the weight of each past workload that it uses, 0 to 1.

        Of the objective: by what is searched, and where past workloads do not lead this time, by what is predicted.
        """
        learned = self.learned
        trends = () if learned is None else learned.trends or learned.wary_trends
        return {t.place: t.weight for t in trends}

    @cached_property
    def snapshot(self) -> Snapshot:
        """The plain numbers that predictions need. Raises NotEnoughObservations."""
        from lutra_models.gp.transfer.signature import signature  # sklearn is slow to import, and only this needs it

        learned = self._fitted()
        return replace(learned.snapshot, signature=signature(self.history, self.options.transfer))

    @overload
    def recommend(
        self, count: None = None, *, safe: bool = ..., max_changes: int | None = ..., exploration: int | None = ...
    ) -> Recommendation: ...
    @overload
    def recommend(
        self, count: int, *, safe: bool = ..., max_changes: int | None = ..., exploration: int | None = ...
    ) -> tuple[Recommendation, ...]: ...
    def recommend(
        self,
        count: int | None = None,
        *,
        safe: bool = False,
        max_changes: int | None = None,
        exploration: int | None = None,
    ) -> Recommendation | tuple[Recommendation, ...]:
        """The configuration to measure next; with a `count`, as many that are measured side by side.

        `safe` recommends only configurations that are probably at least as good as the current one. `exploration` is
        the number of trials left that may only serve learning; with it, the result is advice for a live database.
        Evidence, readings or past workloads recommend that advice; the origin is `nothing` if they recommend no change
        (see `gp.advice`). At most `max_changes` settings differ from the history's baseline (without one, from its
        current configuration). Raises ValueError for `max_changes` below 1, for one without a configuration to count
        changes from, and for a live recommendation without a current configuration.
        """
        made = recommendations(self, 1 if count is None else count, safe, self._generator(), max_changes, exploration)
        return made[0] if count is None else made

    def best(self, baseline: Configuration | None = None, *, max_changes: int | None = None) -> Recommendation:
        """The configuration to deploy now: the best by posterior among those that were measured and never failed.

        With a `baseline` (the history's, where none is given) it gives way to what was measured too, changes fewer of
        its settings, and loses next to none of the predicted gain; `simplified_from` then names it. At most
        `max_changes` settings differ: what changes so few may never have been measured. The current configuration
        stays, and so does `baseline`, where nothing is better by more than a reading's noise; see `search.final`.
        Raises NotEnoughObservations if
        nothing was measured and there is no `baseline`, and ValueError for `max_changes` below 1 or with nothing to
        count changes from.
        """
        verify_most(max_changes)
        baseline = self.history.baseline if baseline is None else baseline
        if self.learned is not None:
            ended = final(self.learned, baseline, max_changes)
        elif baseline is not None:
            ended = Final("baseline", baseline)
        else:
            metric = self.history.objective.metric
            raise NotEnoughObservations(f"{metric} was not measured under any configuration yet")
        if self.history.evidence is not None and self.history.current is not None:
            ended = ended.instead(Shown(self.history, self.history.current).ends_on(ended.configuration), baseline)
        before, chosen = self.history.current, ended.configuration
        why = final_reasons(before, chosen, ended.origin, baseline) if before else ()
        told = self._predicted(chosen)
        return Recommendation(chosen, ended.origin, told, why, ended.curve, ended.simplified_from)

    @overload
    def predict(self, rows: Sequence[Mapping[str, Any]], level: float = ...) -> list[dict[str, Prediction]]: ...
    @overload
    def predict(self, rows: Frame, level: float = ...) -> Frame: ...
    def predict(self, rows: Any, level: float = 0.9) -> Any:
        """The predicted readings of configurations, noise included: for a list, a `Prediction` by metric for each one;
        for a pandas frame, a frame.

        A frame has a row a configuration, a column a setting, and its answer the same index with the columns
        `qps.median`, `qps.low`, `qps.high`, … for each metric; low and high are the central interval at `level`. An
        exported frame is read as by `History.from_frame`. Columns that are not knobs of the history are ignored. Raises
        NotEnoughObservations, InvalidConfiguration for a row that lacks one of the knobs, and TypeError for what is
        neither a list of rows nor a frame.
        """
        snapshot, whole = self._fitted().snapshot, self._whole(rows_of(rows))
        if not hasattr(rows, "to_dict"):
            return snapshot.predict(whole, level)
        return type(rows)(snapshot.columns(whole, level), index=rows.index)

    def ranking(self) -> dict[str, float]:
        """The importance of the knobs, the strongest first: 1 is first by every measure, 0 last by every one.

        It is a mean of ranks by three measures (see `search.knob_ranking`) and not a share: twice the number is not
        twice the effect. Raises NotEnoughObservations.
        """
        from lutra_models.gp.search.knob_ranking import mean_places  # sklearn again

        learned = self._fitted()
        places = mean_places(learned.encoding, learned.wary, self._generator(), self.options.search)
        last = max(len(places) - 1, 1)
        names = self.history.space.names
        return {names[j]: 1.0 - float(places[j]) / last for j in np.argsort(places, kind="stable")}

    def save(self, server: Server | None = None, policy: Policy | None = None) -> dict[str, Any]:
        """A JSON-able document: the history, what was fitted, the options and the generator's state.

        Rules are code: they are restored if the document also has the `server` and the `policy` from which they were
        made. Raises ValueError for a generator that `numpy.random.default_rng` did not make.
        """
        return {
            "format": _FORMAT,
            "history": history_to_dict(self.history, server, policy),
            "learned": None if self.learned is None else learned_to_dict(self.learned),
            "leans": self.uses_past,
            "options": self.options.to_dict(),
            "rng": generator_to_dict(self.rng),
        }

    @classmethod
    def load(cls, document: Mapping[str, Any]) -> Model:
        """The model that `save` wrote. Raises ValueError for a document of another format."""
        if document.get("format") != _FORMAT:
            raise ValueError(f"unknown model format {document.get('format')!r}, expected {_FORMAT}")
        history, options = history_from_dict(document["history"]), Options.from_dict(document["options"])
        kept = document["learned"]
        learned = None if kept is None else learned_from_dict(kept, history=history, options=options)
        return cls(history, learned, document["leans"], options, generator_from_dict(document["rng"]))

    def __repr__(self) -> str:
        told = "predicts" if self.predicts else "has too few readings to predict"
        return f"Model({self.history!r}; {told})"

    def _whole(self, rows: Sequence[Mapping[str, Value]]) -> Sequence[Mapping[str, Value]]:
        """The rows, each with every knob. Raises InvalidConfiguration and TypeError."""
        names = self.history.space.names
        if any(name.startswith(SETTING) for row in rows for name in row):
            rows = [{n.removeprefix(SETTING): v for n, v in row.items() if n.startswith(SETTING)} for row in rows]
        for n, row in enumerate(rows):
            if missing := [name for name in names if name not in row]:
                unknown = [name for name in row if name not in names]
                hint = f"; it has {', '.join(unknown)}, which the model does not know" if unknown else ""
                raise InvalidConfiguration(f"row {n}: no value of {', '.join(missing)}{hint}")
        return rows

    def _fitted(self) -> Learned:
        """What there is to predict from. Raises NotEnoughObservations."""
        if self.learned is None or not self.predicts:
            metric = self.history.objective.metric
            count = len(self.history.values(metric))
            raise NotEnoughObservations(
                f"{metric} was measured {count} times; a model needs at least {ENOUGH} readings"
            )
        return self.learned

    def _predicted(self, configuration: Configuration) -> dict[str, Prediction]:
        if self.learned is None or not self.predicts:
            return {}
        return self.learned.snapshot.predict([configuration])[0]

    def _generator(self) -> np.random.Generator:
        return copy.deepcopy(self.rng)


def recommendations(
    model: Model,
    count: int,
    safe: bool,
    rng: np.random.Generator,
    max_changes: int | None = None,
    exploration: int | None = None,
) -> tuple[Recommendation, ...]:
    """As `model.recommend`, with the randomness of `rng`."""
    if count < 1:
        raise ValueError(f"count must be at least 1, got {count}")
    if exploration is not None and (not safe or exploration < 0 or count != 1):
        raise ValueError("exploration is a number of trials, for one safe recommendation at a time")
    verify_most(max_changes)
    if exploration is not None:
        return (_live(model, rng, max_changes, exploration),)
    chosen: list[Recommendation] = []
    for _ in range(count):
        pending = (*model.history.pending, *(r.configuration for r in chosen))
        chosen.append(_next(model, pending, safe, rng, max_changes))
    return tuple(chosen)


def _next(
    model: Model, pending: tuple[Configuration, ...], safe: bool, rng: np.random.Generator, most: int | None
) -> Recommendation:
    history = replace(model.history, pending=pending)
    learned = model.learned if model.uses_past or safe or model.predicts else None
    strategy: Strategy = CAREFUL if safe else EXPLORING
    if most is not None:
        history = with_few_starts(history, most)
    step = strategy.choose(history, learned, rng, model.options)
    if most is not None:
        step = with_few_changes(history, learned, step, most, safe, model.options.search)
    origin, configuration = step
    before = history.current or (history.observations[0].configuration if history.observations else None)
    snapshot = learned.snapshot if learned else None
    why = reasons(before, configuration, history.objective, snapshot, origin) if before else ()
    told, curve = model._predicted(configuration), _curve(model, configuration)
    return Recommendation(configuration, origin, told, why, curve, abandon_below=abandon_below(model, origin))


def _live(model: Model, rng: np.random.Generator, most: int | None, exploration: int) -> Recommendation:
    """Advice for a live database. What belongs to evidence has its own reasons; the model adds what it predicts."""
    history, learned = model.history, model.learned
    found = advise(history, learned, rng, model.options, exploration=exploration, most=most)
    configuration, current = found.configuration, history.current or found.configuration
    snapshot = learned.snapshot if learned is not None and model.predicts else None
    predicted = reasons(current, configuration, history.objective, snapshot, found.origin)
    effects = {r.knob: r.effect for r in predicted}
    why = tuple(replace(r, effect=effects.get(r.knob)) for r in found.reasons) or predicted
    told, curve = model._predicted(configuration), _curve(model, configuration)
    return Recommendation(configuration, found.origin, told, why, curve, basis=found.basis)


def abandon_below(model: Model, origin: SearchOrigin) -> float | None:
    """The reading that a trial of the search has to reach; None for trials of the opening and for verifications."""
    ended = origin == "improvement" and teachable(model.history, model.options.search.opening_trials)
    return least_reading(model.learned) if model.learned is not None and ended else None


def _curve(model: Model, configuration: Configuration) -> tuple[Share, ...]:
    """What few of the configuration's changes give, where there is a model to say so."""
    reference = model.history.reference
    if model.learned is None or not model.predicts or reference is None or not reference.changes_to(configuration):
        return ()
    return path(model.learned, configuration, reference).shares()

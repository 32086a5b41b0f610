"""This database's readings of settings under which it ran, compared at comparable load: on a live database, only this
comparison decides whether something gained or lost. Settings that were never active are left to the model.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from lutra_models.evidence import Compared
from lutra_models.history import History, Observation, Window
from lutra_models.judgement import LoadedWindow, as_now, judge, sentence
from lutra_models.knobs import Configuration, Value


@dataclass(frozen=True)
class Shown:
    """The `current` configuration of a history against those from before it.

    The service's comparisons come first: they cover more windows than a history holds.
    """

    history: History
    current: Configuration

    def against(self, former: Configuration) -> Compared | None:
        """The current configuration compared with `former`; None if the latter was never active."""
        known = next((c for there, c in self._compared if there == former), None)
        if known is not None:
            return known
        before, since = (self._windows.get(c, []) for c in (former, self.current))
        if not before:
            return None
        found = judge(before, since, self.history.objective)
        return Compared((), found.verdict, f"{sentence(found)}.", found.ratio)

    def better(self) -> Iterator[tuple[Configuration, Compared]]:
        """Former configurations that are better than the current one: directly compared ones first, then by the largest
        loss.
        """
        compared = [there for there, _ in self._compared]
        others = [c for c in self._windows if c != self.current and c not in compared]
        found = [(c, told) for c in (*compared, *others) if (told := self.against(c)) and told.verdict == "worse"]
        yield from (one for one in found if one[0] in compared)
        yield from sorted((one for one in found if one[0] in others), key=lambda one: -self._lost(one[1]))

    def ends_on(self, chosen: Configuration) -> Configuration:
        """The configuration on which a live session ends: never one that is worse than the current one, and never one
        that lost.
        """
        if chosen == self.current:
            return next((there for there, _ in self.better()), chosen)
        told = self.against(chosen)
        return self.current if told is not None and told.verdict == "better" else chosen

    @cached_property
    def like_now(self) -> list[Configuration]:
        """The configurations that were active in windows under the load and the pressure of the newest ones; empty
        without clients.
        """
        windows = sorted((w for found in self._windows.values() for w in found), key=lambda w: w.start_s)
        metric = self.history.objective.metric
        alike = {w.group for w in as_now([w for w in windows if metric in w.metrics])}
        return [c for c in self._windows if c.digest in alike]

    def _lost(self, told: Compared) -> float:
        ratio = told.ratio or 1.0
        return ratio if self.history.objective.goal == "minimize" else 1.0 / ratio

    @cached_property
    def _compared(self) -> list[tuple[Configuration, Compared]]:
        said = self.history.evidence.compared if self.history.evidence else ()
        found = ((c.former(self.current), c) for c in said)
        return [(self.current.replace(there), c) for there, c in found if there is not None]

    @cached_property
    def _windows(self) -> dict[Configuration, list[LoadedWindow]]:
        found: dict[Configuration, list[LoadedWindow]] = {}
        for one in self.history.observations:
            if one.window is not None:
                found.setdefault(one.configuration, []).append(_loaded(one, one.window, self.history.context or {}))
        return found


def _loaded(one: Observation, window: Window, context: Mapping[str, Value]) -> LoadedWindow:
    start, group = window.start.timestamp(), one.configuration.digest
    return LoadedWindow(start, window.seconds, one.metrics, {**context, **(one.context or {})}, group)

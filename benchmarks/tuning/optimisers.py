"""The project's own recommender among those who take part in a race."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from lutra_models import Configuration, History, Objective, Observation
from lutra_models.digest import fingerprint
from lutra_models.gp import Options, Snapshot, fit, recommend
from lutra_models.gp.documents import plugged, read

from benchmarks.tuning.contenders import Contender, Problem
from benchmarks.tuning.warm_tasks import OBJECTIVE


class Lutra:
    """The project's recommender through its public interface; `past`, `safe` and `options` as in `recommend`.

    With a `baseline`, as every session of the service has one, changes count.
    """

    def __init__(
        self,
        task: Problem,
        seed: int,
        _budget: int,
        *,
        past: Sequence[History | Snapshot] = (),
        safe: bool = False,
        options: Options | None = None,
        baseline: Configuration | None = None,
    ) -> None:
        self._baseline = baseline
        self._task, self._seed, self._past, self._safe = task, seed, past, safe
        self._options = options or Options()
        self._seen: list[Observation] = []

    @property
    def history(self) -> History:
        objective = Objective(OBJECTIVE, self._task.goal)
        return History(
            self._task.space, objective, observations=self._seen, current=self._task.default, baseline=self._baseline
        )

    def ask(self) -> Mapping[str, Any]:
        advice = recommend(self.history, self._past, rng=self._rng, safe=self._safe, options=self._options)
        return advice.configuration

    def tell(self, configuration: Mapping[str, Any], metrics: Mapping[str, float] | None) -> None:
        if metrics is None:
            self._seen.append(Observation.failed(configuration, "did_not_start"))
        else:
            self._seen.append(Observation(configuration, metrics))

    def deploy(self) -> Mapping[str, Any]:
        """What would be handed over now."""
        if not any(o.completed for o in self._seen):
            return self._task.default
        return fit(self.history, self._past, rng=self._rng, options=self._options).best().configuration

    @property
    def _rng(self) -> np.random.Generator:
        return np.random.default_rng([self._seed, len(self._seen)])


OURS = (
    Contender("lutra", Lutra, "this project's recommender", knows_failures=True, ours=True),
    Contender("lutra-safe", partial(Lutra, safe=True), "the same with safe=True", knows_failures=True, ours=True),
)


def variant(text: str) -> Contender:
    """The recommender with other options: "search.opening_trials=8, surrogate.name=numpy". Raises ValueError."""
    values = {}
    for part in text.split(","):
        name, equals, value = part.partition("=")
        if not equals:
            raise ValueError(f"expected NAME=VALUE, got {part.strip()!r}")
        values[name.strip()] = _plain(value.strip())
    return _with(Options().varied(**values), text)


def of_document(file: Path) -> Contender:
    """The recommender with the options in `file`, TOML, or JSON where it ends so. Raises InvalidOptions.

    Its name holds the digest of the options, and of the packages that bring parts of them.
    """
    options = read(file.read_text(encoding="utf-8"), "json" if file.suffix.lower() == ".json" else "toml")
    packages = [str(part.package) for part in plugged(options)]
    return _with(options, f"{file.name} {fingerprint([options.to_dict(), packages])}")


def _with(options: Options, what: str) -> Contender:
    made = partial(Lutra, options=options)
    return Contender(f"lutra[{what}]", made, f"this project's recommender with {what}", knows_failures=True, ours=True)


def _plain(value: str) -> int | float | str:
    for number in (int, float):
        try:
            return number(value)
        except ValueError:
            continue
    return value

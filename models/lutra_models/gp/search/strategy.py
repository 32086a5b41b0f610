"""The choice of the next configuration: the strategies, and their shared parts.

Shapes: k knobs.
"""

from __future__ import annotations

from collections import Counter
from typing import Protocol

import numpy as np

from lutra_models.advice import SearchOrigin
from lutra_models.errors import SpaceExhausted
from lutra_models.gp.learning.learned import Learned, contradicted, lucky
from lutra_models.gp.options import Options, Search
from lutra_models.gp.search import initial_design
from lutra_models.gp.search.maximise import single_moves
from lutra_models.gp.search.scoring import field_of
from lutra_models.gp.space.encoding import Array, Encoding
from lutra_models.history import History
from lutra_models.knobs import Configuration

Step = tuple[SearchOrigin, Configuration]
"""The origin of a configuration, and the configuration."""


class Strategy(Protocol):
    """Chooses the next configuration. A value without state: all its randomness comes from the generator."""

    def choose(self, history: History, learned: Learned | None, rng: np.random.Generator, options: Options) -> Step:
        """A configuration that no rule refuses; `learned` is None while there is nothing to learn from.

        Raises SpaceExhausted if the rules leave nothing untried.
        """


def tried(history: History) -> list[Configuration]:
    """Everything measured or proposed, in that order."""
    return list(dict.fromkeys([*(o.configuration for o in history.observations), *history.pending]))


def first(history: History, with_starts: bool) -> Step | None:
    """The configuration before any search; None once that phase is over."""
    step = initial_design.opening(history, with_starts)
    if step is None and not tried(history):
        return "middle", initial_design.middle(history)
    return step


def reference(history: History, learned: Learned) -> Step | None:
    """An earlier configuration to measure again, as a test whether the server has changed.

    After a suspected change, the best of the configurations read before it. On a server, the best of the older half as
    well, if `options.drift.interval` readings in a row were each a configuration's first.
    """
    pairs = history.values(history.objective.metric)
    places: dict[Configuration, int] = {}
    for i, (configuration, _) in enumerate(pairs):
        places.setdefault(configuration, i)
    if learned.drift.suspected is not None:
        course = learned.drift.suspected.course(len(pairs))
        old = {c for c, i in places.items() if course[i] > 0.5}
    elif _unwitnessed(history, learned.options.drift.interval):
        old = {c for c, i in places.items() if i < len(pairs) // 2}
    else:
        return None
    found = next((c for c in learned.ranked() if c in old and initial_design.legal(history, c)), None)
    return None if found is None or found in history.pending else ("reference", found)


def _unwitnessed(history: History, interval: int) -> bool:
    """Whether the newest readings, each in a window of a server, are of configurations never read before."""
    read = [o for o in history.completed if not o.bounds]
    newest, before = read[-interval:], read[:-interval]
    distinct = {o.configuration for o in newest}
    alone = len(distinct) == len(newest) == interval and distinct.isdisjoint(o.configuration for o in before)
    return alone and all(o.window is not None for o in newest)


def doubted(history: History, learned: Learned) -> Step | None:
    """The best reading measured again, if it looks like luck or contradicts another reading of its configuration."""
    found = lucky(learned) or contradicted(learned)
    if found is None or found in history.pending or not initial_design.legal(history, found):
        return None
    return "repeat", found


def remaining(history: History, known: list[Configuration], options: Search) -> Configuration | None:
    """An untried configuration next to a tried one, if a search found none.

    None if everything was tried: only another reading adds information. Raises SpaceExhausted if the rules leave
    nothing, and names the rule that refuses most of the neighbours.
    """
    encoding = Encoding(history.space.knobs)
    field = field_of(history, encoding, options)
    codes, _ = single_moves(encoding, encoding.codes(known), options.moves)
    steps = [field.read(row) for row in np.unique(codes, axis=0)]
    found = next((c for c in steps if field.allowed(c)), None)
    if found is not None:
        return found
    refusals = Counter(r.code for c in steps if (r := history.space.refusal(c)))
    if not refusals:
        return None
    (code, count), *_ = refusals.most_common(1)
    example = next(r.message for c in steps if (r := history.space.refusal(c)) and r.code == code)
    raise SpaceExhausted(
        f"no configuration is left to try: of {len(steps)} next to those that were, {count} are refused: {example}"
    )


def repeat(history: History, ranked: list[Configuration]) -> Step:
    """The best configuration that may be measured again, if nothing new is allowed."""
    return "repeat", next((c for c in ranked if initial_design.legal(history, c)), history.current or ranked[0])


def incumbents(learned: Learned, ranked: list[Configuration]) -> Array:
    """(i, k) codes of the best configurations, around which is searched."""
    return learned.encoding.snap(learned.encoding.codes(ranked[: learned.options.search.incumbents]))

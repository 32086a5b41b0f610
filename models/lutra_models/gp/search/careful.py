"""The strategy for a live database: one setting at a time, and only safe configurations.

Shapes: m candidates, k knobs.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lutra_models.gp.learning.learned import Learned
from lutra_models.gp.options import Options
from lutra_models.gp.search.maximise import passing, single_moves
from lutra_models.gp.search.safety import heedless, shortfall, surprises
from lutra_models.gp.search.scoring import field_of, score_of
from lutra_models.gp.search.strategy import Step, doubted, first, incumbents, reference, repeat, tried
from lutra_models.gp.space.encoding import Array
from lutra_models.history import History
from lutra_models.knobs import Configuration


@dataclass(frozen=True)
class Careful:
    def choose(self, history: History, learned: Learned | None, rng: np.random.Generator, options: Options) -> Step:
        """A configuration that is safe by `search.safety`; if there is none, the best known one again."""
        step = first(history, with_starts=False)
        if step:
            return step
        if learned is None:
            return "repeat", history.current or tried(history)[0]
        return reference(history, learned) or doubted(history, learned) or _improved(history, learned)


CAREFUL = Careful()


def _improved(history: History, learned: Learned) -> Step:
    ranked = learned.ranked()
    found = _safe_moves(history, learned, ranked)
    return ("improvement", found[0]) if found else repeat(history, ranked)


def _safe_moves(history: History, learned: Learned, ranked: list[Configuration]) -> list[Configuration]:
    """Safe configurations that differ from a good one, or from the current one, by a single setting.

    What was a bad surprise is not a good one, however few others were measured.
    """
    encoding, options = learned.encoding, learned.options
    bad = surprises(history, options.safety.bad)
    good = [c for c in ranked if c not in bad]
    worth, centres = score_of(history, learned, ranked), incumbents(learned, good or ranked)
    if history.current is not None:
        centres = np.vstack([centres, encoding.codes([history.current])])

    def score(codes: Array) -> Array:
        return np.asarray(worth(codes) + options.safety.prudence * shortfall(learned, codes))

    codes, moved = single_moves(encoding, centres, options.search.moves)
    codes = codes[~heedless(learned, codes, moved)]
    found = passing(score, field_of(history, encoding, options.search), codes, score(codes))
    return [c for c in found if shortfall(learned, encoding.codes([c]))[0] >= 0.0]

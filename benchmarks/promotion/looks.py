"""The rule, looked at after each further session, on sessions drawn from those that were measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from lutra_models.scores.promotion import Judged, SourceName, decided, judged

Differences = Mapping[SourceName, Sequence[float]]


@dataclass(frozen=True)
class Ended:
    """After how many sessions the rule promoted, or a source said that it is worse; None where that never happened.

    `told` is how many sessions in all the first look that named a number named.
    """

    promoted: int | None
    worse: int | None
    told: int | None


def looked(pool: Differences, changed: str, sessions: int, rng: np.random.Generator, equal: bool = False) -> Ended:
    """Draw `sessions` from `pool`, all its sources alike, and look after each. `equal` versions change places by chance
    from session to session, so that neither is better.
    """
    count = min(len(values) for values in pool.values())
    drawn = rng.integers(count, size=sessions)
    signs = rng.choice((-1.0, 1.0), size=sessions) if equal else np.ones(sessions)
    seen = {name: np.asarray(values)[drawn] * signs for name, values in pool.items()}
    promoted = worse = told = None
    for at in range(2, sessions + 1):
        found = judged({name: values[:at].tolist() for name, values in seen.items()})
        decision = decided([changed], found)
        told = _told(at, changed, found) if told is None else told
        if worse is None and any(j.comparison.verdict == "worse" for j in found):
            worse = at
        if promoted is None and decision.promotes:
            promoted = at
        if promoted is not None or worse is not None:
            break
    return Ended(promoted, worse, told)


def _told(at: int, changed: str, found: Sequence[Judged]) -> int | None:
    needed = [n for j in found if changed in j.source.judges and (n := j.comparison.needed) is not None]
    return at + min(needed) if needed else None

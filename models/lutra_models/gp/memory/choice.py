"""Of the workloads that may be alike, which ones a recommendation leans on: those whose effects rank what was measured.

The belief in a workload before anything is ranked falls with its distance (`index`); the pairs of configurations
measured here then tell for or against it, as in `transfer.similarity`, by the sum of its effects in place of its
posterior. When the model is fitted, the posteriors of the chosen few are asked again.
Shapes: n configurations measured.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from lutra_models.gp.memory.effects import total
from lutra_models.gp.memory.question import Question
from lutra_models.gp.memory.workload import Lesson, Workload
from lutra_models.gp.options import DEFAULT, Options
from lutra_models.gp.transfer.similarity import ranking

CHOSEN = 8
"""Past workloads that a recommendation may lean on."""
LOOKED_AT = 64
"""The nearest, of which they are chosen."""
RANKED = 40
"""Configurations whose pairs are asked about, evenly among those measured."""


@dataclass(frozen=True, eq=False)
class Candidate:
    """A workload by its id, with its distance and who owns it."""

    id: str
    owner: str
    distance: float
    workload: Workload


def chosen(
    asked: Question,
    candidates: Iterable[Candidate],
    own: str,
    count: int = CHOSEN,
    each: int = 1,
    options: Options = DEFAULT,
) -> list[str]:
    """The ids of the likeliest, the likeliest first: at most `each` of one owner but `own`, and `count` in all.

    Of equals the one with the later id comes first.
    """
    newest_first = sorted(candidates, key=lambda c: c.id, reverse=True)
    told = sorted(((c.distance - _claim(c, asked, options), c) for c in newest_first), key=lambda pair: pair[0])
    taken: Counter[str] = Counter()
    out: list[str] = []
    for _, c in told:
        if len(out) < count and (c.owner == own or taken[c.owner] < each):
            taken[c.owner] += 1
            out.append(c.id)
    return out


def _claim(candidate: Candidate, asked: Question, options: Options) -> float:
    """The log probability that the workload gives to how the configurations are ranked; 0 of less than two."""
    lesson = candidate.workload.lessons.get(asked.metric)
    if lesson is None or len(asked.values) < 2:
        return 0.0
    kept = np.unique(np.linspace(0, len(asked.values) - 1, RANKED).round().astype(int))
    values = asked.values[kept]
    z = np.log(np.maximum(values, 1e-300)) if lesson.log else values
    deviation = options.targets.noise * (1.0 if lesson.log else float(np.mean(np.abs(z))))
    mean = total(lesson.effects, [asked.configurations[i] for i in kept])
    noise, doubt = np.full(len(z), deviation**2), np.full(len(z), _doubt(lesson))
    share = (len(asked.values) - 1) / max(len(z) - 1, 1)
    return share * ranking(z, noise, mean, doubt, options.transfer)


def _doubt(lesson: Lesson) -> float:
    """The variance of a configuration's place on the sum of the effects."""
    return lesson.rest + sum(e.deviation**2 for e in lesson.effects) + 1e-9

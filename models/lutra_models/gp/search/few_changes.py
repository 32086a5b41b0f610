"""A recommendation that changes no more settings than an operator asked for.

The search's choice loses the changes that contribute least to its score. If rules refuse the rest, or it was measured
already, single steps from known configurations with as few changes take its place. Shapes: m candidates, k knobs.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from lutra_models.errors import SpaceExhausted
from lutra_models.gp.learning.learned import Learned
from lutra_models.gp.options import Search
from lutra_models.gp.search import initial_design
from lutra_models.gp.search.maximise import Score, passing, single_moves
from lutra_models.gp.search.safety import shortfall
from lutra_models.gp.search.scoring import field_of, score_of
from lutra_models.gp.search.shortening import counted_from
from lutra_models.gp.search.sparse import reduced
from lutra_models.gp.search.strategy import Step
from lutra_models.gp.space.encoding import Encoding
from lutra_models.history import History
from lutra_models.knobs import Configuration


def verify_most(most: int | None) -> None:
    if most is not None and most < 1:
        raise ValueError(f"max_changes must be at least 1, got {most}")


def with_few_starts(history: History, most: int) -> History:
    """The history whose starts have at most that many changes: the settings that move farthest."""
    reference, encoding = counted_from(history.reference), Encoding(history.space.knobs)
    origin = encoding.encode([reference])
    starts = [
        _shorter(encoding, start, reference, most, lambda codes: initial_design.spread(encoding, codes, origin))
        for start in history.warm_starts
    ]
    return replace(history, warm_starts=tuple(s for s in starts if initial_design.legal(history, s)))


def with_few_changes(
    history: History, learned: Learned | None, step: Step, most: int, safe: bool, options: Search
) -> Step:
    """The step, or one in its place with at most that many changes.

    Raises SpaceExhausted if rules leave nothing such that was not tried; a safe one is then measured again.
    """
    reference = counted_from(history.reference)
    if _changes(reference, step[1]) <= most:
        return step
    encoding = Encoding(history.space.knobs)
    field = field_of(history, encoding, options)
    score = _score(history, learned, encoding, safe)
    chosen = _shorter(encoding, step[1], reference, most, score)
    if field.allowed(chosen) and _sound(learned, chosen, safe):
        return "improvement" if step[0] == "repeat" else step[0], chosen
    ranked = learned.ranked() if learned else [o.configuration for o in history.completed]
    few = [c for c in ranked if _changes(reference, c) <= most and initial_design.legal(history, c)]
    centres = encoding.snap(encoding.codes([reference, *few[: field.options.incumbents]]))
    codes, _ = single_moves(encoding, centres, field.options.moves)
    within = codes[np.count_nonzero(codes != centres[0], axis=1) <= most]
    nearest = replace(field, anchors=centres[:1])
    for found in passing(score, nearest, within, score(within)) if len(within) else ():
        if _changes(reference, found) <= most and _sound(learned, found, safe):
            return "improvement", found
    if safe:
        return "repeat", few[0] if few else reference
    left = (c for row in within if _changes(reference, c := field.read(row)) <= most and field.allowed(c))
    last = next(left, None)
    if last is None:
        raise SpaceExhausted(f"no untried configuration changes at most {most} settings")
    return "improvement", last


def _changes(reference: Configuration, configuration: Configuration) -> int:
    return len(reference.changes_to(configuration))


def _shorter(
    encoding: Encoding, configuration: Configuration, reference: Configuration, most: int, score: Score
) -> Configuration:
    """The configuration with settings back at the reference until at most so many differ."""
    codes, origin = encoding.codes([configuration, reference])
    left = reduced(score, codes, origin, most)
    names = [knob.name for knob, at, back in zip(encoding.knobs, left, origin, strict=True) if at == back]
    return configuration.replace(reference.restrict(names))


def _score(history: History, learned: Learned | None, encoding: Encoding, safe: bool) -> Score:
    """What a step is worth: the acquisition, or, before there is a model, its distance from what was tried."""
    if learned is None:
        tried = encoding.encode([*(o.configuration for o in history.observations), *history.pending])
        return lambda codes: initial_design.spread(encoding, codes, tried)
    worth, model = score_of(history, learned, learned.ranked()), learned
    if not safe:
        return worth
    return lambda codes: np.asarray(worth(codes) + model.options.safety.prudence * shortfall(model, codes))


def _sound(learned: Learned | None, configuration: Configuration, safe: bool) -> bool:
    if not safe or learned is None:
        return not safe
    return bool(shortfall(learned, learned.encoding.codes([configuration]))[0] >= 0.0)

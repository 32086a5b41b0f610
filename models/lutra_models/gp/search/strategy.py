"""Which configuration next: the opening, then the search, in the order in which they are tried.

Shapes: m candidates, k knobs.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from lutra_models.advice import SearchOrigin
from lutra_models.gp.learning.learned import Learned, codes_of, fantasised, lucky
from lutra_models.gp.search import acquisition, initial_design
from lutra_models.gp.search.maximise import CURSORY, THOROUGH, Field, Score, maximise, passing, single_moves
from lutra_models.gp.search.safety import heedless, shortfall
from lutra_models.gp.search.sparse import simplified
from lutra_models.gp.space.encoding import Array, Encoding
from lutra_models.history import History
from lutra_models.knobs import Configuration

_OPENING_TRIALS = 6
"""Trials before the search trusts the model: the current configuration, the starts and space-filling ones."""
_AROUND = 3
EFFORTS = (THOROUGH, CURSORY)
"""Taken in turns: the one exploits the model, the other does not let all trials end on one hill of it.

What past workloads say is rugged, and worth climbing to the top.
"""
_FREE_KNOBS = 30
"""Knobs that the search may move from the start; one more for each configuration measured."""
_SLACK = 0.02
"""What the score may lose for the sake of fewer changes, where a recommendation rests on past workloads.

A cold experiment may change what it likes, and a safe recommendation moves one setting anyway.
"""
_PRUDENCE = 100.0
"""How much a safe recommendation weighs a missing certainty against any gain."""

Step = tuple[SearchOrigin, Configuration]
"""What proposed a configuration, and the configuration."""


def choose(history: History, learned: Learned | None, rng: np.random.Generator, safe: bool) -> Step:
    """The step's name and the configuration; `learned` is None while there is nothing to learn from."""
    first = initial_design.opening(history, with_starts=not safe)
    if first:
        return first
    tried = list(dict.fromkeys([*(o.configuration for o in history.observations), *history.pending]))
    if not tried:
        return "middle", initial_design.middle(history)
    if learned is None and safe:
        return "repeat", history.current or tried[0]
    if learned is None or (len(tried) < _OPENING_TRIALS and not learned.trends and not safe):
        return _space_filling(history, tried, rng)
    doubted = lucky(learned)
    if doubted is not None and doubted not in history.pending and initial_design.legal(history, doubted):
        return "repeat", doubted
    origin, chosen = _improve(history, learned, rng, safe)
    if learned.trends and not safe and len(tried) < _OPENING_TRIALS and len(tried) % 2 == 0:
        return "transfer", _spread(history, learned, chosen, tried, rng)
    return origin, chosen


def _spread(
    history: History, learned: Learned, chosen: Configuration, tried: list[Configuration], rng: np.random.Generator
) -> Configuration:
    """The chosen configuration, with the knobs that no past workload knows spread over their ranges."""
    known = {name for trend in learned.trends for name in trend.bridge.shared}
    fixed = np.array([name in known for name in history.space.names])
    found = _farthest(history, tried, rng, np.where(fixed, learned.encoding.codes([chosen])[0], np.nan))
    return found or chosen


def _space_filling(history: History, tried: list[Configuration], rng: np.random.Generator) -> Step:
    found = _farthest(history, tried, rng)
    return ("space_filling", found) if found else ("repeat", history.current or tried[0])


def _farthest(
    history: History, tried: list[Configuration], rng: np.random.Generator, pinned: Array | None = None
) -> Configuration | None:
    """The allowed candidate that lies farthest from everything tried, wherever rules made it end up.

    What a rule refuses is drawn towards the current configuration: earlier trials may lie at the rule's very edge, from
    where no way leads on.
    """
    encoding = Encoding(history.space.knobs)
    field = _field(history, encoding)
    field = replace(field, pinned=pinned, anchors=field.anchors[:1])
    codes, x = field.pin(initial_design.candidates(encoding, len(tried), rng)), encoding.encode(tried)

    def score(codes: Array) -> Array:
        return initial_design.spread(encoding, codes, x)

    found = passing(score, field, codes, score(codes))
    return found[0] if found else None


def _improve(history: History, learned: Learned, rng: np.random.Generator, safe: bool) -> Step:
    encoding = learned.encoding
    ranked = learned.ranked()
    score = _acquisition(history, learned, ranked, safe)
    incumbents = encoding.snap(encoding.codes(ranked[:_AROUND]))
    if safe:
        found = _careful(history, learned, score, incumbents)
    else:
        field = replace(_field(history, encoding), pinned=_pinned(learned, incumbents[0], rng))
        turn = len(history.observations) + len(history.pending)
        effort = THOROUGH if learned.trends else EFFORTS[turn % len(EFFORTS)]
        found = maximise(score, field, incumbents, rng, effort)
    if found:
        return "improvement", _simplest(history, encoding, score, found[0]) if learned.trends else found[0]
    return "repeat", next((c for c in ranked if initial_design.legal(history, c)), history.current or ranked[0])


def _careful(history: History, learned: Learned, score: Score, incumbents: Array) -> list[Configuration]:
    """Safe configurations that differ from a good one, or from the current one, by a single setting."""
    encoding = learned.encoding
    if history.current is not None:
        incumbents = np.vstack([incumbents, encoding.codes([history.current])])
    codes, moved = single_moves(encoding, incumbents)
    codes = codes[~heedless(learned, codes, moved)]
    found = passing(score, _field(history, encoding), codes, score(codes))
    return [c for c in found if shortfall(learned, encoding.codes([c]))[0] >= 0.0]


def _pinned(learned: Learned, incumbent: Array, rng: np.random.Generator) -> Array | None:
    """Where there are many knobs, those that rank low stay at the incumbent (k,) until there is more evidence."""
    free = _FREE_KNOBS + len(learned.wary.z)
    if len(incumbent) <= free:
        return None
    from lutra_models.gp.search.knob_ranking import (
        ranked_knobs,  # sklearn is slow to import, and only large spaces need it
    )

    pinned = incumbent.copy()
    pinned[ranked_knobs(learned.encoding, learned.wary, rng)[:free]] = np.nan
    return pinned


def _simplest(history: History, encoding: Encoding, score: Score, chosen: Configuration) -> Configuration:
    """The chosen configuration without the changes that hardly add to its score."""
    if history.current is None:
        return chosen
    reference = encoding.snap(encoding.codes([history.current]))[0]
    codes = simplified(score, encoding.codes([chosen])[0], reference, _SLACK)
    field = _field(history, encoding)
    simpler = field.read(codes)
    return simpler if field.allowed(simpler) else chosen


def _acquisition(history: History, learned: Learned, ranked: list[Configuration], safe: bool) -> Score:
    """Log EI over the best by posterior, times the probabilities of running and of keeping the limits.

    Where it has to be safe, what falls short of that counts for less than any gain.
    """
    incumbent = learned.encoding.codes(ranked[:1])
    best = float(learned.sign * learned.searching.latent(learned.inputs(incumbent))[0][0])
    keeps = float(learned.log_limits(incumbent)[0]) >= np.log(0.5)
    believed = fantasised(learned.searching, learned.inputs(codes_of(learned.encoding, history.pending)))

    def score(codes: Array) -> Array:
        mean, variance = believed.latent(learned.inputs(codes))
        gain = acquisition.log_expected_improvement(learned.sign * mean, np.sqrt(variance), best)
        value = learned.log_running(codes) + learned.log_limits(codes) + (gain if keeps else 0.0)
        return np.asarray(value + (_PRUDENCE * shortfall(learned, codes) if safe else 0.0))

    return score


def _field(history: History, encoding: Encoding) -> Field:
    known = {o.configuration for o in history.observations} | set(history.pending)
    sound = [c for c in (history.current, *history.starts) if c is not None and initial_design.legal(history, c)]
    sound += [c for c in dict.fromkeys(o.configuration for o in history.completed) if initial_design.legal(history, c)]

    def allowed(configuration: Configuration) -> bool:
        return configuration not in known and initial_design.legal(history, configuration)

    distinct = list(dict.fromkeys(sound))
    seen = [*distinct, *(o.configuration for o in history.observations), *history.pending]
    standing = {n: tuple(dict.fromkeys(c[n] for c in seen)) for n in history.space.names}
    return Field(encoding, allowed, encoding.codes(distinct), standing=standing, answers=history.answers)

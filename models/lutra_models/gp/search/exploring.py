"""The strategy that tries whatever may be better: the opening, then the search.

Shapes: m candidates, k knobs.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from lutra_models.gp.learning.learned import Learned
from lutra_models.gp.options import Options
from lutra_models.gp.search import initial_design
from lutra_models.gp.search.around_start import around_start
from lutra_models.gp.search.beside_best import beside_best
from lutra_models.gp.search.final import shortened
from lutra_models.gp.search.maximise import Score, maximise, passing
from lutra_models.gp.search.scoring import field_of, score_of
from lutra_models.gp.search.sparse import simplified
from lutra_models.gp.search.strategy import Step, doubted, first, incumbents, reference, remaining, repeat, tried
from lutra_models.gp.space.encoding import Array, Encoding
from lutra_models.history import History
from lutra_models.knobs import Configuration


@dataclass(frozen=True)
class Exploring:
    def choose(self, history: History, learned: Learned | None, rng: np.random.Generator, options: Options) -> Step:
        """The opening's next configuration, or the one that the acquisition values most."""
        step = first(history, with_starts=True)
        if step:
            return step
        known, search = tried(history), options.search
        opening = len(known) < search.opening_trials
        if learned is None or (opening and not learned.trends):
            found = _farthest(history, known, rng, options) or remaining(history, known, options.search)
            return ("space_filling", found) if found else ("repeat", history.current or known[0])
        step = reference(history, learned) or doubted(history, learned) or shorter(history, learned)
        if step:
            return step
        found = None if learned.trends or opening else beside_best(history, learned)
        if found:
            return "space_filling", found
        step = _improved(history, learned, rng)
        if learned.trends and opening and len(known) % 2 == 0:
            return "transfer", _spread(history, learned, step[1], known, rng)
        return step


EXPLORING = Exploring()


def shorter(history: History, learned: Learned) -> Step | None:
    """The configuration for the handover, without changes to the baseline that the model predicts to gain nothing.

    A model of few readings is overconfident that a setting has no effect. Only a reading shows it, and only a measured
    configuration is handed over.
    """
    trials, options = len(history.completed), learned.options.search
    if history.baseline is None or trials <= options.opening_trials or trials % options.shorter_every:
        return None
    found = shortened(learned, history.baseline)
    known = found in tried(history) or not initial_design.legal(history, found)
    return None if known else ("shorter", found)


def _spread(
    history: History, learned: Learned, chosen: Configuration, known: list[Configuration], rng: np.random.Generator
) -> Configuration:
    """The chosen configuration, with the knobs that no past workload knows spread over their ranges."""
    shared = {name for trend in learned.trends for name in trend.bridge.shared}
    fixed = np.array([name in shared for name in history.space.names])
    pinned = np.where(fixed, learned.encoding.codes([chosen])[0], np.nan)
    return _farthest(history, known, rng, learned.options, pinned) or chosen


def _farthest(
    history: History,
    known: list[Configuration],
    rng: np.random.Generator,
    options: Options,
    pinned: Array | None = None,
) -> Configuration | None:
    """The allowed candidate that lies farthest from everything tried, wherever rules made it end up.

    What a rule refuses is drawn towards the current configuration: earlier trials may lie at the rule's very edge, from
    where no way leads on.
    """
    encoding = Encoding(history.space.knobs)
    field = field_of(history, encoding, options.search)
    field = replace(field.pinning(pinned), anchors=field.anchors[:1])
    codes = field.filling(initial_design.candidates(encoding, len(known), rng, options.search.opening_candidates))
    near = around_start(history, encoding, options.start) if pinned is None else None
    codes = field.inside(field.pin(codes if near is None else near.draw(codes, rng)))
    x = encoding.encode(known)

    def score(codes: Array) -> Array:
        return initial_design.spread(encoding, codes, x)

    found = passing(score, field, codes, score(codes))
    return found[0] if found else None


def _improved(history: History, learned: Learned, rng: np.random.Generator) -> Step:
    encoding, options = learned.encoding, learned.options.search
    ranked = learned.ranked()
    learned = replace(learned, searching=learned.local or learned.searching)
    doubt = 0.0 if learned.trends else options.doubt
    score, centres = score_of(history, learned, ranked, doubt), incumbents(learned, ranked)
    field = field_of(history, encoding, options).pinning(_pinned(learned, centres[0], rng))
    turn = len(history.observations) + len(history.pending)
    effort = options.thorough if learned.trends or turn % 2 == 0 else options.cursory
    found = maximise(score, field, centres, rng, effort)
    if not found:
        left = remaining(history, tried(history), options)
        return ("improvement", left) if left else repeat(history, ranked)
    return "improvement", _simplest(history, learned, score, found[0]) if learned.trends else found[0]


def _pinned(learned: Learned, incumbent: Array, rng: np.random.Generator) -> Array | None:
    """Where there are many knobs, those that rank low stay at the incumbent (k,) until there is more evidence."""
    options = learned.options.search
    free = options.free_knobs + learned.wary.read
    if len(incumbent) <= free:
        return None
    from lutra_models.gp.search.knob_ranking import (
        ranked_knobs,  # sklearn is slow to import, and only large spaces need it
    )

    pinned = incumbent.copy()
    pinned[ranked_knobs(learned.encoding, learned.wary, rng, options)[:free]] = np.nan
    return pinned


def _simplest(history: History, learned: Learned, score: Score, chosen: Configuration) -> Configuration:
    """The chosen configuration without the changes that hardly add to its score.

    A cold experiment may change what it likes, and a safe recommendation moves one setting anyway.
    """
    if history.reference is None:
        return chosen
    encoding, options = learned.encoding, learned.options.search
    reference = encoding.snap(encoding.codes([history.reference]))[0]
    codes = simplified(score, encoding.codes([chosen])[0], reference, options.slack)
    field = field_of(history, encoding, options)
    simpler = field.read(codes)
    return simpler if field.allowed(simpler) else chosen

"""The objective of a search, and its region.

Shapes: m candidates, k knobs.
"""

from __future__ import annotations

import numpy as np

from lutra_models.gp.learning.learned import Learned, codes_of, fantasised
from lutra_models.gp.options import Search
from lutra_models.gp.search import initial_design
from lutra_models.gp.search.acquisition import acquisition
from lutra_models.gp.search.around_start import around_start
from lutra_models.gp.search.maximise import Field, Score
from lutra_models.gp.space.encoding import Array, Encoding
from lutra_models.history import History
from lutra_models.knobs import Configuration


def score_of(history: History, learned: Learned, ranked: list[Configuration], doubt: float = 0.0) -> Score:
    """The acquisition over the best by posterior, times the probabilities of running and of keeping the limits.

    The posterior may mistake its own error for noise, and only a reading there shows the difference. The acquisition
    therefore adds up to `doubt` of its noise deviations, in proportion to the conservative posterior's uncertainty.
    """
    incumbent = learned.encoding.codes(ranked[:1])
    best = float(learned.sign * learned.searching.latent(learned.inputs(incumbent))[0][0])
    keeps = float(learned.log_limits(incumbent)[0]) >= np.log(0.5)
    pending = codes_of(learned.encoding, history.pending)
    believed = fantasised(learned.searching, learned.inputs(pending))
    wary = fantasised(learned.wary, learned.wary_inputs(pending))
    worth = acquisition(learned.options.search.acquisition)
    near = around_start(history, learned.encoding, learned.options.start)
    trials = len(history.observations) + len(pending)
    power = learned.options.start.weight / max(trials, 1)

    def score(codes: Array) -> Array:
        mean, variance = believed.latent(learned.inputs(codes))
        if doubt:
            variance = variance + doubt**2 * believed.noise * wary.ignorance(learned.wary_inputs(codes))
        gain = worth.score(learned.sign * mean, np.sqrt(variance), best)
        total = learned.log_running(codes) + learned.log_limits(codes) + (gain if keeps else 0.0)
        return np.asarray(total if near is None else total + power * near.log(codes))

    return score


def field_of(history: History, encoding: Encoding, options: Search) -> Field:
    """The configurations that were neither tried nor proposed and that no rule refuses, with the sound ones so far to
    draw others towards.
    """
    known = {o.configuration for o in history.observations} | set(history.pending)
    sound = [c for c in (history.current, *history.warm_starts) if c is not None and initial_design.legal(history, c)]
    sound += [c for c in dict.fromkeys(o.configuration for o in history.completed) if initial_design.legal(history, c)]

    def allowed(configuration: Configuration) -> bool:
        return configuration not in known and initial_design.legal(history, configuration)

    distinct = list(dict.fromkeys(sound))
    seen = [*distinct, *(o.configuration for o in history.observations), *history.pending]
    standing = {n: tuple(dict.fromkeys(c[n] for c in seen)) for n in history.space.names}
    return Field(
        encoding,
        allowed,
        encoding.codes(distinct),
        pinned=_held(history, encoding),
        standing=standing,
        answers=history.server_rounding,
        options=options,
        held=history.held,
        space=history.space,
    )


def _held(history: History, encoding: Encoding) -> Array | None:
    """(k,) the codes of the covariates, NaN for what may move; None without covariates."""
    held = history.held
    if not held:
        return None
    now = history.standing(encoding.decode(np.zeros(len(encoding.knobs))))
    codes = encoding.codes([now])[0]
    return np.array([code if name in held else np.nan for name, code in zip(now, codes, strict=True)])

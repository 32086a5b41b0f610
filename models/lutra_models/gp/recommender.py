"""History in, recommendation out: the only place where the parts of this package meet.

Every function here is pure: the same history and the same generator give the same answer in any process.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import replace
from typing import overload

import numpy as np

from lutra_models.advice import Recommendation
from lutra_models.errors import NotEnoughObservations
from lutra_models.gp import acquisition, design
from lutra_models.gp.context import split
from lutra_models.gp.encoding import Array, Encoding
from lutra_models.gp.learned import ENOUGH, Learned, codes_of, fantasised, learn, teachable
from lutra_models.gp.reasons import reasons
from lutra_models.gp.safety import shortfall
from lutra_models.gp.search import CURSORY, THOROUGH, Field, Score, maximise, passing
from lutra_models.gp.snapshot import Snapshot
from lutra_models.gp.sparse import simplified
from lutra_models.history import History
from lutra_models.knobs import Configuration

Past = Sequence[History | Snapshot]

_OPENING_TRIALS = 6
"""Trials before the search trusts the model: the current configuration, the starts and space-filling ones."""
_AROUND = 3
EFFORTS = (THOROUGH, CURSORY)
"""Taken in turns: the one exploits the model, the other does not let all trials end on one hill of it."""
_FREE_KNOBS = 30
"""Knobs that the search may move from the start; one more for each configuration measured."""
_SLACK = 0.005
"""What a safe recommendation's score may lose for the sake of fewer changes. An experiment may change what it likes."""
_PRUDENCE = 100.0
"""How much a safe recommendation weighs a missing certainty against any gain."""


@overload
def recommend(history: History, past: Past = (), *, rng: np.random.Generator, safe: bool = False) -> Recommendation: ...
@overload
def recommend(
    history: History, past: Past = (), *, rng: np.random.Generator, count: int, safe: bool = False
) -> Recommendation | tuple[Recommendation, ...]: ...
def recommend(
    history: History,
    past: Past = (),
    *,
    rng: np.random.Generator,
    count: int = 1,
    safe: bool = False,
) -> Recommendation | tuple[Recommendation, ...]:
    """The next configuration to measure; a tuple of `count` of them where more than one is asked for.

    `past` are histories or snapshots of other workloads. `safe` recommends only what is held to be no worse than the
    current configuration. Raises FitFailed where the observations admit no model.
    """
    if count < 1:
        raise ValueError(f"count must be at least 1, got {count}")
    history, elsewhere = split(history)
    snapshots = _snapshots((*past, *elsewhere))
    least = 1 if snapshots or safe else ENOUGH
    learned = learn(history, snapshots, rng, least) if teachable(history, least) else None
    chosen: list[Recommendation] = []
    for _ in range(count):
        pending = (*history.pending, *(r.configuration for r in chosen))
        chosen.append(_next(history, pending, learned, rng, safe))
    return chosen[0] if count == 1 else tuple(chosen)


def handover(history: History, past: Past = (), *, rng: np.random.Generator) -> Configuration:
    """What to deploy now: of what was measured and never failed, the best by posterior.

    Raises NotEnoughObservations where nothing was measured.
    """
    history, elsewhere = split(history)
    measured = history.values(history.objective.metric)
    if not measured:
        raise NotEnoughObservations(f"{history.objective.metric} was not measured under any configuration yet")
    if not teachable(history):
        return measured[0][0]
    snapshots = _snapshots((*past, *elsewhere))
    ranked = learn(history, snapshots, rng).ranked()
    return next((c for c in ranked if c == history.current or design.legal(history, c)), ranked[0])


def fit(history: History, past: Past = (), *, rng: np.random.Generator) -> Snapshot:
    """The posteriors of every target, and what tells the workload from others.

    Raises NotEnoughObservations below two readings of the objective.
    """
    from lutra_models.gp.pruning import signature  # sklearn is slow to import, and only a fit needs it

    history, elsewhere = split(history)
    snapshot = learn(history, _snapshots((*past, *elsewhere)), rng).snapshot
    return replace(snapshot, signature=signature(history))


_FITTED: OrderedDict[str, Snapshot] = OrderedDict()
"""Past histories already fitted, by their content: the same content gives the same snapshot."""
_FITTED_LOCK = threading.Lock()
_FITTED_AT_MOST = 32


def _snapshots(past: Past) -> tuple[Snapshot, ...]:
    """Each past workload as a snapshot; those with too few readings to teach anything are left out."""
    fitted = (p if isinstance(p, Snapshot) else _fitted(p) for p in past)
    return tuple(s for s in fitted if s is not None)


def _fitted(history: History) -> Snapshot | None:
    if not teachable(history):
        return None
    key = history.key
    with _FITTED_LOCK:
        known = _FITTED.get(key)
    if known is None:
        known = fit(history, rng=np.random.default_rng(0))
        with _FITTED_LOCK:
            _FITTED[key] = known
            while len(_FITTED) > _FITTED_AT_MOST:
                _FITTED.popitem(last=False)
    return known


def _next(
    history: History,
    pending: tuple[Configuration, ...],
    learned: Learned | None,
    rng: np.random.Generator,
    safe: bool,
) -> Recommendation:
    view = History(
        history.space,
        history.objective,
        limits=history.limits,
        observations=history.observations,
        pending=pending,
        current=history.current,
        starts=history.starts,
        context=history.context,
    )
    origin, configuration = _choose(view, learned, rng, safe)
    snapshot = learned.snapshot if learned else None
    predictions = snapshot.predict([configuration])[0] if snapshot else {}
    before = history.current or (history.observations[0].configuration if history.observations else None)
    why = reasons(before, configuration, history.objective, snapshot, origin) if before else ()
    return Recommendation(configuration, origin, predictions, why)


def _choose(
    history: History, learned: Learned | None, rng: np.random.Generator, safe: bool
) -> tuple[str, Configuration]:
    first = design.opening(history, with_starts=not safe)
    if first:
        return first
    tried = list(dict.fromkeys([*(o.configuration for o in history.observations), *history.pending]))
    if not tried:
        return "middle", design.middle(history)
    if learned is None and safe:
        return "repeat", history.current or tried[0]
    if learned is None or (len(tried) < _OPENING_TRIALS and not learned.trends and not safe):
        return _space_filling(history, tried, rng)
    origin, chosen = _improve(history, learned, rng, safe)
    if learned.trends and not safe and len(tried) < _OPENING_TRIALS and len(tried) % 2 == 0:
        return "transfer", _spread(history, learned, chosen, tried, rng)
    return origin, chosen


def _spread(
    history: History, learned: Learned, chosen: Configuration, tried: list[Configuration], rng: np.random.Generator
) -> Configuration:
    """The chosen configuration, with the knobs that no past workload knows spread over their ranges."""
    known = {name for trend in learned.trends for name in trend.bridge.shared}
    encoding = learned.encoding
    filling = design.space_filling(encoding, encoding.encode(tried), rng)
    fixed = np.array([name in known for name in history.space.names])
    codes = np.where(fixed, encoding.codes([chosen])[0], filling)
    found = passing(lambda _: np.zeros(1), _field(history, encoding), codes, -np.arange(len(codes), dtype=float))
    return found[0] if found else chosen


def _space_filling(history: History, tried: list[Configuration], rng: np.random.Generator) -> tuple[str, Configuration]:
    encoding = Encoding(history.space.knobs)
    codes = design.space_filling(encoding, encoding.encode(tried), rng)
    found = passing(lambda _: np.zeros(1), _field(history, encoding), codes, -np.arange(len(codes), dtype=float))
    return ("space_filling", found[0]) if found else ("repeat", history.current or tried[0])


def _improve(history: History, learned: Learned, rng: np.random.Generator, safe: bool) -> tuple[str, Configuration]:
    encoding = learned.encoding
    ranked = learned.ranked()
    score = _acquisition(history, learned, ranked, safe)
    incumbents = encoding.snap(encoding.codes(ranked[:_AROUND]))
    if safe and history.current is not None:
        incumbents = np.vstack([incumbents, encoding.snap(encoding.codes([history.current]))])
    field = replace(_field(history, encoding), pinned=_pinned(learned, incumbents[0], rng))
    turn = len(history.observations) + len(history.pending)
    effort = EFFORTS[turn % len(EFFORTS)]
    found = maximise(score, field, incumbents, rng, effort)
    if safe:
        found = [c for c in found if shortfall(learned, encoding.codes([c]))[0] >= 0.0]
    if found:
        return "improvement", _simplest(history, encoding, score, found[0]) if safe else found[0]
    return "repeat", next((c for c in ranked if design.legal(history, c)), history.current or ranked[0])


def _pinned(learned: Learned, incumbent: Array, rng: np.random.Generator) -> Array | None:
    """Where there are many knobs, those that rank low stay at the incumbent (k,) until there is more evidence."""
    free = _FREE_KNOBS + len(learned.wary.z)
    if len(incumbent) <= free:
        return None
    from lutra_models.gp.ranking import ranked_knobs  # sklearn is slow to import, and only large spaces need it

    pinned = incumbent.copy()
    pinned[ranked_knobs(learned.encoding, learned.wary, rng)[:free]] = np.nan
    return pinned


def _simplest(history: History, encoding: Encoding, score: Score, chosen: Configuration) -> Configuration:
    """The chosen configuration without the changes that hardly add to its score."""
    if history.current is None:
        return chosen
    reference = encoding.snap(encoding.codes([history.current]))[0]
    codes = simplified(score, encoding.codes([chosen])[0], reference, _SLACK)
    simpler = encoding.decode(codes)
    return simpler if _field(history, encoding).allowed(simpler) else chosen


def _acquisition(history: History, learned: Learned, ranked: list[Configuration], safe: bool) -> Score:
    """Log EI over the best by posterior, times the probabilities of running and of keeping the limits.

    A safe recommendation goes by the probability of improvement instead: it prefers what is surely a little better to
    what may be much better.
    """
    incumbent = learned.encoding.codes(ranked[:1])
    best = float(learned.sign * learned.searching.latent(learned.inputs(incumbent))[0][0])
    keeps = float(learned.log_limits(incumbent)[0]) >= np.log(0.5)
    believed = fantasised(learned.searching, learned.inputs(codes_of(learned.encoding, history.pending)))
    promise = acquisition.log_probability_above if safe else acquisition.log_expected_improvement

    def score(codes: Array) -> Array:
        mean, variance = believed.latent(learned.inputs(codes))
        gain = promise(learned.sign * mean, np.sqrt(variance), best)
        value = learned.log_running(codes) + learned.log_limits(codes) + (gain if keeps else 0.0)
        return np.asarray(value + (_PRUDENCE * shortfall(learned, codes) if safe else 0.0))

    return score


def _field(history: History, encoding: Encoding) -> Field:
    known = {o.configuration for o in history.observations} | set(history.pending)
    sound = [c for c in (history.current, *history.starts) if c is not None and design.legal(history, c)]
    sound += [c for c in dict.fromkeys(o.configuration for o in history.completed) if design.legal(history, c)]

    def allowed(configuration: Configuration) -> bool:
        return configuration not in known and design.legal(history, configuration)

    distinct = list(dict.fromkeys(sound))
    return Field(encoding, allowed, encoding.codes(distinct))

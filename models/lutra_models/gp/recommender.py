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
from lutra_models.gp.fitted.snapshot import Snapshot
from lutra_models.gp.learning.fit import ENOUGH, learn, teachable
from lutra_models.gp.learning.learned import Learned, ahead
from lutra_models.gp.reasons import reasons
from lutra_models.gp.search import initial_design
from lutra_models.gp.search.strategy import choose
from lutra_models.gp.transfer.contexts import split
from lutra_models.history import History
from lutra_models.knobs import Configuration

Past = Sequence[History | Snapshot]


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

    The current configuration stays where the best is ahead of it by less than the noise of a reading. Raises
    NotEnoughObservations where nothing was measured.
    """
    history, elsewhere = split(history)
    measured = history.values(history.objective.metric)
    if not measured:
        raise NotEnoughObservations(f"{history.objective.metric} was not measured under any configuration yet")
    if not teachable(history):
        return measured[0][0]
    snapshots = _snapshots((*past, *elsewhere))
    learned = learn(history, snapshots, rng)
    ranked = learned.ranked()
    best = next((c for c in ranked if c == history.current or initial_design.legal(history, c)), ranked[0])
    return history.current if history.current in ranked and not ahead(learned, best) else best


def fit(history: History, past: Past = (), *, rng: np.random.Generator) -> Snapshot:
    """The posteriors of every target, and what tells the workload from others.

    Raises NotEnoughObservations below two readings of the objective.
    """
    from lutra_models.gp.transfer.signature import signature  # sklearn is slow to import, and only a fit needs it

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
    origin, configuration = choose(replace(history, pending=pending), learned, rng, safe)
    snapshot = learned.snapshot if learned else None
    predictions = snapshot.predict([configuration])[0] if snapshot else {}
    before = history.current or (history.observations[0].configuration if history.observations else None)
    why = reasons(before, configuration, history.objective, snapshot, origin) if before else ()
    return Recommendation(configuration, origin, predictions, why)

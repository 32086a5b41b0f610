"""History in, recommendation out.

Every function here is pure: the same history, options and generator give the same answer in any process.
"""

from __future__ import annotations

import copy
import threading
from collections import OrderedDict
from collections.abc import Sequence

import numpy as np

from lutra_models.advice import Recommendation
from lutra_models.gp.fitted.snapshot import Snapshot
from lutra_models.gp.learning.fit import learn, teachable
from lutra_models.gp.model import Model, recommendations
from lutra_models.gp.options import DEFAULT, Options
from lutra_models.gp.transfer.contexts import split
from lutra_models.history import History
from lutra_models.knobs import Configuration

Past = Sequence[History | Snapshot]
_ONE_READING = 1


def fit(history: History, past: Past = (), *, rng: np.random.Generator, options: Options = DEFAULT) -> Model:
    """What `history` teaches, leaning on `past`: histories or snapshots of other workloads.

    Raises FitFailed where the observations admit no model, and TypeError for what is no history or no options.
    """
    if not isinstance(history, History):
        raise TypeError(f"fit takes a History(space, objective, observations=…), got {history!r:.80}")
    if not isinstance(options, Options):
        raise TypeError(f"options are Options.from_dict(…) or DEFAULT.varied(…), got {options!r:.80}")
    history, elsewhere = split(history)
    snapshots = _snapshots((*past, *elsewhere), options)
    known = teachable(history, _ONE_READING)
    learned = learn(history, snapshots, _ONE_READING, options) if known else None
    return Model(history, learned, bool(snapshots), options, copy.deepcopy(rng))


def recommend(
    history: History,
    past: Past = (),
    *,
    rng: np.random.Generator,
    safe: bool = False,
    max_changes: int | None = None,
    exploration: int | None = None,
    options: Options = DEFAULT,
) -> Recommendation:
    """The one recommendation of `fit(…).recommend(safe=…, max_changes=…, exploration=…)`. Raises FitFailed."""
    model = fit(history, past, rng=rng, options=options)
    (chosen,) = recommendations(model, 1, safe, rng, max_changes, exploration)
    return chosen


def handover(
    history: History, past: Past = (), *, rng: np.random.Generator, options: Options = DEFAULT
) -> Configuration:
    """The configuration of `fit(…).best()`. Raises FitFailed, and NotEnoughObservations where nothing was measured."""
    return fit(history, past, rng=rng, options=options).best().configuration


_FITTED: OrderedDict[tuple[str, str], Snapshot] = OrderedDict()
"""Past histories already fitted, by their content and the options: these give the same snapshot."""
_FITTED_LOCK = threading.Lock()
_FITTED_AT_MOST = 32


def _snapshots(past: Past, options: Options) -> tuple[Snapshot, ...]:
    """Each past workload as a snapshot; those with too few readings to teach anything are left out."""
    fitted = (p if isinstance(p, Snapshot) else _fitted(p, options) for p in past)
    return tuple(s for s in fitted if s is not None)


def _fitted(history: History, options: Options) -> Snapshot | None:
    if not teachable(history):
        return None
    key = history.key, options.fingerprint
    with _FITTED_LOCK:
        known = _FITTED.get(key)
    if known is None:
        model = fit(history, rng=np.random.default_rng(0), options=options)
        if not model.predicts:
            return None
        known = model.snapshot
        with _FITTED_LOCK:
            _FITTED[key] = known
            while len(_FITTED) > _FITTED_AT_MOST:
                _FITTED.popitem(last=False)
    return known

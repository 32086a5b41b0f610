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
from lutra_models.gp.options.reading import Named
from lutra_models.gp.transfer.contexts import split
from lutra_models.history import History

Past = Sequence[History | Snapshot]
Seed = int | np.random.Generator
_ONE_READING = 1


def fit(
    history: History,
    past: Past = (),
    *,
    rng: Seed,
    options: Options | None = None,
    surrogate: str | Named | None = None,
    kernel: str | Named | None = None,
    acquisition: str | Named | None = None,
) -> Model:
    """What `history` teaches, together with `past`: histories or snapshots of other workloads.

    `rng` is a seed or a generator, of which the model keeps a copy. `options` are the shipped ones where none are
    given; `surrogate`, `kernel` and `acquisition` take the place of theirs, each an object or a name. Raises FitFailed
    where the observations admit no model, and TypeError for an argument of another type.
    """
    if not isinstance(history, History):
        raise TypeError(f"fit takes a History(space, objective, observations=…), got {history!r:.80}")
    options = DEFAULT if options is None else options
    if not isinstance(options, Options):
        raise TypeError(f"options are Options(search=Search(…)) or Options().varied(…), got {options!r:.80}")
    options = options.using(surrogate=surrogate, kernel=kernel, acquisition=acquisition)
    history, elsewhere = split(history)
    snapshots = _snapshots((*past, *elsewhere), options)
    known = teachable(history, _ONE_READING)
    learned = learn(history, snapshots, _ONE_READING, options) if known else None
    return Model(history, learned, bool(snapshots), options, copy.deepcopy(np.random.default_rng(rng)))


def recommend(
    history: History,
    past: Past = (),
    *,
    rng: Seed,
    safe: bool = False,
    max_changes: int | None = None,
    exploration: int | None = None,
    options: Options | None = None,
) -> Recommendation:
    """`fit(…).recommend(safe=…, max_changes=…, exploration=…)`, drawn from `rng` itself. Raises FitFailed."""
    rng = np.random.default_rng(rng)
    model = fit(history, past, rng=rng, options=options)
    (chosen,) = recommendations(model, 1, safe, rng, max_changes, exploration)
    return chosen


_FITTED: OrderedDict[tuple[str, str], Snapshot] = OrderedDict()
"""Past histories already fitted, by their content and the options: these give the same snapshot."""
_FITTED_LOCK = threading.Lock()
_FITTED_AT_MOST = 32


def _snapshots(past: Past, options: Options) -> tuple[Snapshot, ...]:
    """Each past workload as a snapshot; those with too few readings to teach anything are left out."""
    fitted = (p if isinstance(p, Snapshot) else _snapshot(p, options) for p in past)
    return tuple(s for s in fitted if s is not None)


def _snapshot(history: History, options: Options) -> Snapshot | None:
    """Kept by its content and the options, unless these hold an object: two objects may have one name."""
    if options.holds_objects:
        return _fitted(history, options)
    key = history.key, options.fingerprint
    with _FITTED_LOCK:
        known = _FITTED.get(key)
    if known is None and (known := _fitted(history, options)) is not None:
        with _FITTED_LOCK:
            _FITTED[key] = known
            while len(_FITTED) > _FITTED_AT_MOST:
                _FITTED.popitem(last=False)
    return known


def _fitted(history: History, options: Options) -> Snapshot | None:
    if not teachable(history):
        return None
    model = fit(history, rng=0, options=options)
    return model.snapshot if model.predicts else None

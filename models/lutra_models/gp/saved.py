"""A model as plain numbers and back. A loaded model gives the same answers as the saved one, to the bit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from lutra_models.gp.fitted.snapshot import Snapshot
from lutra_models.gp.fitted.trend import Trend
from lutra_models.gp.learning.at_load import at_load
from lutra_models.gp.learning.learned import Learned
from lutra_models.gp.learning.levelled import levelled
from lutra_models.gp.space.encoding import Encoding
from lutra_models.gp.surrogate.drift import Drift
from lutra_models.gp.surrogate.posterior import GaussianProcess

Document = dict[str, Any]
_GENERATORS = {"PCG64": np.random.PCG64, "PCG64DXSM": np.random.PCG64DXSM}
"""The generators whose state is plain numbers; `numpy.random.default_rng` makes the first."""


def learned_to_dict(learned: Learned) -> Document:
    """Everything except the history and the options."""
    return {
        "searching": learned.searching.to_dict(),
        "trends": [t.to_dict() for t in learned.trends],
        "wary": learned.wary.to_dict(),
        "wary_trends": [t.to_dict() for t in learned.wary_trends],
        "snapshot": learned.snapshot.to_dict(),
        "running": None if learned.running is None else learned.running.to_dict(),
        "local": None if learned.local is None else learned.local.to_dict(),
        "drifts": {metric: drift.to_dict() for metric, drift in learned.drifts.items()},
    }


def learned_from_dict(document: Mapping[str, Any], **known: Any) -> Learned:
    """`known` are the history as it was measured, and the options."""
    drifts = {metric: Drift.from_dict(d) for metric, d in document["drifts"].items()}
    snapshot = Snapshot.from_dict(document["snapshot"])
    known["history"] = levelled(at_load(known["history"], snapshot.loads), drifts)
    encoding = Encoding(known["history"].space.knobs)
    trends, wary_trends = (
        tuple(Trend.from_dict(t, encoding) for t in document[name]) for name in ("trends", "wary_trends")
    )
    running, local = document["running"], document["local"]
    return Learned(
        encoding=encoding,
        searching=GaussianProcess.from_dict(document["searching"]),
        trends=trends,
        wary=GaussianProcess.from_dict(document["wary"]),
        wary_trends=wary_trends,
        snapshot=snapshot,
        running=None if running is None else GaussianProcess.from_dict(running),
        local=None if local is None else GaussianProcess.from_dict(local),
        drifts=drifts,
        **known,
    )


def generator_to_dict(rng: np.random.Generator) -> Document:
    """Its state, and the seed from which it spawns others. Raises ValueError if these are not plain numbers."""
    bits = rng.bit_generator
    state, seed = dict(bits.state), bits.seed_seq
    if state["bit_generator"] not in _GENERATORS or not isinstance(seed, np.random.SeedSequence):
        raise ValueError(f"a {state['bit_generator']} generator cannot be saved; {', '.join(_GENERATORS)} can")
    entropy = seed.entropy if isinstance(seed.entropy, int) or seed.entropy is None else [int(e) for e in seed.entropy]
    spawning = {
        "entropy": entropy,
        "spawn_key": [int(k) for k in seed.spawn_key],
        "pool_size": seed.pool_size,
        "n_children_spawned": seed.n_children_spawned,
    }
    return {"state": state, "seed": spawning}


def generator_from_dict(document: Mapping[str, Any]) -> np.random.Generator:
    """Raises ValueError for an unknown generator."""
    state = dict(document["state"])
    if state["bit_generator"] not in _GENERATORS:
        raise ValueError(f"unknown generator {state['bit_generator']!r}")
    bits = _GENERATORS[state["bit_generator"]](np.random.SeedSequence(**document["seed"]))
    bits.state = state
    return np.random.Generator(bits)

"""What a prediction says of settings unlike all that was measured, and of those that no model has seen."""

from __future__ import annotations

import numpy as np
import pytest
from lutra_models.gp import Snapshot, fit
from lutra_models.history import History, Observation
from lutra_models.knobs import Choice, Configuration, Knob, KnobSpace, Number, Value
from lutra_models.metrics import Objective

pytestmark = pytest.mark.slow

GB = 2**30
POOL = Knob("pool", Number(2**20, 512 * GB, "B", log=True, integer=True))
SPACE = KnobSpace(
    [
        POOL,
        Knob("threads", Number(1, 64, integer=True)),
        Knob("limit", Number(1, 1000, special=(-1,), integer=True)),
        Knob("mode", Choice(("a", "b", "c"))),
    ]
)
SEEN: dict[str, Value] = {"pool": 128 * 2**20, "threads": 8, "limit": 100, "mode": "a"}


def model(observations: int = 9) -> Snapshot:
    """Only the threads were varied, from 4 to 20; nothing in the readings depends on the pool."""
    rng = np.random.default_rng(3)
    read = [
        Observation(Configuration({**SEEN, "threads": 4 + 2 * i}), {"qps": 1000.0 + 20 * i + rng.normal(0, 5)})
        for i in range(observations)
    ]
    history = History(SPACE, Objective("qps", "maximize"), observations=read, current=SEEN)
    return fit(history, rng=np.random.default_rng(0)).snapshot


SNAPSHOT = model()


@pytest.mark.parametrize(
    ("moved", "unlike"),
    [
        ({}, ()),
        ({"pool": 160 * 2**20}, ()),
        ({"pool": 16 * GB}, ("pool",)),
        ({"pool": 400 * GB}, ("pool",)),
        ({"pool": 5000 * GB}, ("pool",)),
        ({"threads": 11}, ()),
        ({"threads": 24}, ()),
        ({"threads": 64}, ("threads",)),
        ({"limit": -1}, ("limit",)),
        ({"mode": "b"}, ("mode",)),
        ({"mode": "b", "pool": 16 * GB}, ("pool", "mode")),
    ],
)
def test_far_is_what_nothing_measured_is_like(moved: dict[str, Value], unlike: tuple[str, ...]) -> None:
    told = SNAPSHOT.predict([{**SEEN, **moved}])[0]["qps"]
    assert told.unseen_values == unlike
    assert told.extrapolated or not unlike


def test_what_is_no_knob_is_named() -> None:
    told = SNAPSHOT.predict([{**SEEN, "fsync": "off"}])[0]["qps"]
    assert told.unmodelled == ("fsync",)
    assert SNAPSHOT.predict([SEEN])[0]["qps"].unmodelled == ()


def test_a_single_reading_says_nothing_of_how_intervals_fare() -> None:
    assert SNAPSHOT.predict([SEEN])[0]["qps"].record is not None
    repeated = [Observation(SEEN, {"qps": q}) for q in (1000.0, 1010.0)]
    history = History(SPACE, Objective("qps", "maximize"), observations=repeated, current=SEEN)
    told = fit(history, rng=np.random.default_rng(0)).snapshot.predict([SEEN])[0]["qps"]
    assert told.record is None or told.record.n > 1

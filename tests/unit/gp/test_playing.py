"""Sessions played by other options on a simulated server."""

from __future__ import annotations

import numpy as np
import pytest
from lutra_models.gp import playing
from lutra_models.gp.options import DEFAULT

from tests.unit.gp.helpers import history

pytestmark = pytest.mark.slow

FEW = {"search.everywhere": 32, "search.near": 32, "search.climbers": 1, "search.asked": 8}
QUICK = DEFAULT.varied(**{"surrogate.name": "numpy", **FEW})


@pytest.fixture(autouse=True)
def _short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(playing, "TRIALS", {"lab": 8, "live": 4})


def test_the_server_is_drawn_by_the_session_and_answers_as_it_did() -> None:
    of = history(40)
    one, again, other = (playing.world(of, seed) for seed in (1, 1, 2))
    assert one is not None
    assert again is not None
    assert other is not None
    rows = [o.configuration for o in of.completed]
    worths = [one.worth(c) for c in rows]
    assert worths == [again.worth(c) for c in rows]
    assert worths != [other.worth(c) for c in rows]
    measured = [o.metrics["qps"] for o in of.completed]
    assert np.corrcoef(worths, measured)[0, 1] > 0.9
    assert max(map(one.missed, worths)) > 0.5


def test_the_same_options_miss_the_same_and_another_search_is_seen() -> None:
    of = history(12)
    blind = QUICK.varied(**{"search.opening_trials": 100})
    for way in ("lab", "live"):
        missed = [playing.play(of, (), options, way, 3) for options in (QUICK, QUICK, blind)]  # type: ignore[arg-type]
        assert missed[0] is not None
        assert missed[0] == missed[1]
        assert way == "live" or missed[0] != missed[2]


def test_a_session_that_measured_too_little_says_nothing() -> None:
    assert playing.played(history(1), (), QUICK) == {"missed": None, "missed_live": None}

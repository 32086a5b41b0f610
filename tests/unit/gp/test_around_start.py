"""What a rule-based start says about where the best lies, and when it says nothing."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from lutra_models import Choice, Configuration, History, Knob, KnobSpace, Number, Objective, Observation
from lutra_models.gp import Options, recommend
from lutra_models.gp.search.around_start import AroundStart, around_start
from lutra_models.gp.space.encoding import Encoding

pytestmark = pytest.mark.slow

NAMES = [f"k{i}" for i in range(20)]
KNOBS = [*(Knob(name, Number(0.0, 1.0, special=(-1.0,))) for name in NAMES), Knob("c", Choice(("x", "y", "z")))]
ENCODING, SPACE = Encoding(KNOBS), KnobSpace(KNOBS)
BASELINE = Configuration({**dict.fromkeys(NAMES, 0.1), "c": "x"})
START = Configuration({**dict.fromkeys(NAMES, 0.8), "c": "y"})
OPTIONS = Options().using(surrogate="numpy")


def read(**readings: float) -> History:
    """A session that began at the baseline, with a reading of each of the two where one is named."""
    known = {"baseline": BASELINE, "start": START}
    seen = [Observation(known[name], {"m": value}) for name, value in readings.items()]
    return History(
        SPACE, Objective("m", "maximize"), observations=seen, current=BASELINE, baseline=BASELINE, warm_starts=[START]
    )


def believed(history: History) -> AroundStart | None:
    return around_start(history, ENCODING, OPTIONS.start)


def test_the_start_is_likeliest_and_each_setting_that_is_farther_away_is_less_likely() -> None:
    near = believed(read(baseline=100.0, start=150.0))
    assert near is not None
    rows = [START, *(START.replace({"k0": v}) for v in (0.7, 0.4, 0.0)), START.replace({"k0": 0.4, "k1": 0.4})]
    values = near.log(ENCODING.codes(rows))
    assert values[0] == 0.0
    assert list(np.argsort(-values)) == [0, 1, 2, 3, 4]
    for elsewhere in ({"c": "z"}, {"k3": -1.0}):
        assert near.log(ENCODING.codes([START.replace(elsewhere)]))[0] == pytest.approx(np.log(OPTIONS.start.anywhere))


@pytest.mark.parametrize(
    "history",
    [
        read(baseline=100.0, start=90.0),
        read(baseline=100.0),
        replace(read(baseline=100.0, start=150.0), warm_starts=()),
        replace(read(baseline=100.0, start=150.0), objective=Objective("m", "minimize")),
    ],
)
def test_a_start_that_was_not_read_or_read_worse_says_nothing(history: History) -> None:
    assert believed(history) is None


def test_the_opening_moves_some_of_the_starts_settings_and_without_a_good_start_all() -> None:
    moved = {}
    for value in (150.0, 50.0):
        advice = recommend(read(baseline=100.0, start=value), rng=np.random.default_rng(0), options=OPTIONS)
        assert advice.origin == "space_filling"
        moved[value] = len(START.changes_to(advice.configuration))
    assert 1 <= moved[150.0] <= 10
    assert moved[50.0] >= 18


def test_the_belief_fades_and_the_search_leaves_a_start_that_is_not_the_best() -> None:
    def value(configuration: Configuration) -> float:
        return 300.0 - 200.0 * abs(float(configuration["k0"]) - 0.4)

    names = NAMES[:4]
    baseline, start = (Configuration(dict.fromkeys(names, place)) for place in (0.0, 0.75))
    space = KnobSpace([Knob(name, Number(0.0, 1.0)) for name in names])
    seen = tuple(Observation(c, {"m": value(c)}) for c in (baseline, start))
    objective = Objective("m", "maximize")
    history = History(space, objective, observations=seen, current=start, baseline=baseline, warm_starts=[start])
    for trial in range(14):
        advice = recommend(history, rng=np.random.default_rng(trial), options=OPTIONS)
        reading = Observation(advice.configuration, {"m": value(advice.configuration)})
        history = replace(history, observations=(*history.observations, reading), current=advice.configuration)
    best = max(history.observations, key=lambda o: o.metrics["m"])
    assert best.metrics["m"] > value(start) + 40.0

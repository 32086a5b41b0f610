"""What the search's model believes, and what it doubts."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from lutra_models import History, Knob, KnobSpace, Number, Objective, Observation
from lutra_models.gp import Options, fit, recommend
from lutra_models.gp.learning.fit import foresight, learn
from lutra_models.gp.learning.learned import Learned
from lutra_models.gp.search.scoring import score_of
from lutra_models.gp.space.encoding import Array, Encoding

from tests.unit.gp.helpers import history

pytestmark = pytest.mark.slow

QUICK = {"surrogate.name": "numpy"}
KNOBS = [Knob(f"k{i}", Number(0.0, 1.0)) for i in range(8)]


def measured(level: Callable[[Array], Array], rows: int = 30) -> History:
    """Readings exp(`level`) of random configurations, with two per cent of noise."""
    rng, encoding = np.random.default_rng(3), Encoding(KNOBS)
    unit = rng.random((rows, len(KNOBS)))
    readings = np.exp(level(unit) + 0.02 * rng.standard_normal(rows))
    seen = [Observation(encoding.decode(u), {"qps": float(r)}) for u, r in zip(unit, readings, strict=True)]
    return History(KnobSpace(KNOBS), Objective("qps", "maximize"), observations=seen, current=seen[0].configuration)


def learned(of: History, options: Options) -> Learned:
    return learn(of, (), options=options)


def test_the_search_follows_the_belief_that_foresees_the_readings() -> None:
    wave = measured(lambda u: 0.3 * np.sin(9.0 * u[:, 0]) + 0.3 * np.sin(7.0 * u[:, 1]))
    known = learned(wave, Options().varied(**QUICK))
    assert known.local
    assert foresight(known.local) > foresight(known.searching) + 0.1


def test_a_trend_is_still_taken_for_a_trend() -> None:
    slope = measured(lambda u: 0.5 * u[:, 0] + 0.3 * u[:, 1])
    assert learned(slope, Options().varied(**QUICK)).local is None


def test_a_place_far_from_every_reading_is_doubted_more_than_one_that_was_measured() -> None:
    of = history(12)
    known = learned(of, Options().varied(**QUICK))
    seen = known.encoding.codes([o.configuration for o in of.observations])
    strange = known.encoding.cube(np.random.default_rng(0).random((200, seen.shape[1])))
    sure, doubting = (score_of(of, known, known.ranked(), doubt) for doubt in (0.0, 2.0))
    more = [doubting(codes) - sure(codes) for codes in (seen, strange)]
    assert np.min(np.concatenate(more)) >= 0.0
    ignorance = [known.wary.ignorance(known.wary_inputs(codes)) for codes in (seen, strange)]
    assert np.max(ignorance[0]) < np.median(ignorance[1]) <= 1.0


def test_a_safe_recommendation_depends_neither_on_doubt_nor_on_the_second_belief() -> None:
    for seed in range(3):
        asked = [
            recommend(
                history(10, seed),
                rng=np.random.default_rng(1),
                safe=True,
                options=Options().varied(**QUICK, **{"search.doubt": doubt, "surrogate.local.shift": shift}),
            )
            for doubt, shift in ((0.0, 0.0), (3.0, -3.0))
        ]
        assert asked[0] == asked[1]


def test_where_past_workloads_lead_there_is_neither_a_second_belief_nor_doubt() -> None:
    past = [fit(history(30, seed=4), rng=np.random.default_rng(0)).snapshot]
    plain = Options().varied(**QUICK)
    others = plain.varied(**{"search.doubt": 0.0, "surrogate.local.shift": 0.0})
    models = [fit(history(9), past, rng=np.random.default_rng(1), options=o) for o in (plain, others)]
    assert models[0].learned
    assert models[0].learned.trends
    assert models[0].recommend().configuration == models[1].recommend().configuration


def test_past_workloads_lead_one_trial_of_three_after_the_opening_and_predict_in_all() -> None:
    past = [fit(history(30, seed=4), rng=np.random.default_rng(0)).snapshot]
    models = [fit(history(n), past, rng=np.random.default_rng(1), options=Options()) for n in (4, 5, 9, 10, 11, 12)]
    taught = [model.learned for model in models if model.learned]
    assert [bool(learned.trends) for learned in taught] == [True, True, True, False, False, True]
    assert all(learned.wary_trends for learned in taught)

"""What keeps a database from harm and people from flapping: safe moves, repeats, and staying where one is."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from lutra_models import Choice, Configuration, History, Knob, KnobSpace, Number, Objective, Observation, Refusal
from lutra_models.gp import Options, fit, recommend
from lutra_models.gp.learning.fit import learn
from lutra_models.gp.learning.learned import lucky
from lutra_models.gp.search.maximise import single_moves
from lutra_models.gp.search.safety import heedless, surprises
from lutra_models.gp.space.encoding import Encoding
from lutra_models.gp.surrogate.calibration import own_scale

from tests.unit.gp.helpers import DEFAULT, SPACE, history

pytestmark = pytest.mark.slow

QPS = Objective("qps", "maximize")


def rng(seed: int = 1) -> np.random.Generator:
    return np.random.default_rng(seed)


def observed(*pairs: tuple[Configuration, float | None]) -> History:
    rows = [Observation.failed(c, "did_not_start") if q is None else Observation(c, {"qps": q}) for c, q in pairs]
    return History(SPACE, QPS, observations=rows, current=DEFAULT)


def test_a_single_move_differs_from_a_centre_in_the_knob_that_it_names() -> None:
    encoding = Encoding(SPACE.knobs)
    centres = encoding.snap(encoding.codes([DEFAULT, DEFAULT.replace({"jit": "off"})]))
    codes, moved = single_moves(encoding, centres)
    differs = codes[:, None, :] != centres[None, :, :]
    assert set(moved) == set(range(len(SPACE)))
    assert all(any(np.flatnonzero(d).tolist() == [j] for d in row) for row, j in zip(differs, moved, strict=True))


@pytest.mark.slow
def test_a_safe_recommendation_moves_one_setting_of_something_measured() -> None:
    rows = history(1).observations
    for trial in range(8):
        past = History(SPACE, QPS, observations=rows, current=DEFAULT)
        chosen = recommend(past, rng=rng(trial), safe=True).configuration
        assert any(len(o.configuration.changes_to(chosen)) <= 1 for o in rows)
        rows = (*rows, Observation(chosen, {"qps": 1000.0 + trial}))


def test_what_failed_or_measured_a_tenth_worse_is_a_surprise() -> None:
    failed, worse, alike = (DEFAULT.replace({"random_page_cost": v}) for v in (7.0, 6.0, 5.0))
    past = observed((DEFAULT, 1000.0), (failed, None), (worse, 880.0), (alike, 950.0))
    assert surprises(past, 0.1) == [failed, worse]


def test_what_the_current_configuration_has_overtaken_is_no_surprise() -> None:
    before, bad, now, worse = (DEFAULT.replace({"random_page_cost": v}) for v in (3.5, 7.0, 3.0, 6.0))
    past = observed((DEFAULT, 500.0), (before, 700.0), (bad, 400.0), (now, 1000.0), (worse, 880.0))
    assert surprises(replace(past, current=now), 0.1) == [bad, worse]


def test_what_ended_in_a_surprise_is_not_gone_as_far_again() -> None:
    past = observed(
        (DEFAULT, 1000.0),
        (DEFAULT, 1010.0),
        (DEFAULT.replace({"random_page_cost": 7.0}), 500.0),
        (DEFAULT.replace({"jit": "off"}), 400.0),
    )
    learned = learn(past, ())
    names = SPACE.names
    tries = [("random_page_cost", 8.0), ("random_page_cost", 5.0), ("random_page_cost", 1.0), ("jit", "off")]
    codes = learned.encoding.codes([DEFAULT.replace({name: value}) for name, value in tries])
    moved = np.array([names.index(name) for name, _ in tries])
    assert heedless(learned, codes, moved).tolist() == [True, False, False, True]


@pytest.mark.parametrize("seed", range(4))
def test_no_move_begins_at_a_surprise(seed: int) -> None:
    bad = [DEFAULT.replace({"random_page_cost": v, "jit": "off"}) for v in (2.0, 6.0)]
    past = observed((DEFAULT, 1000.0), (DEFAULT, 1010.0), (bad[0], 700.0), (bad[1], 600.0))
    chosen = recommend(past, rng=rng(seed), safe=True).configuration
    assert len(DEFAULT.changes_to(chosen)) <= 1


def test_the_difference_from_a_reference_is_that_of_the_joint_posterior() -> None:
    learned = learn(history(12), ())
    x = learned.wary_inputs(
        learned.encoding.codes([DEFAULT, *(o.configuration for o in history(6, seed=3).observations)])
    )
    mean, covariance = learned.wary.joint(x)
    difference, variance = learned.wary.against(x[1:], x[:1])
    np.testing.assert_allclose(difference, mean[1:] - mean[0], atol=1e-9)
    expected = np.diag(covariance)[1:] + covariance[0, 0] - 2 * covariance[0, 1:]
    np.testing.assert_allclose(variance, np.maximum(expected, 1e-12), atol=1e-8)


def test_handing_over_keeps_the_current_configuration_within_the_noise() -> None:
    other = DEFAULT.replace({"random_page_cost": 3.5})
    readings = [(DEFAULT, q) for q in (990.0, 1050.0, 940.0, 1010.0)] + [(other, q) for q in (1000.0, 1060.0, 950.0)]
    assert fit(observed(*readings), rng=rng()).best().configuration == DEFAULT
    ahead = [(DEFAULT, q) for q in (990.0, 1010.0, 1000.0)] + [(other, q) for q in (2000.0, 2040.0, 1990.0)]
    assert fit(observed(*ahead), rng=rng()).best().configuration == other


def test_a_reading_that_the_posterior_takes_for_luck_is_measured_again() -> None:
    near = [DEFAULT.replace({"random_page_cost": 3.0 + 0.05 * i}) for i in range(14)]
    flat = [(c, 1000.0 + 10.0 * (-1) ** i) for i, c in enumerate(near)]
    repeats = [(DEFAULT, q) for q in (1010.0, 990.0, 1005.0, 995.0)]
    doubted = DEFAULT.replace({"random_page_cost": 3.33})
    past = observed(*repeats, *flat, (doubted, 1400.0))
    assert lucky(learn(past, ())) == doubted
    advice = recommend(past, rng=rng())
    assert (advice.origin, advice.configuration) == ("repeat", doubted)


def test_few_rows_predict_more_widely_than_many() -> None:
    few, many = (learn(history(n), ()).wary.spread for n in (3, 20))
    assert few.worse > many.worse
    assert few.noise > many.noise


def test_intervals_narrow_where_readings_are_foreseen_and_widen_where_they_are_not() -> None:
    fixed = replace(Options().calibration, own_readings=1e6)
    gp = learn(history(30), ()).wary
    close, off = gp.z[: gp.read], gp.z[: gp.read] + 2.0 * np.resize([1.0, -1.0], gp.read)
    narrow, wide = (own_scale(gp, predicted, Options().calibration) for predicted in (close, off))
    assert narrow < 1.0 < wide
    assert own_scale(gp, off, fixed) < 1.01
    halves = [own_scale(replace(gp, spread=gp.spread.scaled(f)), off, Options().calibration) for f in (1.0, 2.0)]
    assert halves[0] > halves[1]


def test_intervals_hold_nine_of_ten_readings_on_both_sides_of_a_cliff() -> None:
    space = KnobSpace([Knob(f"k{j}", Number(0.0, 1.0)) for j in range(6)])

    def held(seed: int) -> float:
        draw = rng(seed)
        unit = draw.random((72, 6))
        fallen = (unit[:, 0] > 0.6) | (unit[:, 1] < 0.25)
        qps = 1000.0 * np.where(fallen, 0.2, 1.0) * (1.0 + 0.3 * unit[:, 2]) * np.exp(0.02 * draw.standard_normal(72))
        rows = [Configuration({f"k{j}": float(v) for j, v in enumerate(place)}) for place in unit]
        known = [Observation(c, {"qps": float(v)}) for c, v in zip(rows[:12], qps[:12], strict=True)]
        told = [p["qps"] for p in fit(History(space, QPS, observations=known), rng=rng()).predict(rows[12:])]
        return float(np.mean([p.low <= v <= p.high for p, v in zip(told, qps[12:], strict=True)]))

    assert 0.85 < np.mean([held(seed) for seed in range(8)]) < 0.95


def test_an_opening_under_a_tight_rule_does_not_repeat_itself() -> None:
    knobs = [Knob(f"buffer_{i}", Number(1, 1000, integer=True)) for i in range(4)] + [Knob("mode", Choice(("a", "b")))]

    def budget(c: Configuration) -> Refusal | None:
        used = sum(float(c[f"buffer_{i}"]) for i in range(4))
        return Refusal("memory_budget_exceeded", f"{used:.0f} is more than 300") if used > 300 else None

    space = KnobSpace(knobs, rules=[budget])
    current = Configuration({f"buffer_{i}": 10 for i in range(4)} | {"mode": "a"})
    rows = [Observation(current, {"qps": 100.0})]
    for trial in range(4):
        past = History(space, QPS, observations=rows, current=current)
        rows.append(Observation(recommend(past, rng=rng(trial)).configuration, {"qps": 100.0 + trial}))
    features = Encoding(space.knobs).encode([o.configuration for o in rows])
    apart = np.linalg.norm(features[:, None] - features[None], axis=2) + 10 * np.eye(len(rows))
    assert np.min(apart) > 0.05


def test_a_safe_search_with_nowhere_left_to_go_measures_the_best_again() -> None:
    space = KnobSpace([Knob("mode", Choice(("a", "b")))])
    a, b = Configuration({"mode": "a"}), Configuration({"mode": "b"})
    rows = [Observation(a, {"qps": 100.0}), Observation.failed(b, "did_not_start"), Observation(a, {"qps": 101.0})]
    advice = recommend(History(space, QPS, observations=rows, current=a), rng=rng(), safe=True)
    assert (advice.origin, advice.configuration) == ("repeat", a)

"""The parts of the search, each on its own."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lutra_models import Choice, Configuration, History, Knob, KnobSpace, Number, Objective, Observation
from lutra_models.gp import Options, recommend
from lutra_models.gp.kernels.shapes import MATERN52
from lutra_models.gp.learning.fit import learn
from lutra_models.gp.search.knob_ranking import ranked_knobs
from lutra_models.gp.search.maximise import Field, maximise
from lutra_models.gp.search.safety import shortfall
from lutra_models.gp.search.sparse import simplified
from lutra_models.gp.space.encoding import Encoding
from lutra_models.gp.surrogate.calibration import calibrated, record
from lutra_models.gp.surrogate.dataset import Readings
from lutra_models.gp.surrogate.gpy_fit import GPY, gpy_model
from lutra_models.gp.surrogate.map_estimate import LogNormal, Problem, find_mode
from lutra_models.gp.surrogate.transforms import Transform

from tests.unit.gp.helpers import DEFAULT, SPACE, history

pytestmark = pytest.mark.slow


def rng(seed: int = 1) -> np.random.Generator:
    return np.random.default_rng(seed)


@given(st.lists(st.floats(0, 1e9), min_size=1, max_size=20))
@settings(max_examples=80, deadline=None)
def test_a_transform_undoes_itself_and_keeps_the_order(readings: list[float]) -> None:
    values = np.array(readings)
    transform = Transform.of(values)
    z = transform.forward(values)
    np.testing.assert_allclose(transform.backward(z), values, rtol=1e-6, atol=1e-6 * (1 + values.max()))
    assert np.all(np.diff(z[np.argsort(values)]) >= 0)


def problem(seed: int) -> tuple[Readings, Problem]:
    generator = rng(seed)
    x = generator.random((15, 3))
    z = np.sin(4 * x[:, 0]) + 0.1 * generator.standard_normal(15)
    trends = generator.standard_normal((15, 1))
    readings = Readings(
        x, z, np.ones(15), 0.3, 4, Transform(False, 0, 1), 0.1, trends, np.array([0.2]), np.array([0.5])
    )
    priors = LogNormal(0.5, 1.0), LogNormal(0.0, 0.5), LogNormal(-4.0, 1.0)
    inherited = (trends * 0.25) @ trends.T
    return readings, Problem(MATERN52, x, z - 0.2 * trends[:, 0], np.ones(15), *priors, inherited, 0.3, 4)


@pytest.mark.parametrize("seed", range(3))
def test_the_mode_found_in_numpy_is_gpys_mode(seed: int) -> None:
    readings, rows = problem(seed)
    model = gpy_model(readings, rows, find_mode(rows, 200))
    assert np.max(np.abs(model._objective_grads(model.optimizer_array)[1])) < 0.02
    before = model.objective_function()
    model.optimize("lbfgs", max_iters=100, messages=False)
    assert before - model.objective_function() < 1e-3


def test_repeated_readings_fix_the_noise() -> None:
    readings, _ = problem(0)
    certain = Readings(
        readings.x, readings.z, np.full(15, 50.0), 0.04 * 700, 700, readings.transform, 0.5, np.zeros((15, 0)),
        np.zeros(0), np.zeros(0),
    )  # fmt: skip
    found = GPY.fit(certain, Options().surrogate.broad, Options().surrogate)
    assert math.isclose(found.noise, 0.04, rel_tol=0.1)


def test_a_search_finds_the_top_of_a_mixed_space() -> None:
    encoding = Encoding(SPACE.knobs)
    goal = encoding.encode([DEFAULT.replace({"shared_buffers": 1_000_000, "jit": "off", "wal_buffers": 2048})])

    def score(codes: np.ndarray) -> np.ndarray:
        return -np.sum((encoding.features(codes) - goal) ** 2, axis=1)

    field = Field(encoding, lambda _: True, np.zeros((0, len(SPACE))))
    best = maximise(score, field, encoding.codes([DEFAULT]), rng())[0]
    assert (best["jit"], best["io_method"]) == ("off", "worker")
    assert float(score(encoding.codes([best]))[0]) > -0.01


def test_pinned_knobs_stay_in_their_place() -> None:
    encoding = Encoding(SPACE.knobs)
    pinned = encoding.codes([DEFAULT])[0]
    pinned[0] = np.nan
    field = Field(encoding, lambda _: True, np.zeros((0, len(SPACE))), pinned)
    found = maximise(lambda codes: codes[:, 0], field, encoding.codes([DEFAULT]), rng())
    assert found[0] == DEFAULT.replace({"shared_buffers": 4194304})


def test_what_the_server_makes_something_else_of_is_not_asked_for_again() -> None:
    encoding = Encoding([Knob("cache", Number(0, 10_000, integer=True, special=(-1,))), Knob("x", Number(0.0, 1.0))])

    def read(value: float, answers: list[tuple[float, float]], *before: float) -> object:
        said = {"standing": {"cache": before}, "answers": {"cache": answers}}
        field = Field(encoding, lambda _: True, np.zeros((0, 2)), **said)
        return field.read(encoding.codes([Configuration({"cache": value, "x": 0.5})])[0])["cache"]

    assert read(6000, [(8000, 5000)], 5000) == 5000
    assert read(9000, [(8000, 5000)], 5000) == 9000
    assert read(4000, [(8000, 5000)], 5000) == 4000
    assert read(6000, [(8000, 5000)], 5000, 7000) == 6000  # something else in between was active since
    assert read(6000, [(-1, 8000)], 8000) == 6000  # a value of the server's own choice says nothing of others


def test_changes_that_add_nothing_are_undone() -> None:
    reference = np.array([0.5, 0.5, 0.5])
    kept = simplified(lambda c: 10 * c[:, 0] + 0.001 * c[:, 1], np.array([0.9, 0.9, 0.1]), reference, slack=0.02)
    assert kept.tolist() == [0.9, 0.5, 0.5]


def test_knobs_that_matter_rank_before_those_that_do_not() -> None:
    learned = learn(history(40), ())
    order = [SPACE.names[j] for j in ranked_knobs(learned.encoding, learned.wary, rng())]
    assert order[0] == "shared_buffers"
    assert set(order) == set(SPACE.names)


def test_a_large_space_is_opened_step_by_step() -> None:
    knobs = [Knob(f"k{i}", Number(0, 1)) for i in range(60)] + [Knob("c", Choice(("x", "y", "z")))]
    space = KnobSpace(knobs)
    encoding = Encoding(knobs)
    rows = [encoding.decode(c) for c in encoding.cube(rng(3).random((15, len(knobs))))]
    seen = [Observation(c, {"qps": 100 + 50 * float(c["k3"])}) for c in rows]
    current = rows[0]
    advice = recommend(History(space, Objective("qps", "maximize"), observations=seen, current=current), rng=rng())
    assert space.parse(advice.configuration)
    assert float(advice.configuration["k3"]) > 0.5


def test_intervals_are_wider_on_the_bad_side_and_more_so_after_failures() -> None:
    past = history(10)
    failed = Observation.failed(DEFAULT.replace({"shared_buffers": 4_000_000}), "did_not_start")
    after = History(SPACE, past.objective, observations=[*past.observations, *[failed] * 5])
    gp = learn(past, ()).wary
    shaky = calibrated(gp, after, good=1.0, searched=True, predicted=gp.left_out()[0]).spread
    assert shaky.worse > shaky.better
    assert shaky.worse > gp.spread.worse


def test_only_the_objective_is_bounded_by_the_best_that_the_search_has_found() -> None:
    past = history(10)
    gp = learn(past, ()).wary
    bounded, free = (calibrated(gp, past, 1.0, searched, gp.left_out()[0]).spread for searched in (True, False))
    assert bounded.headroom < math.inf
    assert free.headroom == math.inf


def test_the_record_counts_rows_that_lay_inside_when_left_out() -> None:
    learned = learn(history(30), ())
    kept = record(learned.wary, learned.wary.left_out())
    assert kept.n == 30
    assert 0.7 * kept.n <= kept.held <= kept.n
    assert learned.snapshot.predict([DEFAULT])[0]["qps"].record == kept


@pytest.mark.slow
def test_safe_recommendations_stay_close_and_grow_outwards() -> None:
    def distance(configuration: Configuration) -> float:
        encoding = Encoding(SPACE.knobs)
        one, two = encoding.encode([configuration, DEFAULT])
        return float(np.linalg.norm(one - two))

    safe = recommend(history(1), rng=rng(), safe=True)
    assert safe.configuration == DEFAULT or distance(safe.configuration) < 0.7
    assert distance(safe.configuration) <= distance(recommend(history(6), rng=rng()).configuration)


def test_a_safe_recommendation_has_no_shortfall() -> None:
    past = history(12)
    advice = recommend(past, rng=rng(), safe=True)
    learned = learn(past, ())
    if advice.origin != "repeat":
        assert shortfall(learned, learned.encoding.codes([advice.configuration]))[0] == 0.0


def test_a_rule_based_start_is_no_reason_to_leave_the_safe_region() -> None:
    start = DEFAULT.replace({"shared_buffers": 4_000_000, "jit": "off", "random_page_cost": 1.0})
    assert recommend(history(1, warm_starts=[start]), rng=rng(), safe=True).configuration != start

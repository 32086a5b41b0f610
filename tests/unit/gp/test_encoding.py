"""Codes and features of any knob space."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lutra_models import Choice, Configuration, History, Knob, KnobSpace, Number, Objective, Observation
from lutra_models.gp import recommend
from lutra_models.gp.space.encoding import Encoding
from lutra_models.serial import knob_from_dict, knob_to_dict

pytestmark = pytest.mark.slow

integers = st.builds(
    lambda low, span, log, special: Number(
        low, low + span, log=log, integer=True, special=tuple(s for s in special if s < low)
    ),
    st.integers(1, 10**6),
    st.integers(1, 10**12),
    st.booleans(),
    st.sampled_from([(), (-1,), (-1, 0)]),
)
reals = st.builds(
    lambda low, span, log: Number(low, low + span, log=log),
    st.floats(1e-3, 1e3),
    st.floats(1e-2, 1e6),
    st.booleans(),
)
choices = st.integers(2, 5).map(lambda n: Choice(tuple("abcde"[:n])))
spaces = st.lists(st.one_of(integers, reals, choices), min_size=1, max_size=6).map(
    lambda domains: [Knob(f"k{i}", d) for i, d in enumerate(domains)]
)


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(spaces, st.integers(0, 2**32 - 1))
def test_every_point_of_the_cube_is_a_legal_configuration_that_survives_a_round_trip(
    knobs: list[Knob], seed: int
) -> None:
    encoding = Encoding(knobs)
    rng = np.random.default_rng(seed)
    linear = rng.random(8) < 0.5
    codes = encoding.cube(rng.random((8, len(knobs))), linear=linear)
    for row in codes:
        configuration = encoding.decode(row)
        assert all(configuration[k.name] in k.domain for k in knobs)
        again = encoding.codes([configuration])
        np.testing.assert_allclose(again[0], row, atol=1e-6)
        decoded = encoding.decode(encoding.snap(again)[0])
        for knob in knobs:
            one, two = configuration[knob.name], decoded[knob.name]
            assert one == two if isinstance(one, str) else math.isclose(float(one), float(two), rel_tol=1e-9)


@settings(max_examples=50, deadline=None)
@given(spaces, st.integers(0, 2**32 - 1))
def test_a_configuration_has_the_same_codes_alone_and_among_others(knobs: list[Knob], seed: int) -> None:
    encoding = Encoding(knobs)
    some = [encoding.decode(row) for row in encoding.cube(np.random.default_rng(seed).random((9, len(knobs))))]
    np.testing.assert_array_equal(encoding.codes(some), np.vstack([encoding.codes([one]) for one in some]))


@settings(max_examples=50, deadline=None)
@given(spaces)
def test_a_knob_survives_json(knobs: list[Knob]) -> None:
    assert [knob_from_dict(knob_to_dict(k)) for k in knobs] == knobs


def test_distinct_options_are_equally_far_from_each_other() -> None:
    encoding = Encoding([Knob("c", Choice(("x", "y", "z")))])
    x = encoding.encode([{"c": o} for o in "xyz"])
    distances = [np.linalg.norm(x[i] - x[j]) for i, j in ((0, 1), (0, 2), (1, 2))]
    np.testing.assert_allclose(distances, 1.0)


def test_a_special_value_is_not_the_end_of_the_range() -> None:
    encoding = Encoding([Knob("wal_buffers", Number(8, 1024, log=True, integer=True, special=(-1,)))])
    automatic, low, high = encoding.encode([{"wal_buffers": v} for v in (-1, 8, 1024)])
    assert abs(np.linalg.norm(automatic - low) - np.linalg.norm(automatic - high)) < 1e-9
    assert encoding.decode(encoding.codes([{"wal_buffers": -1}])[0]) == Configuration({"wal_buffers": -1})


def test_values_outside_a_domain_and_unknown_options_have_finite_features() -> None:
    encoding = Encoding([Knob("n", Number(8, 1024, log=True, integer=True)), Knob("c", Choice(("x", "y", "z")))])
    x = encoding.encode([{"n": 0, "c": "w"}, {"n": 10**9, "c": "x"}])
    assert np.all(np.isfinite(x))
    assert encoding.snap(encoding.codes([{"n": 10**9, "c": "w"}]))[0].tolist() == [1.0, 0.0]


@pytest.mark.slow
@settings(max_examples=12, deadline=None)
@given(spaces, st.integers(0, 2**32 - 1), st.integers(2, 9))
def test_a_recommendation_is_legal_in_any_space_after_any_history(knobs: list[Knob], seed: int, trials: int) -> None:
    space, encoding, rng = KnobSpace(knobs), Encoding(knobs), np.random.default_rng(seed)
    rows = [encoding.decode(c) for c in encoding.cube(rng.random((trials, len(knobs))))]
    seen = [
        Observation.failed(c, "did_not_start") if rng.random() < 0.2 else Observation(c, {"qps": rng.lognormal()})
        for c in rows
    ]
    history = History(space, Objective("qps", "maximize"), observations=seen, current=rows[0])
    assert space.parse(recommend(history, rng=rng).configuration)

"""Windows that were ended early: what their bounds teach, and that none is ever taken for a value."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import get_args

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lutra_models import Configuration, History, Limit, Objective, Observation
from lutra_models.advice import SearchOrigin
from lutra_models.gp import Model, Options, fit
from lutra_models.gp.kernels.covariance import matern52
from lutra_models.gp.learning.levelled import levelled
from lutra_models.gp.model import abandon_below
from lutra_models.gp.surrogate.bounds import within_bounds
from lutra_models.gp.surrogate.drift import Change, Drift
from lutra_models.gp.surrogate.posterior import GaussianProcess
from lutra_models.gp.surrogate.transforms import Transform

from tests.unit.gp.helpers import DEFAULT, SPACE, history

pytestmark = pytest.mark.slow

NUMPY = Options().using(surrogate="numpy")


def rng(seed: int = 1) -> np.random.Generator:
    return np.random.default_rng(seed)


def cut(known: History, places: dict[int, float]) -> History:
    """The history with the trials at these places ended early, each with this bound of its QPS."""
    observations = list(known.observations)
    for i, bound in places.items():
        observations[i] = Observation(observations[i].configuration, {"reads": 5.0}, bounds={"qps": bound})
    return replace(known, observations=tuple(observations))


def a_posterior(n: int = 6, seed: int = 0) -> GaussianProcess:
    draw = rng(seed)
    transform = Transform(log=False, shift=0.0, scale=1.0)
    z = draw.standard_normal(n)
    covariance = matern52(np.array([0.5, 0.7]), 1.0)
    return GaussianProcess(draw.random((n, 2)), z, np.ones(n), covariance, 0.01, transform)


def by_sampling(gp: GaussianProcess, x: np.ndarray, bounds: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean and variance at x of the posterior under the bounds, by weighing draws from the one without them."""
    mean, covariance = gp.joint(x)
    drawn = rng(5).multivariate_normal(mean, covariance + 1e-9 * np.eye(len(x)), size=400_000)
    from scipy.special import ndtr

    weights = np.prod(ndtr((bounds - drawn) / np.sqrt(gp.noise)), axis=1)
    centre = np.average(drawn, axis=0, weights=weights)
    return centre, np.average((drawn - centre) ** 2, axis=0, weights=weights)


@pytest.mark.parametrize("seed", range(4))
def test_the_posterior_under_bounds_is_the_one_that_sampling_gives(seed: int) -> None:
    gp = a_posterior(seed=seed)
    x = rng(seed + 50).random((3, 2))
    bounds = gp.latent(x)[0] + np.array([-0.6, 0.0, 0.4])
    mean, variance = within_bounds(gp, x, bounds, 1.0).latent(x)
    there_mean, there_variance = by_sampling(gp, x, bounds)
    np.testing.assert_allclose(mean, there_mean, atol=0.03)
    np.testing.assert_allclose(variance, there_variance, atol=0.03)


def test_a_bound_from_below_is_the_mirror_image_of_one_from_above() -> None:
    gp, x = a_posterior(), rng(9).random((4, 2))
    bounds, places = np.array([-0.5, 0.1, 0.0, -1.0]), rng(3).random((10, 2))
    below = within_bounds(gp, x, bounds, 1.0).latent(places)
    above = within_bounds(replace(gp, z=-gp.z), x, -bounds, -1.0).latent(places)
    np.testing.assert_allclose(below[0], -above[0], atol=1e-6)
    np.testing.assert_allclose(below[1], above[1], atol=1e-6)


@given(st.integers(0, 1000), st.integers(1, 30), st.floats(-8, 8))
@settings(max_examples=40, deadline=None)
def test_a_bound_never_raises_what_is_expected_there_and_bounds_never_widen_it(
    seed: int, count: int, room: float
) -> None:
    gp, x = a_posterior(seed=seed % 7), rng(seed).random((count, 2))
    mean, variance = gp.latent(x)
    now, left = within_bounds(gp, x, mean + room, 1.0).latent(x)
    assert np.all(left <= variance + 1e-4)
    assert np.all(np.isfinite(now))
    assert within_bounds(gp, x[:1], mean[:1] + room, 1.0).latent(x[:1])[0] <= mean[0] + 1e-6


def test_a_bound_far_above_what_is_expected_says_nothing() -> None:
    gp, x = a_posterior(), rng(2).random((2, 2))
    assert within_bounds(gp, x, np.array([50.0, 60.0]), 1.0).imagined == 0


def test_the_model_expects_less_where_windows_were_ended() -> None:
    known = history(14, seed=5)
    places = dict.fromkeys((9, 11, 13), 300.0)
    read = tuple(o for i, o in enumerate(known.observations) if i not in places)
    asked = [known.observations[i].configuration for i in places]
    told, blind = (
        fit(h, rng=rng(), options=NUMPY).predict(asked) for h in (cut(known, places), replace(known, observations=read))
    )
    assert all(a["qps"].median < b["qps"].median for a, b in zip(told, blind, strict=True))


def test_a_bound_is_never_taken_for_a_value() -> None:
    """A bound of a billion at one place: nothing that speaks of readings knows of it."""
    known = cut(history(12, seed=2), {8: 1e9, 10: 1e9})
    model = fit(known, rng=rng(), options=NUMPY)
    assert model.learned is not None
    bounded = {known.observations[i].configuration for i in (8, 10)}
    assert not bounded & set(model.learned.ranked())
    assert model.best().configuration not in bounded
    assert all(p["qps"].record.n == 10 for p in model.predict([DEFAULT]))  # type: ignore[union-attr]
    highest = max(o.metrics["qps"] for o in known.observations if o.metrics.get("qps"))
    assert all(p["qps"].high < 10 * highest for p in model.predict([*bounded, DEFAULT]))
    assert [value for _, value in known.values("qps") if value == 1e9] == []


def test_what_was_ended_is_not_tried_again() -> None:
    known = cut(history(12, seed=2), {8: 500.0, 10: 500.0})
    tried = {o.configuration for o in known.observations}
    for advice in fit(known, rng=rng(), options=NUMPY).recommend(4):
        assert advice.origin != "improvement" or advice.configuration not in tried


def test_a_trial_must_reach_almost_the_best_and_an_opening_nothing() -> None:
    known = history(12, seed=2)
    advice = fit(known, rng=rng(), options=NUMPY).recommend()
    readings = [o.metrics["qps"] for o in known.observations]
    assert advice.origin == "improvement"
    assert advice.abandon_below is not None
    assert 0.7 * max(readings) < advice.abandon_below < 1.2 * max(readings)
    for trials in range(1, 6):
        assert fit(history(trials, seed=2), rng=rng(), options=NUMPY).recommend().abandon_below is None


def test_readings_of_the_opening_are_counted_without_bounds() -> None:
    known = cut(history(8, seed=2), {5: 400.0, 6: 400.0, 7: 400.0})
    assert fit(known, rng=rng(), options=NUMPY).recommend().abandon_below is None


def test_what_is_measured_to_prove_it_has_nothing_to_reach() -> None:
    model = fit(history(12, seed=2), rng=rng(), options=NUMPY)
    reached = {origin: abandon_below(model, origin) for origin in get_args(SearchOrigin)}
    assert {origin for origin, level in reached.items() if level is not None} == {"improvement"}
    assert model.best().abandon_below is None


def test_of_less_is_better_the_level_lies_above_the_best() -> None:
    known = replace(history(12, seed=2), objective=Objective("p99_ms", "minimize"))
    advice = fit(known, rng=rng(), options=NUMPY).recommend()
    assert advice.abandon_below is not None
    assert advice.abandon_below > 0.8 * min(o.metrics["p99_ms"] for o in known.observations)


def test_nothing_is_ended_while_no_configuration_keeps_the_limits() -> None:
    known = replace(history(12, seed=2), limits=(Limit("p99_ms", at_most=0.001),))
    assert fit(known, rng=rng(), options=NUMPY).recommend().abandon_below is None


def test_a_saved_model_with_bounds_answers_the_same_to_the_bit() -> None:
    known = cut(history(14, seed=5), {9: 700.0, 11: 900.0, 13: 300.0})
    model = fit(known, rng=rng())
    again = Model.load(json.loads(json.dumps(model.save())))
    asked = [o.configuration for o in history(5, seed=9).observations]
    assert again.predict(asked) == model.predict(asked)
    assert again.recommend() == model.recommend()
    assert fit(known, rng=rng()).recommend() == model.recommend()


def test_bounds_follow_the_servers_drift() -> None:
    """Between two readings a bound lies half-way; after a slow-down by half, an earlier bound is half of itself."""
    known = cut(history(6), {1: 800.0, 4: 800.0})
    drift = Drift(True, (Change(1, 2, np.log(0.5)),))
    now = levelled(known, {"qps": drift})
    assert [bound for _, bound in now.bounds("qps")] == pytest.approx([400.0, 800.0])
    assert [c for c, _ in now.bounds("qps")] == [known.observations[i].configuration for i in (1, 4)]


def test_past_workloads_and_bounds_go_together() -> None:
    known = cut(history(12, seed=3), {9: 600.0, 11: 600.0})
    model = fit(known, [history(20, seed=4)], rng=rng(), options=NUMPY)
    assert model.snapshot.trends["qps"]
    assert all(np.isfinite(p["qps"].median) for p in model.predict([Configuration(SPACE.normalise(DEFAULT))]))

"""The contract of every surrogate and every acquisition: one suite for each part, for Lutra's own and for those of
other packages.

A package's own tests derive from a suite and name the part:

    class TestMine(SurrogateConformance):
        one = Mine()

The service runs the same suites before a part may serve.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np

from lutra_models.errors import FitFailed
from lutra_models.gp.kernels.shapes import Kernel, kernel, kernel_from_dict
from lutra_models.gp.options import DEFAULT
from lutra_models.gp.search.acquisition import Acquisition, acquisition
from lutra_models.gp.space.encoding import Array
from lutra_models.gp.surrogate.base import Surrogate, posterior_at
from lutra_models.gp.surrogate.dataset import Readings
from lutra_models.gp.surrogate.map_estimate import Problem, covariance_at, find_mode, squares_of
from lutra_models.gp.surrogate.posterior import GaussianProcess
from lutra_models.gp.surrogate.table import surrogate
from lutra_models.gp.surrogate.transforms import Transform

OPTIONS = DEFAULT.surrogate
FAR = np.full((1, 3), 9.0)


def readings(rows: int = 25, noise: float = 0.1, trends: int = 0) -> Readings:
    """Rows of a sine along the first of three features; a trend is the sine itself."""
    rng = np.random.default_rng(0)
    x = rng.random((rows, 3))
    signal = np.sin(5 * x[:, 0])
    z = signal + noise * rng.standard_normal(rows)
    columns, weights = np.tile(signal[:, None], trends), np.ones(trends)
    plain = Transform(False, 0.0, 1.0)
    return Readings(x, z, np.ones(rows), 0.0, 0, plain, 0.1, columns, 0.9 * weights, 0.4 * weights)


class KernelConformance:
    """`one` is the kernel."""

    one: Kernel

    def places(self, rows: int = 12) -> Array:
        return 2.0 * np.random.default_rng(0).random((rows, 3))

    def test_it_is_one_at_no_distance_and_positive_definite(self) -> None:
        x = self.places()
        k = self.one.correlations(x, x)
        assert np.allclose(np.diag(k), 1.0, atol=1e-6), f"at distance 0 it is {np.diag(k).round(4).tolist()}, not 1"
        least = float(np.min(np.linalg.eigvalsh((k + k.T) / 2.0)))
        assert np.allclose(k, k.T, atol=1e-9), "the correlation of two configurations depends on their order"
        assert least > -1e-6, f"it is not positive definite: 12 rows have the eigenvalue {least:.2g}"

    def test_it_falls_with_the_distance(self) -> None:
        along = np.linspace(0.0, 4.0, 9)[:, None] * np.ones((1, 3))
        k = self.one.correlations(along[:1], along)[0]
        assert np.all(np.diff(k) <= 1e-12), f"it increases with distance: {k.round(4).tolist()}"
        assert k[-1] < k[0], "it does not decrease at all"

    def test_one_row_and_many_give_the_same(self) -> None:
        x = self.places()
        alone, together = self.one.at(x - x[0]), self.one.correlations(x, x[:1])[:, 0]
        assert np.allclose(alone, together, atol=1e-7), "`at` and `correlations` disagree"

    def test_its_slopes_are_those_of_its_values(self) -> None:
        x, scales, step = self.places(), np.array([0.7, 1.0, 1.6]), 1e-5
        squares, weights = squares_of(x), np.random.default_rng(1).standard_normal(len(x) ** 2)
        values, by_scale = self.one.terms(squares, scales**-2.0)
        flat = self.one.correlations(x / scales, x / scales).ravel()
        assert np.allclose(values, flat, atol=1e-7), "`terms` and `correlations` disagree"
        for j, told in enumerate(by_scale(weights)):
            factors = np.exp(step * (np.arange(3) == j))
            above, below = (self.one.terms(squares, s**-2.0)[0] for s in (scales * factors, scales / factors))
            found = float(weights @ (above - below)) / (2.0 * step)
            assert abs(found - told) < 1e-4 * max(1.0, abs(found)), f"feature {j}: {found:.6g} is shown as {told:.6g}"

    def test_plain_numbers_keep_it(self) -> None:
        again, x = kernel_from_dict(json.loads(json.dumps(self.one.to_dict()))), self.places()
        same = np.array_equal(again.correlations(x, x), self.one.correlations(x, x))
        assert same, "its document gives different numbers; a service predicts from the document alone"

    def test_a_surrogate_is_fitted_with_it(self) -> None:
        problem = replace(Problem.of(readings(), OPTIONS.broad, OPTIONS), kernel=self.one)
        gp = posterior_at(readings(), *covariance_at(problem, find_mode(problem, OPTIONS.steps)))
        off = float(np.mean(np.abs(gp.latent(gp.x)[0] - np.sin(5 * gp.x[:, 0]))))
        assert off < 0.1, f"fitted to readings it is {off:.2f} standard units off; at most 0.1 is allowed"


class SurrogateConformance:
    """`one` is the surrogate."""

    one: Surrogate

    def fitted(self, of: Readings) -> GaussianProcess:
        return self.one.fit(of, OPTIONS.broad, OPTIONS)

    def test_it_gives_a_posterior_of_the_readings_that_plain_numbers_keep(self) -> None:
        gp = self.fitted(readings())
        assert isinstance(gp, GaussianProcess), f"fit returned a {type(gp).__name__}, not a GaussianProcess"
        assert gp.read == len(readings().z), f"the posterior is based on {gp.read} rows of {len(readings().z)}"
        again = GaussianProcess.from_dict(gp.to_dict())
        assert np.array_equal(again.latent(gp.x)[0], gp.latent(gp.x)[0]), "its document gives different numbers"

    def test_it_is_near_the_data_and_surer_there_than_elsewhere(self) -> None:
        data = readings()
        gp = self.fitted(data)
        mean, at_the_data = gp.latent(gp.x)
        _, among = gp.latent(np.random.default_rng(1).random((200, 3)))
        off, near, there = np.mean(np.abs(mean - np.sin(5 * data.x[:, 0]))), np.mean(at_the_data), np.mean(among)
        assert off < 0.1, f"at the data it is {off:.2f} standard units off; at most 0.1 is allowed"
        assert near < there, f"its variance is {near:.3g} at the data and {there:.3g} among them"

    def test_of_many_rows_all_are_in_the_posterior(self) -> None:
        data, few = readings(80), replace(OPTIONS, fitted_rows=40)
        whole, quick = self.fitted(data), self.one.fit(data, few.broad, few)
        assert len(quick.z) == len(data.z), f"with fitted_rows 40 the posterior has {len(quick.z)} rows of 80"
        apart = float(np.max(np.abs(quick.latent(data.x)[0] - whole.latent(data.x)[0])))
        assert apart < 0.1, f"hyperparameters from 40 rows of 80 move the posterior by {apart:.2f}"

    def test_it_finds_the_feature_that_matters(self) -> None:
        gp = self.fitted(readings())
        found = gp.covariance.relevance(gp.x)
        assert int(np.argmax(found)) == 0, f"only the first feature matters, but it finds {found.round(3).tolist()}"

    def test_more_noise_is_found_to_be_more(self) -> None:
        quiet, loud = (self.fitted(readings(60, noise)).noise for noise in (0.05, 0.5))
        assert quiet < 0.1 < loud, f"for deviations 0.05 and 0.5 it finds the variances {quiet:.3g} and {loud:.3g}"

    def test_the_same_readings_give_the_same_bits_from_any_thread(self) -> None:
        alone = self.fitted(readings()).to_dict()
        with ThreadPoolExecutor(4) as pool:
            together = list(pool.map(lambda _: self.fitted(readings()).to_dict(), range(6)))
        assert all(found == alone for found in together), (
            "the same readings gave different numbers in a different thread"
        )

    def test_what_trends_say_is_part_of_the_posterior(self) -> None:
        gp = self.fitted(readings(6, trends=1))
        low, high = gp.latent(np.hstack([np.repeat(FAR, 2, axis=0), [[-1.0], [1.0]]]))[0]
        assert high > low, f"if a past workload predicts 1 instead of -1, it predicts {high:.2f} instead of {low:.2f}"

    def test_one_row_and_equal_rows_are_no_error(self) -> None:
        data = readings(3)
        for rows, z in ((1, data.z[:1]), (3, np.zeros(3))):
            few = replace(data, x=data.x[:rows], z=z, repeats=np.ones(rows), trends=np.zeros((rows, 0)))
            assert np.isfinite(self.fitted(few).latent(data.x)[0]).all(), f"{rows} rows of {z} do not give a number"

    def test_numbers_that_are_not_finite_are_refused(self) -> None:
        try:
            self.fitted(replace(readings(3), z=np.array([0.0, np.nan, 1.0])))
        except FitFailed:
            return
        raise AssertionError("a target of NaN was fitted; raise FitFailed (as surrogate.base.verify does)")


class AcquisitionConformance:
    """`one` is the acquisition."""

    one: Acquisition

    def at(self, mean: Any, deviation: Any, best: float = 0.0) -> Array:
        mean, deviation = np.broadcast_arrays(np.asarray(mean, float), np.asarray(deviation, float))
        return self.one.score(mean, deviation, best)

    def test_each_candidate_is_judged_for_itself(self) -> None:
        rng = np.random.default_rng(0)
        mean, deviation = 5 * rng.standard_normal(20), 0.05 + 3 * rng.random(20)
        together = self.at(mean, deviation, 0.3)
        assert together.shape == (20,), f"20 candidates have the shape {together.shape}"
        alone = [self.at([m], [d], 0.3)[0] for m, d in zip(mean, deviation, strict=True)]
        assert np.allclose(together, alone, rtol=1e-12), "a candidate's value depends on the other candidates"

    def test_a_better_mean_is_worth_more_and_a_better_incumbent_makes_it_worth_less(self) -> None:
        means = np.linspace(-5, 5, 41)
        for deviation in (0.05, 0.5, 3.0):
            assert np.all(np.diff(self.at(means, deviation)) >= 0), "a better mean has a lower value"
            by_best = [self.at([0.0], deviation, best)[0] for best in np.linspace(-2, 2, 9)]
            assert np.all(np.diff(by_best) <= 0), "with a better incumbent the same candidate has a higher value"

    def test_it_keeps_falling_far_below_the_best(self) -> None:
        values = self.at(-np.logspace(0, 5, 40), 1.0)
        assert np.all(np.isfinite(values)), (
            "far below the best it is not a number: score the logarithm, with stable tails"
        )
        assert np.all(np.diff(values) < 0), "far below the best there is no slope to climb"

    def test_below_the_best_the_unknown_is_worth_more(self) -> None:
        assert np.all(np.diff(self.at(-1.0, np.linspace(0.1, 3.0, 20))) > 0), (
            "below the best, a larger deviation has a lower value"
        )


def surrogate_faults(one: Surrogate) -> list[str]:
    """The violations of the contract by a surrogate, in words; empty if it passes."""
    return _faults(type("Suite", (SurrogateConformance,), {"one": one})())


def kernel_faults(one: Kernel) -> list[str]:
    """The violations of the contract by a kernel, in words; empty if it passes."""
    return _faults(type("Suite", (KernelConformance,), {"one": one})())


def faults_of(kind: str, name: str) -> list[str]:
    """The violations of the contract by the part of this kind and name. Raises MissingExtension and BrokenExtension."""
    if kind == "kernel":
        return kernel_faults(kernel(name))
    return surrogate_faults(surrogate(name)) if kind == "surrogate" else acquisition_faults(acquisition(name))


def acquisition_faults(one: Acquisition) -> list[str]:
    """The violations of the contract by an acquisition, in words; empty if it passes."""
    return _faults(type("Suite", (AcquisitionConformance,), {"one": one})())


def _faults(suite: Any) -> list[str]:
    tests = [name for name in dir(suite) if name.startswith("test_")]
    return [f"{_words(name)}: {told}" for name in tests if (told := _fault(getattr(suite, name))) is not None]


def _fault(test: Callable[[], None]) -> str | None:
    try:
        test()
    except AssertionError as error:
        return str(error)[:500]
    except Exception as error:
        return f"{type(error).__name__}: {error}"[:500]
    return None


def _words(name: str) -> str:
    return name.removeprefix("test_").replace("_", " ")

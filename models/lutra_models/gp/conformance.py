"""What every surrogate and every acquisition has to keep: one suite a part, for ours and for those of other packages.

A package's own tests derive from a suite and name the part:

    class TestMine(SurrogateConformance):
        one = Mine()

The service runs the same suites before a part may serve.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np

from lutra_models.errors import FitFailed
from lutra_models.gp.options import DEFAULT
from lutra_models.gp.search.acquisition import Acquisition
from lutra_models.gp.space.encoding import Array
from lutra_models.gp.surrogate.base import Surrogate
from lutra_models.gp.surrogate.dataset import Readings
from lutra_models.gp.surrogate.posterior import GaussianProcess
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


class SurrogateConformance:
    """`one` is the surrogate."""

    one: Surrogate

    def fitted(self, of: Readings) -> GaussianProcess:
        return self.one.fit(of, OPTIONS.broad, OPTIONS)

    def test_it_gives_a_posterior_of_the_readings_that_plain_numbers_keep(self) -> None:
        gp = self.fitted(readings())
        assert isinstance(gp, GaussianProcess), f"fit gave a {type(gp).__name__}, no GaussianProcess"
        assert gp.read == len(readings().z), f"the posterior rests on {gp.read} rows of {len(readings().z)}"
        again = GaussianProcess.from_dict(gp.to_dict())
        assert np.array_equal(again.latent(gp.x)[0], gp.latent(gp.x)[0]), "its document gives other numbers"

    def test_it_is_surer_and_nearer_at_the_data_than_far_away(self) -> None:
        data = readings()
        gp = self.fitted(data)
        mean, near = gp.latent(gp.x)
        off, there = float(np.mean(np.abs(mean - np.sin(5 * data.x[:, 0])))), float(gp.latent(FAR)[1][0])
        assert off < 0.1, f"at the data it is {off:.2f} standard units off, and may be 0.1"
        assert np.max(near) < there, f"its variance is {np.max(near):.3g} at the data and {there:.3g} far away"

    def test_of_many_rows_all_are_in_the_posterior(self) -> None:
        data, few = readings(80), replace(OPTIONS, fitted_rows=40)
        whole, quick = self.fitted(data), self.one.fit(data, few.broad, few)
        assert len(quick.z) == len(data.z), f"with fitted_rows 40 the posterior has {len(quick.z)} rows of 80"
        apart = float(np.max(np.abs(quick.latent(data.x)[0] - whole.latent(data.x)[0])))
        assert apart < 0.1, f"hyperparameters from 40 rows of 80 move the posterior by {apart:.2f}"

    def test_it_finds_the_feature_that_matters(self) -> None:
        found = self.fitted(readings()).lengthscales
        assert int(np.argmin(found)) == 0, f"the first feature alone matters, its length-scales are {found.tolist()}"

    def test_more_noise_is_found_to_be_more(self) -> None:
        quiet, loud = (self.fitted(readings(60, noise)).noise for noise in (0.05, 0.5))
        assert quiet < 0.1 < loud, f"of deviations 0.05 and 0.5 it finds the variances {quiet:.3g} and {loud:.3g}"

    def test_the_same_readings_give_the_same_bits_from_any_thread(self) -> None:
        alone = self.fitted(readings()).to_dict()
        with ThreadPoolExecutor(4) as pool:
            together = list(pool.map(lambda _: self.fitted(readings()).to_dict(), range(6)))
        assert all(found == alone for found in together), "the same readings gave other numbers from another thread"

    def test_what_trends_say_is_part_of_the_posterior(self) -> None:
        gp = self.fitted(readings(6, trends=1))
        low, high = gp.latent(np.hstack([np.repeat(FAR, 2, axis=0), [[-1.0], [1.0]]]))[0]
        assert high > low, f"where a past workload says 1 rather than -1 it expects {high:.2f} rather than {low:.2f}"

    def test_one_row_and_equal_rows_are_no_error(self) -> None:
        data = readings(3)
        for rows, z in ((1, data.z[:1]), (3, np.zeros(3))):
            few = replace(data, x=data.x[:rows], z=z, repeats=np.ones(rows), trends=np.zeros((rows, 0)))
            assert np.isfinite(self.fitted(few).latent(data.x)[0]).all(), f"{rows} rows of {z} give no number"

    def test_numbers_that_are_not_finite_are_refused(self) -> None:
        try:
            self.fitted(replace(readings(3), z=np.array([0.0, np.nan, 1.0])))
        except FitFailed:
            return
        raise AssertionError("a target of NaN was fitted; FitFailed is wanted (surrogate.base.verify raises it)")


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
        assert together.shape == (20,), f"20 candidates give the shape {together.shape}"
        alone = [self.at([m], [d], 0.3)[0] for m, d in zip(mean, deviation, strict=True)]
        assert np.allclose(together, alone, rtol=1e-12), "a candidate's value depends on those beside it"

    def test_a_better_mean_is_worth_more_and_a_better_incumbent_makes_it_worth_less(self) -> None:
        means = np.linspace(-5, 5, 41)
        for deviation in (0.05, 0.5, 3.0):
            assert np.all(np.diff(self.at(means, deviation)) >= 0), "a better mean is worth less"
            by_best = [self.at([0.0], deviation, best)[0] for best in np.linspace(-2, 2, 9)]
            assert np.all(np.diff(by_best) <= 0), "beside a better incumbent the same is worth more"

    def test_it_keeps_falling_far_below_the_best(self) -> None:
        values = self.at(-np.logspace(0, 5, 40), 1.0)
        assert np.all(np.isfinite(values)), "far below the best it is no number: score the logarithm, with stable tails"
        assert np.all(np.diff(values) < 0), "far below the best a climber finds no slope"

    def test_below_the_best_the_unknown_is_worth_more(self) -> None:
        assert np.all(np.diff(self.at(-1.0, np.linspace(0.1, 3.0, 20))) > 0), "below the best, doubt is worth less"


def surrogate_faults(one: Surrogate) -> list[str]:
    """What a surrogate does not keep, in words; empty where it passes."""
    return _faults(type("Suite", (SurrogateConformance,), {"one": one})())


def acquisition_faults(one: Acquisition) -> list[str]:
    """What an acquisition does not keep, in words; empty where it passes."""
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

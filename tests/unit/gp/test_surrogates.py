"""What every surrogate has to keep."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
from lutra_models.errors import FitFailed, MissingExtension
from lutra_models.gp import Options, fit
from lutra_models.gp.surrogate.base import Surrogate
from lutra_models.gp.surrogate.dataset import Readings
from lutra_models.gp.surrogate.gpy_fit import GPY
from lutra_models.gp.surrogate.numpy_fit import NUMPY
from lutra_models.gp.surrogate.posterior import GaussianProcess
from lutra_models.gp.surrogate.table import SURROGATES, surrogate
from lutra_models.gp.surrogate.transforms import Transform

from tests.unit.gp.helpers import DEFAULT, history

OPTIONS = Options().surrogate


def readings(rows: int = 25, noise: float = 0.1, trends: int = 0) -> Readings:
    """Rows of a sine along the first of three features; a trend is the sine itself."""
    rng = np.random.default_rng(0)
    x = rng.random((rows, 3))
    signal = np.sin(5 * x[:, 0])
    z = signal + noise * rng.standard_normal(rows)
    columns = np.tile(signal[:, None], trends)
    plain, weights = Transform(False, 0.0, 1.0), np.ones(trends)
    return Readings(x, z, np.ones(rows), 0.0, 0, plain, 0.1, columns, 0.9 * weights, 0.4 * weights)


@pytest.fixture(scope="module", params=SURROGATES, ids=lambda s: s.name)
def one(request: pytest.FixtureRequest) -> Surrogate:
    found: Surrogate = request.param
    return found


def fitted(one: Surrogate, of: Readings) -> GaussianProcess:
    return one.fit(of, OPTIONS.broad, OPTIONS)


class TestEverySurrogate:
    def test_it_is_found_by_its_name(self, one: Surrogate) -> None:
        assert surrogate(one.name) is one

    def test_it_is_surer_and_nearer_at_the_data_than_far_away(self, one: Surrogate) -> None:
        data = readings()
        gp = fitted(one, data)
        mean, near = gp.latent(gp.x)
        assert float(np.mean(np.abs(mean - np.sin(5 * data.x[:, 0])))) < 0.1
        assert np.max(near) < gp.latent(np.full((1, 3), 9.0))[1][0]

    def test_of_many_rows_some_tell_the_hyperparameters_and_all_the_posterior(self, one: Surrogate) -> None:
        data, few = readings(80), replace(OPTIONS, fitted_rows=40)
        whole, quick = fitted(one, data), one.fit(data, few.broad, few)
        assert len(quick.z) == 80
        assert quick.noise != whole.noise
        assert np.max(np.abs(quick.latent(data.x)[0] - whole.latent(data.x)[0])) < 0.1

    def test_it_finds_the_feature_that_matters(self, one: Surrogate) -> None:
        assert int(np.argmin(fitted(one, readings()).lengthscales)) == 0

    def test_more_noise_is_found_to_be_more(self, one: Surrogate) -> None:
        quiet, loud = (fitted(one, readings(60, noise)).noise for noise in (0.05, 0.5))
        assert quiet < 0.1 < loud

    def test_the_same_readings_give_the_same_bits_from_any_thread(self, one: Surrogate) -> None:
        alone = fitted(one, readings()).to_dict()
        with ThreadPoolExecutor(4) as pool:
            together = list(pool.map(lambda _: fitted(one, readings()).to_dict(), range(6)))
        assert all(found == alone for found in together)

    def test_what_trends_say_is_part_of_the_posterior(self, one: Surrogate) -> None:
        gp = fitted(one, readings(6, trends=1))
        far = np.full((2, 3), 9.0)
        low, high = gp.latent(np.hstack([far, [[-1.0], [1.0]]]))[0]
        assert high > low

    def test_one_row_and_equal_rows_are_no_error(self, one: Surrogate) -> None:
        data = readings(3)
        for rows, z in ((1, data.z[:1]), (3, np.zeros(3))):
            few = replace(data, x=data.x[:rows], z=z, repeats=np.ones(rows), trends=np.zeros((rows, 0)))
            assert np.isfinite(fitted(one, few).latent(data.x)[0]).all()

    def test_numbers_that_are_not_finite_are_refused(self, one: Surrogate) -> None:
        data = readings(3)
        with pytest.raises(FitFailed, match="not finite"):
            fitted(one, replace(data, z=np.array([0.0, np.nan, 1.0])))

    def test_a_model_fitted_with_it_predicts_and_recommends(self, one: Surrogate) -> None:
        options = Options().varied(**{"surrogate.name": one.name})
        model = fit(history(8), [history(20, seed=4)], rng=np.random.default_rng(1), options=options)
        prediction = model.predict([DEFAULT])[0]["qps"]
        assert 700 < prediction.low < prediction.median < prediction.high < 1400
        assert model.recommend()[0].predictions


def test_gpy_has_hardly_anything_to_add_to_the_mode_that_numpy_finds() -> None:
    ours, theirs = (s.fit(readings(), OPTIONS.broad, OPTIONS) for s in (NUMPY, GPY))
    np.testing.assert_allclose(np.log(ours.lengthscales), np.log(theirs.lengthscales), atol=0.1)


def test_a_surrogate_that_nobody_knows_is_refused_with_the_way_to_bring_it() -> None:
    with pytest.raises(MissingExtension, match=r"no installed package brings 'oracle' to lutra\.surrogates"):
        surrogate("oracle")

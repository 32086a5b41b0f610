"""What every surrogate has to keep."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from lutra_models.errors import MissingExtension
from lutra_models.gp import Options, fit
from lutra_models.gp.conformance import OPTIONS, SurrogateConformance, readings
from lutra_models.gp.surrogate.gpy_fit import GPY
from lutra_models.gp.surrogate.numpy_fit import NUMPY
from lutra_models.gp.surrogate.table import SURROGATES, surrogate

from tests.unit.gp.helpers import DEFAULT, history

pytestmark = pytest.mark.slow


class TestEverySurrogate(SurrogateConformance):
    @pytest.fixture(autouse=True, params=SURROGATES, ids=lambda s: s.name)
    def _each(self, request: pytest.FixtureRequest) -> None:
        self.one = request.param

    def test_it_is_found_by_its_name(self) -> None:
        assert surrogate(self.one.name) is self.one

    def test_of_many_rows_some_tell_the_hyperparameters(self) -> None:
        data, few = readings(80), replace(OPTIONS, fitted_rows=40)
        assert self.one.fit(data, few.broad, few).noise != self.fitted(data).noise

    def test_a_model_fitted_with_it_predicts_and_recommends(self) -> None:
        options = Options().using(surrogate=self.one.name)
        model = fit(history(8), [history(20, seed=4)], rng=np.random.default_rng(1), options=options)
        prediction = model.predict([DEFAULT])[0]["qps"]
        assert 700 < prediction.low < prediction.median < prediction.high < 1400
        assert model.recommend().predictions


def test_gpy_has_hardly_anything_to_add_to_the_mode_that_numpy_finds() -> None:
    ours, theirs = (s.fit(readings(), OPTIONS.broad, OPTIONS) for s in (NUMPY, GPY))
    found = [np.log(gp.covariance.relevance(gp.x)) for gp in (ours, theirs)]
    np.testing.assert_allclose(*found, atol=0.1)


def test_a_surrogate_that_nobody_knows_is_refused_with_the_way_to_bring_it() -> None:
    with pytest.raises(MissingExtension, match=r"no installed package brings 'oracle' to lutra\.surrogates"):
        surrogate("oracle")

"""What every acquisition has to keep, and that each is what its name says."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lutra_models.errors import MissingExtension
from lutra_models.gp import Options, recommend
from lutra_models.gp.conformance import AcquisitionConformance
from lutra_models.gp.search.acquisition import ACQUISITIONS, LOG_EI, LOG_PI, Acquisition, acquisition
from scipy import integrate, stats

from tests.unit.gp.helpers import SPACE, history

pytestmark = pytest.mark.slow

numbers = st.floats(-5, 5)
deviations = st.floats(0.05, 3)


def at(one: Acquisition, mean: float, deviation: float, best: float) -> float:
    return float(one.score(np.array([mean]), np.array([deviation]), best)[0])


class TestEveryAcquisition(AcquisitionConformance):
    @pytest.fixture(autouse=True, params=ACQUISITIONS, ids=lambda a: a.name)
    def _each(self, request: pytest.FixtureRequest) -> None:
        self.one = request.param

    def test_it_is_found_by_its_name(self) -> None:
        assert acquisition(self.one.name) is self.one

    def test_the_search_follows_it_to_a_legal_configuration(self) -> None:
        options = Options().using(acquisition=self.one.name)
        advice = recommend(history(9), rng=np.random.default_rng(1), options=options)
        assert SPACE.parse(advice.configuration) == advice.configuration


@given(numbers, deviations, numbers)
@settings(max_examples=40, deadline=None)
def test_log_ei_is_the_logarithm_of_the_expected_improvement(mean: float, deviation: float, best: float) -> None:
    normal = stats.norm(mean, deviation)
    top = mean + 12 * deviation
    exact = integrate.quad(lambda f: (f - best) * normal.pdf(f), best, max(top, best + deviation))[0]
    if exact > 1e-9:
        assert math.isclose(at(LOG_EI, mean, deviation, best), math.log(exact), rel_tol=1e-3, abs_tol=1e-4)


@given(numbers, deviations, numbers)
@settings(max_examples=40, deadline=None)
def test_log_pi_is_the_logarithm_of_the_probability_of_improvement(mean: float, deviation: float, best: float) -> None:
    exact = stats.norm(mean, deviation).sf(best)
    if exact > 1e-300:
        assert math.isclose(at(LOG_PI, mean, deviation, best), math.log(exact), rel_tol=1e-6, abs_tol=1e-9)


def test_an_acquisition_that_nobody_knows_is_refused_with_the_way_to_bring_it() -> None:
    with pytest.raises(MissingExtension, match=r"no installed package brings 'luck' to lutra\.acquisitions"):
        acquisition("luck")

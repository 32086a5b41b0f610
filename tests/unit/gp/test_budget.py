"""Candidates are drawn inside what a memory budget leaves of a space."""

from __future__ import annotations

import math

import numpy as np
import pytest
from lutra_models.catalog import meet
from lutra_models.gp import recommend
from lutra_models.gp.search.initial_design import candidates
from lutra_models.gp.space.budget import Budget, budget
from lutra_models.gp.space.encoding import Encoding
from lutra_models.history import History, Observation
from lutra_models.knobs import Configuration, KnobSpace
from lutra_models.metrics import Objective
from lutra_models.server import Policy

from tests.unit.catalog.test_small_hosts import ENGINES, stock, under

pytestmark = pytest.mark.slow

POLICY = Policy()


def drawn(space: KnobSpace) -> tuple[Encoding, Budget, np.ndarray]:
    encoding = Encoding(space.knobs)
    found = budget(space, encoding, encoding.decode, None)
    assert found is not None
    return encoding, found, candidates(encoding, 0, np.random.default_rng(0), 64)


@pytest.mark.parametrize("gb", [1, 4])
@pytest.mark.parametrize("engine", ENGINES)
def test_every_candidate_keeps_the_memory_rule(engine: str, gb: int) -> None:
    space = meet(stock(engine, gb)).space(POLICY)
    encoding, found, codes = drawn(space)
    memory = space.rules[0]
    for inside in (found.squeezed(codes), found.clipped(codes)):
        assert all(memory(encoding.decode(row)) is None for row in inside)


def test_candidates_fill_what_is_left_and_do_not_gather_at_its_edge() -> None:
    live = meet(stock("15", 2))
    encoding, found, codes = drawn(live.space(POLICY))
    limit = live.memory_limit(POLICY)
    used = [live.memory(POLICY, encoding.decode(row)).total_bytes / limit for row in found.squeezed(codes)]
    assert np.mean(np.array(used) > 0.97) < 0.5
    assert np.min(used) < 0.7


def test_where_nothing_is_infeasible_nothing_moves() -> None:
    space = meet(stock("15", 128)).space(Policy(ranges={"work_mem": ("1MB", "64MB")}))
    _, found, codes = drawn(space)
    np.testing.assert_array_equal(found.squeezed(codes), codes)
    np.testing.assert_array_equal(found.clipped(codes), codes)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("engine", "trials"),
    [
        ("mariadb", 9),
        pytest.param("mariadb", 15, marks=pytest.mark.thorough),
        pytest.param("15", 15, marks=pytest.mark.thorough),
    ],
)
def test_a_session_on_a_small_stock_host_tries_another_configuration_each_time(engine: str, trials: int) -> None:
    server, observed, origins = stock(engine, 1), [], []
    began = now = meet(server).values
    start = meet(server).rule_based(POLICY)
    for trial in range(trials):
        space = meet(under(server, now)).space(POLICY, known=[began])
        history = History(
            space, Objective("qps", "maximize"), observations=observed, current=now, warm_starts=[start], baseline=began
        )
        advice = recommend(history, rng=np.random.default_rng([1, trial]))
        assert space.refusal(advice.configuration) is None
        origins.append(advice.origin)
        observed.append(Observation(advice.configuration, {"qps": speed(advice.configuration, trial)}))
        now = now.replace(advice.configuration)
    assert origins.count("repeat") <= 2
    assert len({o.configuration for o in observed}) >= trials - 2


def speed(configuration: Configuration, trial: int) -> float:
    """Larger numbers help a little, each by its own weight; with some noise."""
    numbers = [v for v in configuration.values() if not isinstance(v, str)]
    gained = sum(math.log1p(abs(v)) * math.cos(3.0 * i) for i, v in enumerate(numbers))
    return 1000.0 + 10.0 * gained + 3.0 * math.sin(7.0 * trial)

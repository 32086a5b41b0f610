"""A history over several loads: searched by the one number, predicted under each load."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from lutra_models import Configuration, History, Limit, Objective, Observation
from lutra_models.aims import Aim, Over
from lutra_models.gp import Model, fit
from lutra_models.gp.learning.fit import learn
from lutra_models.gp.surrogate.dataset import direction, targets

from tests.unit.gp.helpers import DEFAULT, SPACE, history, measure

pytestmark = pytest.mark.slow


def two_loads(configuration: Configuration, rng: np.random.Generator) -> dict[str, float]:
    """The made-up server: memory helps both loads; a low cost of random pages helps a few clients and harms many."""
    few, many = measure(configuration, rng), measure(configuration, rng)
    cost = float(configuration["random_page_cost"])
    few["qps"] *= 1.5 - 0.1 * cost
    many["qps"] *= 20 * (0.2 + 0.2 * min(cost, 4.0))
    return {f"{m}.{load}": v for load, read in (("few", few), ("many", many)) for m, v in read.items()}


def over(how: Over, trials: int = 14, few: float = 1.0) -> History:
    aim, rng = Aim(Objective("qps", "maximize"), {"few": few, "many": 1.0}, how), np.random.default_rng(2)
    configurations = [o.configuration for o in history(trials).observations]
    completed = aim.completed([two_loads(c, rng) for c in configurations], [c == DEFAULT for c in configurations])
    observations = [Observation(c, m) for c, m in zip(configurations, completed, strict=True)]
    return History(SPACE, aim.judged, observations=observations, current=DEFAULT, baseline=DEFAULT, aim=aim)


def test_the_aim_is_predicted_and_each_loads_qps_and_p99() -> None:
    assert targets(over("worst")) == ("aim.qps", "qps.few", "p99_ms.few", "qps.many", "p99_ms.many")
    assert targets(history(3)) == ("qps", "p99_ms")


def test_which_way_is_better_is_known_under_each_load() -> None:
    found = replace(over("weighted", 3), limits=(Limit("p99_ms.few", at_most=20.0),))
    expected = {"aim.qps": 1.0, "qps.few": 1.0, "p99_ms.few": -1.0, "p99_ms.many": -1.0, "qps.many": 1.0}
    assert {metric: direction(found, metric) for metric in expected} == expected
    assert direction(history(3), "p99_ms") == -1.0


@pytest.mark.slow
def test_what_is_handed_over_follows_the_aim_and_is_predicted_under_each_load() -> None:
    best = {how: fit(over(how, few=9.0), rng=np.random.default_rng(1)).best() for how in ("weighted", "worst")}
    worst = best["worst"]
    assert {"aim.qps", "qps.few", "qps.many", "p99_ms.few", "p99_ms.many"} == set(worst.predictions)
    quiet = np.random.default_rng(3)
    base, read = (two_loads(c, quiet) for c in (DEFAULT, worst.configuration))
    ratios = [read[f"qps.{load}"] / base[f"qps.{load}"] for load in ("few", "many")]
    assert min(ratios) > 1.1
    assert worst.predictions["aim.qps"].low < min(ratios) < worst.predictions["aim.qps"].high
    assert best["weighted"].configuration["random_page_cost"] <= worst.configuration["random_page_cost"]


@pytest.mark.slow
def test_a_saved_model_over_several_loads_recommends_the_same() -> None:
    model = fit(over("worst", 8), rng=np.random.default_rng(1))
    again = Model.load(model.save())
    assert again.history.aim == model.history.aim
    assert again.recommend() == model.recommend()


def test_each_load_has_its_own_posterior() -> None:
    found = over("worst", 8)
    learned = learn(found, ())
    assert set(learned.snapshot.posteriors) == set(targets(found))
    few, many = (learned.snapshot.predict([DEFAULT])[0][f"qps.{load}"].median for load in ("few", "many"))
    assert many > 5 * few

"""What cannot move is learned from, and never proposed."""

from __future__ import annotations

import json

import numpy as np
import pytest
from lutra_models import Choice, History, Knob, KnobSpace, Number, Objective, Observation
from lutra_models.gp import fit
from lutra_models.serial import history_from_dict, history_to_dict

pytestmark = pytest.mark.slow

SPACE = KnobSpace(
    [
        Knob("a", Number(0, 10)),
        Knob("b", Number(1, 1000, log=True, integer=True)),
        Knob.covariate("doublewrite", ["on", "off"]),
        Knob.covariate("cores", [4, 8, 16]),
    ]
)
NOW = {"a": 5.0, "b": 10, "doublewrite": "on", "cores": 8}


def history(trials: int, seed: int) -> History:
    """`doublewrite` off and more cores are better than anything that may move."""
    rng = np.random.default_rng(seed)
    read = []
    for _ in range(trials):
        made = {"a": rng.uniform(0, 10), "b": rng.integers(1, 1000)}
        made |= {"doublewrite": str(rng.choice(["on", "off"])), "cores": rng.choice([4, 8, 16])}
        tps = 100 - (made["a"] - 3) ** 2 + 40 * (made["doublewrite"] == "off") + made["cores"]
        read.append(Observation(made, {"tps": tps + rng.normal()}))
    start = {**NOW, "a": 4.0, "doublewrite": "off", "cores": 16}
    return History(SPACE, Objective("tps", "maximize"), observations=read, current=NOW, warm_starts=[start])


@pytest.mark.parametrize("trials", [0, 1, 12])
def test_every_proposal_keeps_the_covariates_of_now(trials: int) -> None:
    for seed in range(3):
        model = fit(history(trials, seed), rng=np.random.default_rng(seed))
        proposed = [*model.recommend(3), *model.recommend(2, safe=True), *model.recommend(1, max_changes=1)]
        proposed += [model.best()] if trials else []
        assert {(r.configuration["doublewrite"], r.configuration["cores"]) for r in proposed} == {("on", 8)}


def test_a_covariate_explains_what_was_measured() -> None:
    model = fit(history(30, 1), rng=np.random.default_rng(0))
    on, off = model.predict([NOW, {**NOW, "doublewrite": "off"}])
    assert off["tps"].median > on["tps"].median
    assert off["tps"].low > on["tps"].median


def test_a_history_with_covariates_travels() -> None:
    asked = history(4, 2)
    found = history_from_dict(json.loads(json.dumps(history_to_dict(asked))))
    assert found.key == asked.key
    assert found.space.fixed == ("doublewrite", "cores")
    assert found.held == {"doublewrite": "on", "cores": 8}


def test_a_covariate_is_made_of_what_was_measured() -> None:
    assert Knob.covariate("v", ["16.4", "15.1", "16.4"]).domain == Choice(("15.1", "16.4"))
    assert Knob.covariate("n", [1, 2, 1000]).domain == Number(1, 1000, log=True, integer=True)
    assert Knob.covariate("n", [0.5, 2]).domain == Number(0.5, 2)
    with pytest.raises(ValueError, match=r"n: a domain of what was measured takes two values or more, got \[3\]"):
        Knob.covariate("n", [3, 3])

"""A search that stands still looks at the middle of what was never tried beside the best."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest
from lutra_models import Configuration, History, Knob, KnobSpace, Limit, Number, Objective, Observation, Refusal
from lutra_models.gp import Options, recommend
from lutra_models.gp.learning.fit import learn
from lutra_models.gp.search.beside_best import beside_best, standing_still
from lutra_models.knobs import Rule

pytestmark = pytest.mark.slow

KNOBS = [Knob("main", Number(0.0, 1.0)), Knob("idle", Number(0.0, 1.0))]
OPTIONS = Options().using(surrogate="numpy")


def straight(main: float) -> float:
    return 100.0 - 50.0 * main


def hidden(main: float) -> float:
    """Best where nothing but a reading shows it: at two fifths of the range."""
    return straight(main) + 120.0 * float(np.exp(-(((main - 0.4) / 0.12) ** 2)))


def history(places: Sequence[float], reads: Callable[[float], float], *rules: Rule, stands: int = 4) -> History:
    """Each place once, then `stands` readings beside the first one, which is the best."""
    idle = np.linspace(0.0, 1.0, len(places) + stands)
    mains = [*places, *([places[0]] * stands)]
    tried = [Configuration({"main": m, "idle": round(float(i), 3)}) for m, i in zip(mains, idle, strict=True)]
    seen = [Observation(c, {"m": reads(float(c["main"]))}) for c in tried]
    return History(KnobSpace(KNOBS, rules), Objective("m", "maximize"), observations=seen, current=tried[0])


def looked_at(made: History) -> Configuration | None:
    learned = learn(made, (), options=OPTIONS)
    return beside_best(made, learned)


def test_the_widest_untried_stretch_beside_the_best_is_halved() -> None:
    found = looked_at(history((0.0, 0.8, 0.9, 1.0), straight))
    assert found is not None
    assert found["main"] == 0.4


def test_what_was_tried_everywhere_needs_no_look() -> None:
    assert looked_at(history((0.0, 0.2, 0.4, 0.6, 0.8, 1.0), straight)) is None


def test_a_search_that_advances_is_left_alone() -> None:
    made = history((0.9, 0.95, 1.0, 0.8, 0.85), straight, stands=0)
    better = Observation(Configuration({"main": 0.0, "idle": 0.5}), {"m": straight(0.0)})
    made = History(made.space, made.objective, observations=[*made.observations, better], current=better.configuration)
    assert standing_still(made, learn(made, (), options=OPTIONS)) == 0
    assert looked_at(made) is None


def test_a_place_that_a_rule_refuses_is_not_looked_at() -> None:
    def no_middle(configuration: Configuration) -> Refusal | None:
        return Refusal("refused", "not here") if 0.1 < float(configuration["main"]) < 0.7 else None

    made = history((0.0, 0.8, 0.9, 1.0), straight, no_middle)
    assert looked_at(made) is None


def test_a_place_that_probably_breaks_a_limit_is_not_looked_at() -> None:
    made = history((0.0, 0.8, 0.9, 1.0), straight)
    seen = [
        Observation(o.configuration, {**o.metrics, "errors": 10.0 * float(o.configuration["main"])})
        for o in made.observations
    ]
    for most, allowed in ((8.0, True), (1.0, False)):
        limits = [Limit("errors", at_most=most)]
        limited = History(made.space, made.objective, limits=limits, observations=seen, current=made.current)
        assert (looked_at(limited) is not None) == allowed


def test_a_best_that_hides_between_two_readings_is_found() -> None:
    made = history((0.0, 0.8, 0.9, 1.0), hidden)
    for seed in range(6):
        advice = recommend(made, rng=np.random.default_rng(seed), options=OPTIONS)
        seen = Observation(advice.configuration, {"m": hidden(float(advice.configuration["main"]))})
        made = History(made.space, made.objective, observations=[*made.observations, seen], current=made.current)
    assert max(o.metrics["m"] for o in made.observations) > 150.0

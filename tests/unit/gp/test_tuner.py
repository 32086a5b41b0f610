"""A tuning loop of one's own: asked, measured, told."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from lutra_models import Configuration, History, Knob, KnobSpace, Number, Objective
from lutra_models.errors import NotEnoughObservations
from lutra_models.gp import Options, Search, Tuner, fit, recommend

SPACE = KnobSpace([Knob("x", Number(-10, 10)), Knob("y", Number(-10, 10))])
LOSS = Objective("loss", "minimize")
QUICK = Options().using(surrogate="numpy")


def loss(c: Configuration) -> float:
    return (float(c["x"]) - 2) ** 2 + abs(float(c["y"]) + 3)


def test_a_loop_of_four_lines_comes_near_the_best() -> None:
    tuner = Tuner(SPACE, LOSS, rng=1, surrogate="numpy")
    for _ in range(20):
        asked = tuner.ask()
        tuner.tell(asked, loss(asked))
    best = tuner.best()
    assert loss(best.configuration) < np.median([loss(o.configuration) for o in tuner.history.observations]) / 5
    assert best.predictions["loss"].median == tuner.model.predict([best.configuration])[0]["loss"].median


def test_it_is_the_loop_of_pure_functions() -> None:
    tuner, history, rng = Tuner(SPACE, LOSS, rng=3, options=QUICK), History(SPACE, LOSS), np.random.default_rng(3)
    for _ in range(9):
        asked = tuner.ask()
        assert asked == recommend(history, rng=rng, options=QUICK).configuration
        tuner.tell(asked, loss(asked))
        history = history.tell(asked, loss(asked))
    assert tuner.history.key == history.key
    assert tuner.best() == fit(history, rng=rng, options=QUICK).best()


def test_several_asked_at_once_are_those_asked_one_by_one() -> None:
    together, apart = (Tuner(SPACE, LOSS, options=QUICK) for _ in range(2))
    for _ in range(4):
        asked = together.ask(3)
        assert asked == (apart.ask(), apart.ask(), apart.ask())
        assert len(set(asked)) == 3
        assert together.history.pending == asked
        for tuner in (together, apart):
            for one in reversed(asked):
                tuner.tell(one, loss(one))
        assert together.history.pending == ()


def test_what_failed_is_told_as_failed_and_kept_away_from() -> None:
    tuner = Tuner(SPACE, LOSS, options=QUICK)
    for _ in range(16):
        asked = tuner.ask()
        if float(asked["x"]) > 1:
            tuner.tell(asked, failure="did_not_start")
        else:
            tuner.tell(asked, {"loss": loss(asked), "seconds": 1.0})
    assert all(o.failure for o in tuner.history.observations if float(o.configuration["x"]) > 1)
    assert float(tuner.best().configuration["x"]) <= 1
    with pytest.raises(ValueError, match="give either measurements or a failure"):
        tuner.tell(tuner.ask())


def test_it_begins_with_what_was_measured_before() -> None:
    table = pd.DataFrame({"x": [0.0, 2.0, 5.0], "y": [0.0, -3.0, 5.0], "loss": [7.0, 0.0, 17.0]})
    measured = History.from_frame(table, LOSS, SPACE).observations
    tuner = Tuner(SPACE, LOSS, observations=measured, current=measured[0].configuration)
    assert tuner.best().configuration == measured[1].configuration
    tuner.tell({"x": 2.5, "y": -3}, 0.25)
    assert len(tuner.history.completed) == 4


def test_a_table_without_rows_is_refused() -> None:
    with pytest.raises(ValueError, match="the table has no rows: it needs one for each configuration, with loss"):
        History.from_frame(pd.DataFrame({"x": [], "loss": []}), LOSS)


def test_it_refuses_nonsense_when_it_is_made() -> None:
    with pytest.raises(TypeError, match=r"objective has to be Objective\(metric, goal\)"):
        Tuner(SPACE, "loss")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="options are"):
        Tuner(SPACE, LOSS, options={"search": {}})  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="past is a list of histories and snapshots"):
        Tuner(SPACE, LOSS, past=History(SPACE, LOSS))  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"a history's limit has to be Limit\(metric"):
        Tuner(SPACE, LOSS, limits=["p99_ms"])
    with pytest.raises(TypeError, match="an objective's metric is its name, got 3"):
        Objective(3, "minimize")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="opening_trials: expected a whole number, got 'six'"):
        Options(search=Search(opening_trials="six"))  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"search: expected Search\(…\), got \{\}"):
        Options(search={})  # type: ignore[arg-type]
    with pytest.raises(NotEnoughObservations):
        Tuner(SPACE, LOSS).best()
    with pytest.raises(ValueError, match="count must be at least 1, got 0"):
        Tuner(SPACE, LOSS).ask(0)

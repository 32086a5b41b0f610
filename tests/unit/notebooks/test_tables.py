"""The tables that the notebooks draw, and where copies of the notebooks are made."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from lutra_models import History, Knob, KnobSpace, Number, Objective, Observation
from lutra_models.errors import MissingExtension
from lutra_models.gp import Model, Options, fit
from lutra_models.gp.conformance import surrogate_faults
from lutra_models.gp.surrogate.numpy_fit import NUMPY
from lutra_models.history import Window
from lutra_notebooks import command, fleet, forecasts, racing, session, settings, versions
from lutra_notebooks.charts.axes import Along, framed
from lutra_notebooks.charts.settings import gains
from lutra_notebooks.command import BOOK, filled
from lutra_notebooks.opened import Missing

pytestmark = pytest.mark.slow

QUICK = Options().using(surrogate="numpy")
SPACE = KnobSpace([Knob(name, Number(0, 1)) for name in "abc"])


def workload(name: str, reads: float, writes: float, certain: bool = True) -> Any:
    effect = {"setting": "a", "baseline": 0.0, "values": [0.0, 1.0], "gains": [0.0, 0.2], "deviations": [0.0, 0.01]}
    found = {"best": 1.0, "gain": 0.2, "low": 0.18, "high": 0.22, "certain": certain, "log": False, "choice": False}
    lesson = {
        "log": True,
        "low": 5.0,
        "high": 6.0,
        "rest": 0.01,
        "effects": [{**effect, **found, "special": 0}],
    }
    return {
        "id": f"wl_{name}",
        "name": name,
        "engine": "postgresql",
        "metric": "qps",
        "observations": 9,
        "teaches": True,
        "signature": {"reads": [reads * f for f in range(1, 12)], "writes": [writes * f for f in range(1, 12)]},
        "context": {},
        "lessons": {"qps": lesson},
    }


def history(rows: int, of: Any) -> History:
    rng = np.random.default_rng(1)
    told = [
        Observation(dict(zip("abc", point.tolist(), strict=True)), {"qps": of(*point)})
        for point in rng.random((rows, 3))
    ]
    return History(SPACE, Objective("qps", "maximize"), observations=told)


def fitted(of: Any) -> Model:
    return fit(history(40, of), rng=np.random.default_rng(0), options=QUICK)


def test_alike_workloads_are_close_on_the_map_and_a_single_one_has_none() -> None:
    places = fleet.projected([workload(*w) for w in (("one", 10, 5), ("two", 11, 5), ("far", 9000, 1))])
    place = {row.workload: np.array([row.x, row.y]) for row in places.itertuples()}
    near, far = (np.linalg.norm(place["one"] - place[other]) for other in ("two", "far"))
    assert near < far / 5
    assert float(places.x_share.iloc[0] + places.y_share.iloc[0]) == pytest.approx(1.0)
    assert fleet.projected([workload("one", 10, 5)]).empty


def test_nothing_known_gives_empty_tables() -> None:
    assert len(fleet.projected([])) == len(fleet.counters([])) == len(fleet.overview([])) == 0
    assert settings.importance(settings.effects([])).empty
    none = pd.DataFrame(columns=forecasts.COLUMNS)
    assert forecasts.calibration(none).empty
    assert forecasts.over_time(none).empty


def test_gains_are_averaged_on_the_logarithm_and_one_that_is_not_certain_is_none() -> None:
    table = settings.importance(settings.effects([workload("one", 10, 5), workload("two", 11, 5, certain=False)]))
    assert table.loc[("postgresql", "a")].round(1).to_dict() == {"mean": 10.5, "sure": 1.0, "varied": 2.0}


def test_settings_without_a_sure_gain_are_in_the_order_of_their_guesses_and_none_is_called_the_strongest() -> None:
    one = workload("one", 10, 5, certain=False)
    (effect,) = one["lessons"]["qps"]["effects"]
    guesses = {"a": 0.0, "b": 0.1, "c": 0.3}
    one["lessons"]["qps"]["effects"] = [{**effect, "setting": n, "gain": g} for n, g in guesses.items()]
    assert settings.importance(settings.effects([one])).index.tolist() == [("postgresql", n) for n in "cba"]
    assert fleet.overview([one]).strongest.tolist() == [""]
    assert fleet.overview([workload("two", 10, 5)]).strongest.tolist() == ["a"]


def test_of_many_workloads_without_a_certain_effect_those_with_the_largest_gains_are_drawn() -> None:
    many = [workload(f"load {n}", 10 + n, 5, certain=False) for n in range(30)]
    drawn = gains(settings.effects(many), ["postgresql"]).to_dict()["datasets"].values()
    assert [len(rows) for rows in drawn if "workload" in rows[0]] == [24]
    sure = [*many, workload("sure", 9, 9)]
    drawn = gains(settings.effects(sure), ["postgresql"]).to_dict()["datasets"].values()
    assert [[row["workload"] for row in rows] for rows in drawn if "workload" in rows[0]] == [["sure"]]


def test_an_interval_much_wider_than_the_gains_does_not_set_the_axis() -> None:
    gain, low, high = pd.Series([-2.0, 10.0]), pd.Series([-3.0, -90.0]), pd.Series([0.0, 500.0])
    assert framed(gain, low, high) == pytest.approx([-14 - 0.04 * 36, 22 + 0.04 * 36])


def test_settings_that_act_for_themselves_do_not_interact_and_those_that_act_together_do() -> None:
    alone = settings.interactions(fitted(lambda a, b, c: float(np.exp(3 + a + b))), ["a", "b", "c"])
    both = settings.interactions(fitted(lambda a, b, c: float(np.exp(3 + 4 * (a - 0.5) * (b - 0.5)))), ["a", "b", "c"])
    share = {(row.one, row.other): row.share for row in alone.itertuples()}
    assert share["a", "b"] < 0.1
    assert (both.one[0], both.other[0]) == ("a", "b")
    assert both.share[0] > 0.6


def test_a_joint_effect_is_a_share_of_the_level_where_readings_may_be_zero() -> None:
    found = [
        settings.interactions(fitted(lambda a, b, c, by=by: by * max(a + b - 0.3, 0.0)), ["a", "b"]).joint[0]
        for by in (1.0, 1000.0)
    ]
    assert found[1] == pytest.approx(found[0], rel=0.05)
    assert found[0] < 200


def predicted(low: float, high: float, measured: list[float]) -> pd.DataFrame:
    known = {"database": "shop", "engine": "postgresql", "session": "ts_1", "trial": 1, "model": "mv", "metric": "qps"}
    rows = [
        {
            **known,
            "at": pd.Timestamp("2026-01-01", tz="UTC") + pd.Timedelta(hours=i),
            "level": 0.9,
            "median": 100.0,
            "low": low,
            "high": high,
            "measured": value,
            "held": low <= value <= high,
            "error": 0.0,
            "surprise": forecasts._surprise(value, 100.0, low, high, 0.9),
        }
        for i, value in enumerate(measured)
    ]
    return pd.DataFrame(rows, columns=forecasts.COLUMNS)


def test_readings_as_the_intervals_promise_are_calibrated_at_every_level() -> None:
    chance = np.random.default_rng(0)
    readings = (100 * np.exp(0.1 * chance.standard_normal(4000))).tolist()
    half = 100 * np.exp(0.1 * np.array([-1.645, 1.645]))
    table = forecasts.calibration(predicted(*half.tolist(), readings))
    assert np.max(np.abs(table.held - table.level)) < 0.03
    (rate,) = forecasts.hit_rate(predicted(*half.tolist(), readings), ["metric"]).itertuples()
    assert rate.low < 0.9 < rate.high
    surprises = forecasts.surprises(predicted(*half.tolist(), readings))
    assert surprises[["share", "promised"]].sum().tolist() == pytest.approx([1.0, 1.0])
    assert np.mean((surprises.low <= surprises.promised) & (surprises.promised <= surprises.high)) > 0.6
    spans = forecasts.over_time(predicted(*half.tolist(), readings[:100]))
    assert spans.n.tolist() == [10] * 10
    assert spans["at"].is_monotonic_increasing


def test_a_model_that_learns_wins_the_race_against_chance() -> None:
    table = racing.race(history(40, lambda a, b, c: 100 + 50 * a - 20 * b), {"mine": QUICK}, trials=8, seeds=8)
    assert table.trial.max() == 8
    searched = table[table.trial > racing.OPENING].groupby("entrant").missed.mean()
    assert searched["mine"] < searched[racing.RANDOM]
    began = table[table.trial <= racing.OPENING].groupby("entrant").missed.sum()
    assert began["mine"] == began[racing.RANDOM]
    found = racing.judged(racing.race_differences({"one": table, "two": table}, racing.RANDOM), "start")
    assert found[["measure", "entrant", "starts"]].to_numpy().tolist() == [["one", "mine", 8], ["two", "mine", 8]]
    assert (found["mean"] > 0).all()


class Rough:
    """A surrogate that was written in a notebook."""

    name = "rough_in_a_notebook"

    def fit(self, readings: Any, belief: Any, options: Any) -> Any:
        return NUMPY.fit(readings, replace(belief, shift=belief.shift - 0.3), options)


def test_a_surrogate_of_ones_own_is_scored_beside_those_that_there_are() -> None:
    assert surrogate_faults(Rough()) == []
    own = QUICK.using(surrogate=Rough())
    scores = racing.scores({"one": history(12, lambda a, b, c: 100 + 50 * a)}, {"own": own})
    assert scores.log_score.notna().all()
    assert racing.held(scores).n.tolist() == [9]
    with pytest.raises(MissingExtension, match=Rough.name):
        fit(history(12, lambda a, b, c: 100 + 50 * a), rng=0, surrogate=Rough.name)


def test_copies_are_made_once_and_never_overwritten(tmp_path: Path) -> None:
    made = filled(tmp_path / "mine")
    assert [p.name for p in made] == sorted(p.name for p in BOOK.glob("*.ipynb"))
    made[0].write_text("changed")
    made[1].unlink()
    assert filled(tmp_path / "mine") == [made[1]]
    assert made[0].read_text() == "changed"


def test_the_command_starts_jupyterlab_with_the_environment_set(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[tuple[list[str], dict[str, str]]] = []

    def run(arguments: list[str], environment: dict[str, str]) -> int:
        started.append((arguments, environment))
        return 0

    monkeypatch.setattr(command, "_run", run)
    monkeypatch.delenv("LUTRA_URL", raising=False)
    monkeypatch.setenv("LUTRA_TOKEN", "lutra_secret")
    told = CliRunner().invoke(command.notebook, ["--folder", str(tmp_path / "mine"), "--", "--no-browser"])
    assert told.exit_code == 0, told.output
    ((arguments, env),) = started
    assert arguments[1:] == ["-m", "jupyterlab", f"--ServerApp.root_dir={tmp_path / 'mine'}", "--no-browser"]
    assert (env["LUTRA_URL"], env["LUTRA_TOKEN"]) == ("http://127.0.0.1:8000", "lutra_secret")
    assert "lutra_secret" not in told.output
    monkeypatch.delenv("LUTRA_TOKEN")
    told = CliRunner().invoke(command.notebook, ["--folder", str(tmp_path)])
    assert told.exit_code == 1
    assert "LUTRA_TOKEN is not set, and no token could be made: there is no token for" in told.output
    assert len(started) == 1


def test_the_command_says_how_jupyterlab_is_installed_where_it_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command.importlib.util, "find_spec", lambda name: None)
    told = CliRunner().invoke(command.notebook, ["--folder", str(tmp_path / "mine")])
    assert told.exit_code == 1
    assert "-m pip install jupyterlab" in told.output
    assert not (tmp_path / "mine").exists()


def judged(source: str, mean: float, low: float | None, verdict: str) -> Any:
    high = None if low is None else mean + (mean - low)
    ends = {"mean": mean, "low": low, "high": high, "verdict": verdict, "level": 0.975, "needed": None, "judges": []}
    return {"source": source, "measure": "log_score", "sessions": 9, "sentence": f"{source}: {verdict}", **ends}


def version(name: str, promotes: bool, *told: Any) -> Any:
    beside = {"promotes": promotes, "changed": ["search"], "not_judged": [], "why": "why", "judged": list(told)}
    known = {"id": f"mv_{name}", "name": name, "state": "candidate", "scorecard": None}
    return {**known, "suite": {"state": "passed", "faults": []}, "beside_champion": {"champion": "mv_0", **beside}}


def test_candidates_are_judged_by_each_source_and_the_first_that_the_rule_promotes_is_named() -> None:
    worse = version("worse", False, judged("past_sessions", -0.5, -0.9, "worse"))
    good = version("good", True, judged("past_sessions", 0.4, 0.2, "better"), judged("played", 0.1, None, "undecided"))
    champion = {**version("champion", False), "beside_champion": None}
    table = versions.beside([champion, worse, good])
    assert table.groupby("model").source.apply(list).to_dict() == {
        "worse": ["past sessions"],
        "good": ["past sessions", "played"],
    }
    assert table.low.isna().tolist() == [False, False, True]
    assert versions.better([champion, worse, good]) == "mv_good"
    assert versions.better([champion, worse]) is None
    assert versions.decisions([champion, good]).loc["good", "why"] == "why"
    assert versions.cards([champion, good]).suite.tolist() == ["passed", "passed"]


def test_entrants_are_compared_session_by_session_and_to_the_right_is_better() -> None:
    rows = [
        {"session": session, "entrant": entrant, "log_score": log_score, "regret": regret}
        for session in "abcdef"
        for entrant, log_score, regret in (("first", 0.0, 0.1), ("good", 0.5, 0.0), ("same", 0.0, 0.1))
    ]
    found = racing.judged(racing.differences(pd.DataFrame(rows), "first")).set_index(["measure", "entrant"])
    assert found["mean"].round(9).to_dict() == {
        ("log_score", "good"): 0.5,
        ("log_score", "same"): 0.0,
        ("regret", "good"): 0.1,
        ("regret", "same"): 0.0,
    }
    assert found.verdict.to_dict()["log_score", "good"] == "better"
    assert found.told.to_dict()["regret", "same"].startswith("undecided")


def test_what_a_session_would_have_handed_over_is_known_after_each_trial() -> None:
    start = datetime(2026, 1, 1, tzinfo=UTC)
    spans = [Window(start + timedelta(minutes=i), start + timedelta(minutes=i, seconds=30)) for i in range(6)]
    rows = [Observation({"a": i / 6, "b": 0.5, "c": 0.5}, {"qps": 100.0 + i}, window=w) for i, w in enumerate(spans)]
    whole = History(SPACE, Objective("qps", "maximize"), observations=rows)
    columns = {"trial": range(1, 7), "reading": [100.0 + i for i in range(6)], "at": [w.end for w in spans]}
    table = pd.DataFrame({**columns, "minutes": [i + 0.5 for i in range(6)]})
    best = session.best_so_far(whole, table, QUICK, fits=3)
    assert best.trial.tolist() == [2, 4, 6]
    assert best.best.tolist() == [101.0, 103.0, 105.0]
    assert (best.low <= best["median"]).all()
    assert (best["median"] <= best.high).all()


def test_special_values_stand_beside_the_range_and_numbers_are_told_in_readable_units() -> None:
    knob = Knob("buffers", Number(16, 1 << 20, unit="8kB", log=True, integer=True, special=(-1,)))
    along = Along.of(knob, [-1, 16, 131072, 1 << 20])
    assert along.words == (-1,)
    assert (along.low, along.high) == (16, 1 << 20)
    assert [along.text(v) for v in (-1, 131072, 16, 189812531 // 8192)] == ["-1", "1GB", "128kB", "181MB"]


def test_what_is_missing_is_told_in_full_once() -> None:
    none = Missing("There is nothing", "Do this")
    assert [none._repr_markdown_() for _ in range(2)] == ["*There is nothing.* Do this.", "*There is nothing.*"]

"""One number over several loads: free of their scales, 1 for the baseline, weighted or the worst."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lutra_models import serial
from lutra_models.aims import Aim, Over
from lutra_models.history import History, Observation, TuningSession
from lutra_models.knobs import Knob, KnobSpace, Number
from lutra_models.metrics import Goal, Limit, Objective

speeds = st.floats(0.01, 1e9)
pairs = st.tuples(speeds, speeds)
SPACE = KnobSpace([Knob("a", Number(0, 10))])


def aim(over: Over = "weighted", goal: Goal = "maximize", **weights: float) -> Aim:
    metric = "qps" if goal == "maximize" else "p99_ms"
    return Aim(Objective(metric, goal), weights or {"few": 1.0, "many": 1.0}, over)


def read(few: float, many: float, metric: str = "qps") -> dict[str, float]:
    return {f"{metric}.few": few, f"{metric}.many": many}


def judged(one: Aim, *readings: dict[str, float]) -> list[float]:
    """The aims of readings of which the first is the baseline's."""
    completed = one.completed(readings, [i == 0 for i in range(len(readings))])
    return [r[one.judged.metric] for r in completed]


def test_the_baseline_is_one_and_a_gain_under_each_load_is_its_ratio() -> None:
    assert judged(aim(), read(100, 5000), read(200, 10_000)) == pytest.approx([1.0, 2.0])


def test_weights_count_in_proportion() -> None:
    base, tried = read(100, 5000), read(200, 5000)
    assert judged(aim(few=3, many=1), base, tried)[1] == pytest.approx(2**0.75)
    assert judged(aim(few=30, many=10), base, tried) == pytest.approx(judged(aim(few=3, many=1), base, tried))


@pytest.mark.parametrize(("goal", "worst"), [("maximize", 0.8), ("minimize", 1.5)])
def test_the_worst_load_counts_alone(goal: Goal, worst: float) -> None:
    metric = "qps" if goal == "maximize" else "p99_ms"
    one = aim("worst", goal)
    found = judged(one, read(10, 10, metric), read(15, 8, metric))
    assert found[1] == pytest.approx(worst)
    assert one.judged == Objective(f"aim.{metric}", goal)


@given(pairs, st.lists(pairs, min_size=1, max_size=5), st.floats(0.001, 1000), st.sampled_from(["weighted", "worst"]))
def test_the_scale_of_a_load_does_not_matter(
    base: tuple[float, float], tried: list[tuple[float, float]], scale: float, over: Over
) -> None:
    plain = judged(aim(over), read(*base), *(read(*t) for t in tried))
    scaled = judged(aim(over), read(base[0] * scale, base[1]), *(read(t[0] * scale, t[1]) for t in tried))
    assert scaled == pytest.approx(plain, rel=1e-9)


@given(pairs, pairs, st.floats(1.01, 10), st.sampled_from(["weighted", "worst"]), st.sampled_from(["few", "many"]))
def test_a_better_reading_under_a_load_is_no_worse_over_all(
    base: tuple[float, float], tried: tuple[float, float], more: float, over: Over, load: str
) -> None:
    better = {m: v * more if m.endswith(load) else v for m, v in read(*tried).items()}
    _, one, other = judged(aim(over), read(*base), read(*tried), better)
    assert other >= one


def test_the_reference_is_the_geometric_mean_of_the_baselines_readings() -> None:
    found = aim().completed([read(100, 1), read(300, 1), read(400, 1)], [True, False, True])
    assert found[1]["aim.qps"] == pytest.approx(math.sqrt(300 / 200))


def test_before_the_baseline_was_read_the_first_whole_reading_is_the_reference() -> None:
    found = aim().completed([{"qps.few": 1.0}, read(100, 10), read(200, 10)], [True, False, False])
    assert [r.get("aim.qps") for r in found] == [None, pytest.approx(1.0), pytest.approx(math.sqrt(2))]
    assert aim().completed([], []) == []


def test_a_reading_of_zero_is_bad_and_finite() -> None:
    assert judged(aim(), read(100, 100), read(0, 100))[1] == pytest.approx(math.sqrt(1e-3))
    assert judged(aim(), read(0, 0), read(0, 1))[0] == pytest.approx(1e-3)


def test_a_limit_on_what_every_load_measures_holds_under_each() -> None:
    found = aim().limits([Limit("p99_ms", at_most=20), Limit("p99_ms.few", at_most=5), Limit("host.x", at_least=1)])
    assert [str(limit) for limit in found] == ["p99_ms.few ≤ 20", "p99_ms.many ≤ 20", "p99_ms.few ≤ 5", "host.x ≥ 1"]


@pytest.mark.parametrize(
    ("metric", "direction"),
    [("qps.few", 1.0), ("p99_ms.many", -1.0), ("tps.many", 1.0), ("qps", None), ("p99_ms.none", None)],
)
def test_which_way_is_better_under_a_load(metric: str, direction: float | None) -> None:
    assert aim().direction(metric) == direction


@pytest.mark.parametrize(
    ("weights", "over"),
    [({}, "weighted"), ({"few": 0.0}, "weighted"), ({"few": math.inf}, "worst"), ({"few": 1.0}, "best")],
)
def test_nonsense_is_refused_when_it_is_made(weights: dict[str, float], over: Any) -> None:
    with pytest.raises(ValueError):
        Aim(Objective("qps", "maximize"), weights, over)


def test_several_loads_are_for_a_lab() -> None:
    with pytest.raises(ValueError, match="mode lab"):
        TuningSession(Objective("qps", "maximize"), mode="reload_only", aim=aim())


def test_a_history_keeps_its_aim_through_a_document() -> None:
    observations = [Observation({"a": 1.0}, {**read(100, 10), "aim.qps": 1.0})]
    history = History(SPACE, aim("worst", few=2, many=1).judged, observations=observations, aim=aim("worst", few=2))
    again = serial.history_from_dict(json.loads(json.dumps(serial.history_to_dict(history))))
    assert (again.aim, again.key) == (history.aim, history.key)


def test_a_history_without_an_aim_has_the_key_it_had_before() -> None:
    history = History(SPACE, Objective("qps", "maximize"), observations=[Observation({"a": 1.0}, {"qps": 100.0})])
    document = serial.history_to_dict(history)
    del document["aim"]
    assert serial.history_from_dict(document).key == history.key


def test_a_history_is_judged_by_its_aim() -> None:
    with pytest.raises(ValueError, match=r"aim\.qps"):
        History(SPACE, Objective("qps", "maximize"), aim=aim())

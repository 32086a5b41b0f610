"""What a session hands over after its finalists were measured in turns: a pure function of the readings."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from lutra_models.metrics import Goal, Limit, Objective
from lutra_models.student import probability, quantile
from lutra_models.verification import (
    LEAST_ROUNDS,
    Contest,
    Finalist,
    FinalistName,
    contest_from_dict,
    contest_to_dict,
    gains,
    verdict,
)

SETTINGS: dict[FinalistName, dict[str, int]] = {
    "baseline": {"a": 0, "b": 0, "c": 0},
    "rule_based": {"a": 1, "b": 1, "c": 0},
    "best": {"a": 2, "b": 2, "c": 2},
}
SHORT = {"a": 2, "b": 0, "c": 0}
WOBBLE = (1.0, 0.99, 1.01, 1.0, 1.02, 0.98)
speeds = st.floats(10.0, 1000.0)
rows = st.lists(st.tuples(speeds, speeds, speeds), min_size=3, max_size=12)


def contest(goal: Goal = "maximize", limits: tuple[Limit, ...] = (), budget: int = 12, **read: list[float]) -> Contest:
    """Of QPS by round for each finalist that is named."""
    metric = "qps" if goal == "maximize" else "p99_ms"
    finalists = (
        Finalist(name, SETTINGS[name], tuple({metric: v} for v in values))
        for name, values in read.items()
        if name in SETTINGS
    )
    return Contest(Objective(metric, goal), limits, tuple(finalists), budget)


def steady(speed: float, rounds: int = 6) -> list[float]:
    return [speed * WOBBLE[i % len(WOBBLE)] for i in range(rounds)]


def played(by_round: list[tuple[float, float, float]], goal: Goal = "maximize") -> Contest:
    """Measured as its turns say, from readings that are given by round, until the verdict stands."""
    columns = dict(zip(SETTINGS, zip(*by_round, strict=True), strict=True))
    found = contest(goal, budget=len(by_round), **{name: [] for name in SETTINGS})
    while (turn := found.turn()) is not None:
        metric = found.objective.metric
        finalists = tuple(
            replace(f, readings=(*f.readings, {metric: columns[turn][len(f.readings)]})) if f.name == turn else f
            for f in found.finalists
        )
        found = replace(found, finalists=finalists)
    return found


def named(found: Contest) -> str:
    decided = verdict(found)
    assert decided is not None
    return decided.name


@pytest.mark.parametrize(
    ("tail", "freedom", "t"), [(0.05, 1, 6.3138), (0.05, 2, 2.9200), (0.025, 5, 2.5706), (0.05, 30, 1.6973)]
)
def test_quantiles_are_those_of_the_tables(tail: float, freedom: int, t: float) -> None:
    assert quantile(tail, freedom) == pytest.approx(t, abs=5e-5)


@given(st.floats(0.001, 0.4), st.integers(1, 60))
def test_a_quantile_is_where_the_probability_says(tail: float, freedom: int) -> None:
    assert probability(quantile(tail, freedom), freedom) == pytest.approx(1 - 2 * tail, abs=1e-9)


@given(rows)
def test_turns_end_within_the_budget_and_measure_everybody_alike(by_round: list[tuple[float, float, float]]) -> None:
    found = played(by_round)
    assert all(len(f.readings) <= len(by_round) for f in found.finalists)
    assert verdict(found) is not None


@given(rows)
def test_what_is_handed_over_is_ahead_of_everybody_that_stands(by_round: list[tuple[float, float, float]]) -> None:
    found = played(by_round)
    name = found.by_name[named(found)].name  # type: ignore[index]
    told = gains(found, name)
    assert all(found.wins(name, other) for other in found.references(name) if other in told)
    assert all(told[other].low <= math.expm1(found.compare(name, other).low) for other in told)
    assert name == "baseline" or len(found.by_name[name].readings) >= LEAST_ROUNDS


@given(rows, st.lists(st.floats(0.2, 5.0), min_size=12, max_size=12))
def test_what_moves_a_whole_round_changes_no_gain(
    by_round: list[tuple[float, float, float]], drift: list[float]
) -> None:
    before = contest(**dict(zip(SETTINGS, map(list, zip(*by_round, strict=True)), strict=True)))
    moved = [tuple(v * d for v in row) for row, d in zip(by_round, drift, strict=False)]
    after = contest(**dict(zip(SETTINGS, map(list, zip(*moved, strict=True)), strict=True)))
    one, other = (c.compare("best", "baseline") for c in (before, after))
    assert (one.middle, one.low, one.high) == pytest.approx((other.middle, other.low, other.high), abs=1e-6)


@given(rows)
def test_a_latency_is_judged_as_the_throughput_that_it_is_the_inverse_of(
    by_round: list[tuple[float, float, float]],
) -> None:
    inverse = [(1000 / a, 1000 / b, 1000 / c) for a, b, c in by_round]
    one, other = played(by_round), played(inverse, "minimize")
    assume(all(abs(one.compare("best", n).low) > 1e-9 for n in one.references("best")))
    assert named(one) == named(other)


@given(st.integers(0, 5), st.floats(0.001, 0.5), st.sampled_from(["baseline", "rule_based", "best"]))
def test_one_stalled_window_makes_nobody_the_winner(round_: int, factor: float, stalled: str) -> None:
    read = {str(name): steady(100.0) for name in SETTINGS}
    read[stalled][round_] *= factor
    for rounds in range(LEAST_ROUNDS, 7):
        found = contest(**{name: values[:rounds] for name, values in read.items()})
        assert not any(found.wins(name, "baseline") for name in ("best", "rule_based"))


def test_the_order_is_reversed_every_other_round_and_everybody_comes_first_once() -> None:
    found, order = contest(**{name: [] for name in SETTINGS}), []
    for _ in range(12):
        turn = found.turn()
        assert turn is not None
        order.append(turn)
        finalists = tuple(
            replace(f, readings=(*f.readings, {"qps": 100.0 + 40 * len(order) % 70})) if f.name == turn else f
            for f in found.finalists
        )
        found = replace(found, finalists=finalists)
    rounds = [order[i : i + 3] for i in range(0, 12, 3)]
    assert all(sorted(r) == sorted(SETTINGS) for r in rounds)
    assert rounds[1] == rounds[0][::-1]
    assert rounds[3] == rounds[2][::-1]
    assert rounds[2][0] != rounds[0][0]


def test_who_is_hopeless_after_two_rounds_is_measured_no_more() -> None:
    found = contest(best=[60.0, 55.0], rule_based=[100.0, 101.0], baseline=[90.0, 91.0])
    assert found.out("best") is not None
    assert found.turn() != "best"


def test_a_certain_gain_of_the_rules_needs_no_more_of_the_baseline() -> None:
    found = contest(best=steady(130.0, 4), rule_based=[125.0, 131.0, 120.0, 133.0], baseline=steady(60.0, 4))
    assert found.wins("rule_based", "baseline")
    assert found.turn() in ("best", "rule_based")


def test_an_unsteady_best_is_not_handed_over_where_its_worst_round_is_behind() -> None:
    best = [200.0, 210.0, 190.0, 95.0, 205.0, 195.0, 200.0, 205.0, 90.0, 200.0, 205.0, 200.0]
    decided = verdict(contest(best=best, baseline=steady(100.0, 12)))
    assert decided is not None
    assert decided.name == "baseline"
    assert "the best of the trials stalled at 2 of 12 readings" in decided.sentence


def test_a_best_that_scatters_is_not_handed_over_where_its_worst_round_is_behind() -> None:
    best = [200.0, 210.0, 190.0, 140.0, 205.0, 195.0, 200.0, 205.0, 138.0, 200.0, 205.0, 200.0]
    decided = verdict(contest(best=best, baseline=steady(150.0, 12)))
    assert decided is not None
    assert decided.name == "baseline"
    assert "is not reliable" in decided.sentence
    assert "its worst reading is 140, while that of the baseline is" in decided.sentence


def test_one_bad_round_of_many_is_forgiven_and_told() -> None:
    best = [200.0, 210.0, 190.0, 95.0, 205.0, 195.0, 200.0, 205.0]
    assert contest(best=best[:7], baseline=steady(100.0, 7)).turn() is not None
    decided = verdict(contest(budget=8, best=best, baseline=steady(100.0, 8)))
    assert decided is not None
    assert decided.name == "best"
    assert "readings from 95 to 210" in decided.sentence


def read_on(found: Contest, best: list[float]) -> tuple[Contest, str]:
    """After its rounds, the best alone, as long as it has turns; and who is handed over."""
    while (turn := found.turn()) is not None:
        assert turn == "best"
        kept = found.by_name["best"].readings
        reading = {"qps": best[len(kept)]}
        finalists = (replace(f, readings=(*kept, reading)) if f.name == turn else f for f in found.finalists)
        found = replace(found, finalists=tuple(finalists))
    return found, named(found)


@pytest.mark.parametrize(
    ("stalled_at", "read", "chosen"), [((), 11, "best"), ((7,), 16, "best"), ((7, 9), 10, "baseline")]
)
def test_who_is_handed_over_is_read_on_alone_until_a_stall_would_show(
    stalled_at: tuple[int, ...], read: int, chosen: str
) -> None:
    best = [40.0 if i in stalled_at else v for i, v in enumerate(steady(130.0, 16))]
    begun = contest(budget=16, best=best[:4], baseline=steady(100.0, 4))
    found, handed_over = read_on(begun, best)
    # the last reading of two is suspect until the next one shows that it was no lasting change
    assert abs(len(found.by_name["best"].readings) - read) <= 1
    assert handed_over == chosen
    assert len(found.by_name["baseline"].readings) == 4


def test_a_server_that_slows_down_while_the_best_is_read_on_is_no_stall() -> None:
    best = [v * (1.0 if i < 7 else 0.6) for i, v in enumerate(steady(130.0, 16))]
    assert read_on(contest(budget=16, best=best[:4], baseline=steady(100.0, 4)), best)[1] == "best"


def test_where_everybody_drifts_alike_nobody_is_unsteady() -> None:
    drift = [1.0, 0.95, 0.9, 0.6, 0.6, 0.62]
    best, baseline = ([s * d for d in drift] for s in (120.0, 100.0))
    assert named(contest(budget=6, best=best, baseline=baseline)) == "best"


def test_a_best_with_fewer_settings_may_be_even_with_the_rules() -> None:
    alike = {"best": steady(130.0, 7), "rule_based": steady(130.0, 7), "baseline": steady(100.0, 7)}
    assert named(contest(budget=7, **alike)) == "rule_based"
    found = contest(budget=7, **alike)
    short = tuple(replace(f, configuration=SHORT) if f.name == "best" else f for f in found.finalists)
    decided = verdict(replace(found, finalists=short))
    assert decided is not None
    assert decided.name == "best"
    assert "1 changed settings instead of 2" in decided.sentence


@pytest.mark.parametrize(("failing", "left"), [("best", "rule_based"), ("rule_based", "best")])
def test_a_finalist_that_failed_is_neither_handed_over_nor_in_the_way(failing: str, left: str) -> None:
    found = contest(budget=6, best=steady(130.0), rule_based=steady(130.0), baseline=steady(100.0))
    out = tuple(replace(f, failed="did_not_start") if f.name == failing else f for f in found.finalists)
    assert named(replace(found, finalists=out)) == left


def test_a_baseline_that_breaks_a_limit_gives_way_to_rules_that_keep_it() -> None:
    limit = Limit("p99_ms", at_most=20.0)
    read: dict[FinalistName, tuple[float, float]] = {"baseline": (100.0, 50.0), "rule_based": (90.0, 10.0)}
    finalists = tuple(Finalist(n, SETTINGS[n], ({"qps": qps, "p99_ms": p99},) * 3) for n, (qps, p99) in read.items())
    assert named(Contest(Objective("qps", "maximize"), (limit,), finalists, 3)) == "rule_based"


def test_with_nothing_but_the_baseline_there_is_nothing_to_measure() -> None:
    found = contest(baseline=[])
    assert found.turn() is None
    assert named(found) == "baseline"


def test_there_is_no_verdict_while_somebody_has_a_turn() -> None:
    assert verdict(contest(best=[120.0], rule_based=[100.0], baseline=[])) is None


def test_readings_of_zero_are_bad_and_not_an_error() -> None:
    found = contest(best=[0.0, 0.0, 0.0], rule_based=[0.0, 0.0, 0.0], baseline=steady(100.0, 3))
    assert named(found) == "baseline"
    assert all(math.isfinite(g.low) for g in gains(found, "best").values())


def test_a_contest_comes_back_from_its_document() -> None:
    found = contest(limits=(Limit("qps", at_least=1.0),), best=steady(130.0), baseline=steady(100.0))
    document = json.loads(json.dumps(contest_to_dict(found)))
    assert contest_from_dict(document, found.objective, found.limits) == found


@pytest.mark.parametrize("names", [("best",), ("baseline", "baseline"), ()])
def test_a_contest_has_each_finalist_once_and_a_baseline(names: tuple[FinalistName, ...]) -> None:
    finalists = tuple(Finalist(n, SETTINGS[n]) for n in names)
    with pytest.raises(ValueError, match="baseline among them"):
        Contest(Objective("qps", "maximize"), (), finalists)

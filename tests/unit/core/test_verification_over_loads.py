"""Finalists that were measured under several loads: judged by the aim, each load's gain beside it."""

from __future__ import annotations

import json
import math
import random

import pytest
from lutra_models.aims import Aim, Over
from lutra_models.metrics import Goal, Limit, Objective
from lutra_models.verification import (
    Contest,
    Finalist,
    FinalistName,
    contest_from_dict,
    contest_to_dict,
    gains,
    gains_by_load,
    over_loads,
    verdict,
)

SETTINGS: dict[FinalistName, dict[str, int]] = {"baseline": {"a": 0}, "rule_based": {"a": 1}, "best": {"a": 2}}
BASE = {"few": 100.0, "many": 9000.0}
WOBBLE = (1.0, 0.99, 1.01, 1.0, 1.02, 0.98)
Ratios = tuple[float, float]


def contest(
    over: Over, best: Ratios, rules: Ratios | None = None, goal: Goal = "maximize", limits: tuple[Limit, ...] = ()
) -> Contest:
    """Six rounds; the ratios are those of what each finalist reads under the two loads to what the baseline does."""
    ratios: dict[FinalistName, Ratios | None] = {"baseline": (1.0, 1.0), "rule_based": rules, "best": best}
    metric = "qps" if goal == "maximize" else "p99_ms"
    aim = Aim(Objective(metric, goal), dict.fromkeys(BASE, 1.0), over)
    finalists = [
        Finalist(
            name,
            SETTINGS[name],
            tuple({f"{metric}.{x}": BASE[x] * r * w for x, r in zip(BASE, found, strict=True)} for w in WOBBLE),
        )
        for name, found in ratios.items()
        if found is not None
    ]
    return Contest(aim.judged, aim.limits(limits), over_loads(finalists, aim), 6, aim)


@pytest.mark.parametrize(
    ("over", "best", "handed_over"),
    [
        ("weighted", (1.5, 0.9), "best"),
        ("worst", (1.5, 0.9), "baseline"),
        ("worst", (1.5, 1.2), "best"),
        ("weighted", (1.2, 0.7), "baseline"),
    ],
)
def test_what_gains_under_one_load_and_loses_under_another(over: Over, best: Ratios, handed_over: str) -> None:
    decided = verdict(contest(over, best))
    assert decided is not None
    assert decided.name == handed_over


def test_the_gain_of_each_load_is_beside_that_of_the_aim() -> None:
    found = contest("worst", (1.5, 1.2), (1.1, 1.1))
    assert gains(found, "best")["baseline"].median == pytest.approx(0.2)
    by_load = gains_by_load(found, "best")
    assert {x: round(gain.median, 3) for x, gain in by_load["baseline"].items()} == {"few": 0.5, "many": 0.2}
    decided = verdict(found)
    assert decided is not None
    assert "qps under the worst of few, many better by +9%" in decided.sentence
    assert "many +20% (" in decided.sentence
    assert "over the baseline [few +50% (" in decided.sentence


def test_a_latency_is_better_where_it_is_lower() -> None:
    found = contest("worst", (0.5, 0.8), goal="minimize")
    assert gains(found, "best")["baseline"].median == pytest.approx(0.2)
    assert verdict(found).name == "best"  # type: ignore[union-attr]


def test_a_limit_is_kept_under_each_load() -> None:
    found = contest("weighted", (3.0, 0.8), limits=(Limit("qps", at_least=8500.0),))
    assert found.breaks("best") == "qps.few ≥ 8500"
    found = contest("weighted", (3.0, 0.8), limits=(Limit("qps.many", at_least=8500.0),))
    assert found.out("best") == "breaks the limit qps.many ≥ 8500"


@pytest.mark.parametrize("over", ["weighted", "worst"])
def test_a_stored_contest_comes_to_the_same_verdict(over: Over) -> None:
    found = contest(over, (1.5, 1.2), (1.1, 1.1))
    again = contest_from_dict(json.loads(json.dumps(contest_to_dict(found))), found.objective, found.limits)
    assert again == found
    assert verdict(again) == verdict(found)


def test_a_contest_without_several_loads_is_stored_as_before() -> None:
    one = Contest(Objective("qps", "maximize"), (), (Finalist("baseline", {"a": 0}, ({"qps": 1.0},)),), 3)
    assert set(contest_to_dict(one)) == {"budget", "finalists"}
    assert gains_by_load(one, "baseline") == {}


@pytest.mark.parametrize("over", ["weighted", "worst"])
def test_of_equals_the_interval_holds_no_difference_and_nobody_is_ahead_by_luck(over: Over) -> None:
    """Looked at after each of sixteen rounds; what gains under one load alone is no better under the worst."""
    rng, budget, sessions = random.Random(1), 16, 150
    aim = Aim(Objective("qps", "maximize"), dict.fromkeys(BASE, 1.0), over)
    true = (1.3, 1.0) if over == "worst" else (1.1, 1 / 1.1)
    wrong = held = 0
    for _ in range(sessions):
        read: dict[FinalistName, list[dict[str, float]]] = {
            name: [
                {f"qps.{x}": BASE[x] * r * math.exp(0.08 * rng.gauss(0, 1)) for x, r in zip(BASE, ratios, strict=True)}
                for _ in range(budget)
            ]
            for name, ratios in (("baseline", (1.0, 1.0)), ("best", true))
        }
        looks = [
            Contest(
                aim.judged,
                (),
                over_loads([Finalist(n, SETTINGS[n], tuple(rows[:rounds])) for n, rows in read.items()], aim),
                budget,
                aim,
            ).compare("best", "baseline")
            for rounds in range(3, budget + 1)
        ]
        wrong += any(c.low > 0 for c in looks)
        held += all(c.low <= 0 <= c.high for c in looks)
    assert wrong <= 0.08 * sessions
    assert held >= 0.88 * sessions

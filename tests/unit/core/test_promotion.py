"""A candidate beside the champion: the interval over sessions, and what the rule makes of it."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import pytest
from lutra_models.scores import compared, scorecard
from lutra_models.scores.promotion import SourceName, decided, judged, of_cards

SESSIONS = 40
COMPARISONS = 200


def drawn(seed: int, effect: float = 0.0, count: int = SESSIONS, spread: float = 0.3) -> list[float]:
    rng = random.Random(seed)
    return [spread * (effect + rng.gauss(0.0, 1.0)) for _ in range(count)]


def looks(differences: Sequence[float]) -> list[str]:
    """What somebody sees who looks after each session."""
    return [compared(differences[:n]).verdict for n in range(1, len(differences) + 1)]


@pytest.mark.parametrize("sessions", [1, 2, 40, 400])
def test_a_difference_in_the_last_digits_is_none(sessions: int) -> None:
    found = compared([2e-7] * sessions)
    assert found.verdict == "undecided"
    assert not decided(["surrogate"], judged({"past_sessions": [2e-7] * sessions})).promotes


def test_two_sessions_never_tell_however_large_their_difference() -> None:
    assert compared([5.0, 5.0]).low is None
    assert "too few to decide" in judged({"past_sessions": [5.0, 5.0]})[0].sentence


def test_of_equal_versions_few_are_promoted_by_whoever_looks_after_each_session() -> None:
    promoted = [seed for seed in range(COMPARISONS) if "better" in looks(drawn(seed))]
    assert len(promoted) <= 0.05 * COMPARISONS


def test_a_better_version_is_promoted_within_the_number_of_sessions_that_is_told() -> None:
    kept = 0
    for seed in range(COMPARISONS):
        differences = drawn(seed, effect=1.0, count=200)
        first = next(n for n in range(2, 200) if compared(differences[:n]).needed is not None)
        told = first + (compared(differences[:first]).needed or 0)
        kept += any(compared(differences[:n]).verdict == "better" for n in range(first, min(told, 200) + 1))
    assert kept >= 0.9 * COMPARISONS


def test_a_worse_version_is_seen_to_be_worse() -> None:
    seen = ["worse" in looks(drawn(seed, effect=-1.0)) for seed in range(50)]
    assert sum(seen) >= 0.9 * len(seen)


BETTER, WORSE, SAME = [0.3, 0.2, 0.4] * 5, [-0.3, -0.2, -0.4] * 5, [0.0] * 15


@pytest.mark.parametrize(
    ("changed", "known", "promotes", "why"),
    [
        (["surrogate"], {"past_sessions": BETTER}, True, "better, +0.300"),
        (
            ["surrogate"],
            {"past_sessions": BETTER, "played": WORSE},
            False,
            "simulated lab sessions, by the gap to the optimum: worse",
        ),
        (["surrogate"], {"past_sessions": SAME}, False, "might not be enough"),
        (["search"], {"past_sessions": BETTER}, False, "not judged: search"),
        (["search"], {"past_sessions": SAME, "played": BETTER}, True, "simulated lab sessions"),
        (["search", "surrogate"], {"past_sessions": BETTER, "played": SAME}, False, "search: simulated lab sessions"),
        (["safety"], {"played": BETTER}, False, "not judged: safety"),
        (["live"], {"past_sessions": BETTER, "played": BETTER, "played_live": BETTER}, False, "not judged: live"),
        ([], {"past_sessions": BETTER}, False, "computes what the champion computes"),
    ],
)
def test_each_change_is_promoted_by_a_source_that_can_judge_it(
    changed: list[str], known: dict[SourceName, list[float]], promotes: bool, why: str
) -> None:
    decision = decided(changed, judged(known))
    assert decision.promotes is promotes
    assert why in decision.why


def card(*log_scores: float, key: str = "k") -> dict[str, Any]:
    played = {"missed": 0.5, "missed_live": None}
    return scorecard(
        [
            {"session": str(i), "key": key, "played": played, "alone": None, "served": {"n": 9, "log_score": score}}
            for i, score in enumerate(log_scores)
        ],
        [],
    )


def test_cards_are_compared_over_the_sessions_that_both_were_scored_on_as_they_were() -> None:
    found = of_cards(card(1.0, 2.0, 3.0), card(0.5, 2.5))
    assert found == {"past_sessions": [0.5, -0.5], "played": [0.0, 0.0], "played_live": []}
    assert of_cards(card(1.0), card(1.0, key="went on"))["past_sessions"] == []
    assert of_cards(card(1.0), None)["past_sessions"] == []

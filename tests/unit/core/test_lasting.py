"""Does a gain still hold: simulated weeks with false alarms and decays, and what is concluded of a few windows."""

from __future__ import annotations

from dataclasses import replace

import pytest
from lutra_models.judgement import lasts

from tests.support.fakes.weeks import DAY_S, GAIN, KINDS, OF_P99, OF_QPS, Week, gradual, sudden

pytestmark = pytest.mark.slow

CELLS = [(60.0, 0.05), (60.0, 0.15), (300.0, 0.05), (300.0, 0.15)]
STILL = ["holding", "changed", "growing", "rate_steady", "rate_swings"]
LOST = ["suddenly", "gradually", "rate_lost"]


@pytest.mark.thorough
@pytest.mark.parametrize("kind", STILL)
def test_at_most_one_week_in_twenty_has_a_false_alarm(kind: str) -> None:
    assert sum(_weeks(kind)) <= 2


@pytest.mark.thorough
@pytest.mark.parametrize("kind", LOST)
def test_nine_of_ten_losses_of_a_quarter_are_told_within_a_day(kind: str) -> None:
    assert sum(_weeks(kind)) >= 36


def _weeks(kind: str) -> list[bool]:
    """Whether each of forty weeks was reported as a loss."""
    return [
        KINDS[kind](seed, window_s=w, noise=n) for place, (w, n) in enumerate(CELLS) for seed in range(place, 40, 4)
    ]


def test_a_sudden_and_a_gradual_loss_are_told_with_the_interval_of_what_was_lost() -> None:
    for effect in (sudden(2 * DAY_S), gradual(2.5 * DAY_S)):
        (_, found), *_ = Week(7, window_s=300.0, effect=effect).looks(3.4 * DAY_S, 3.6 * DAY_S)
        assert found.state == "decayed"
        assert found.since is not None
        assert found.since.low is not None
        assert found.since.high is not None
        assert found.since.low < 1.25 < found.since.high
        assert found.sentence.startswith("decayed: p99_ms 2")


def test_a_gain_that_holds_is_compared_with_the_time_before_the_change_as_well() -> None:
    week = Week(3, window_s=300.0)
    after, later = week.after[:144], week.after[144:288]
    found = lasts(week.before, after, later, OF_P99)
    assert found.state == "holds"
    assert found.held is not None
    assert found.held.low is not None
    assert found.held.high is not None
    assert found.held.low < GAIN < found.held.high
    assert "lower than before it (90 % interval: " in found.sentence


def test_what_cannot_be_compared_is_unknown_and_says_why() -> None:
    week = Week(3, window_s=300.0)
    after, later = week.after[:144], week.after[144:288]
    assert lasts([], after, [], OF_P99).because == "there are no windows of the last day"
    changed = lasts([], after, [replace(w, group="others") for w in later], OF_P99)
    assert (changed.state, changed.is_over) == ("unknown", True)
    loud = [replace(w, metrics={**w.metrics, "qps": 9000.0}) for w in later]
    assert lasts([], after, loud, OF_P99).because.startswith("fewer than 4 windows of the last day are at the load")
    assert lasts([], after, later, OF_QPS).because.startswith("qps follows its clients: ")

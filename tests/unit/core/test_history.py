from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lutra_models import History, Knob, KnobSpace, Limit, Number, Objective, Observation, Window
from lutra_models.errors import InvalidConfiguration
from lutra_models.history import MODES, weaker

SPACE = KnobSpace([Knob("a", Number(0, 10, integer=True)), Knob("b", Number(0, 1))])
NOW = datetime(2026, 1, 1, tzinfo=UTC)


@given(st.floats(allow_nan=False), st.floats(allow_nan=False))
def test_more_gain_is_always_better(one: float, other: float) -> None:
    assert (Objective("qps", "maximize").gain(one) >= Objective("qps", "maximize").gain(other)) == (one >= other)
    assert (Objective("p99_ms", "minimize").gain(one) >= Objective("p99_ms", "minimize").gain(other)) == (one <= other)


def test_a_limit_has_one_bound() -> None:
    assert Limit("qps", at_least=900).holds(900)
    assert not Limit("p99_ms", at_most=20).holds(20.1)
    for wrong in ({}, {"at_most": 1, "at_least": 0}):
        with pytest.raises(ValueError, match="at_most or at_least"):
            Limit("qps", **wrong)


def test_a_window_is_in_utc_and_ends_after_it_starts() -> None:
    assert Window(NOW, NOW + timedelta(seconds=8)).seconds == 8
    with pytest.raises(ValueError, match="after it starts"):
        Window(NOW, NOW)
    with pytest.raises(ValueError, match="UTC"):
        Window(NOW.astimezone(timezone(timedelta(hours=2))), NOW + timedelta(seconds=1))
    with pytest.raises(ValueError, match="UTC"):
        Window(datetime(2026, 1, 1), NOW)


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), np.nan])
def test_a_missing_measurement_is_absent_and_never_a_number(bad) -> None:
    with pytest.raises(ValueError, match="leave a metric that was not measured out"):
        Observation({"a": 1, "b": 0.5}, {"qps": bad})
    with pytest.raises(ValueError, match="failure"):
        Observation({"a": 1, "b": 0.5}, {})


def test_a_failed_trial_keeps_its_reason_and_no_metric() -> None:
    failed = Observation.failed({"a": 1, "b": 0.5}, reason="did_not_start")
    assert not failed.completed
    assert failed.failure == "did_not_start"
    assert History(SPACE, Objective("qps", "maximize"), observations=[failed]).values("qps") == []


def test_a_history_brings_configurations_into_its_spaces_order() -> None:
    history = History(
        SPACE, Objective("qps", "maximize"), observations=[Observation({"b": 5, "a": 1.0, "c": 9}, {"qps": 1})]
    )
    assert list(history.observations[0].configuration.items()) == [("a", 1), ("b", 5)]
    with pytest.raises(InvalidConfiguration, match="missing settings: b"):
        History(SPACE, Objective("qps", "maximize"), current={"a": 1})


def test_the_same_history_has_the_same_key_and_another_has_another() -> None:
    def history(qps: float, **more) -> History:
        return History(
            SPACE, Objective("qps", "maximize"), observations=[Observation({"a": 1, "b": 0.5}, {"qps": qps})], **more
        )

    assert history(1.0).key == history(1.0).key
    assert history(1.0).key != history(2.0).key
    assert history(1.0).key != history(1.0, limits=[Limit("p99_ms", at_most=9)]).key
    assert history(1.0).key != history(1.0, context={"threads": 16}).key


def test_of_two_modes_the_weaker_counts() -> None:
    assert weaker("lab", "observe") == "observe"
    assert weaker("reload_only", "lab") == "reload_only"
    assert all(weaker(m, m) == m for m in MODES)

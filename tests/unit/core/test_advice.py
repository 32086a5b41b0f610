from __future__ import annotations

from typing import get_args

import pytest
from lutra_models import Prediction
from lutra_models.advice import RecommendationState, pending, step
from lutra_models.errors import IllegalTransition


def test_an_interval_holds_its_median() -> None:
    assert Prediction("qps", 10, 5, 20).holds(20)
    with pytest.raises(ValueError, match="must hold its median"):
        Prediction("qps", 30, 5, 20)


def test_a_recommendation_goes_from_request_to_confirmed_and_can_always_be_taken_back() -> None:
    state: RecommendationState = "computing"
    for to in ("proposed", "approved", "applied", "confirmed", "reverted"):
        state = step(state, to)
    assert state == "reverted"


@pytest.mark.parametrize("ended", ["reverted", "rejected", "refused", "failed", "expired"])
def test_what_has_ended_stays_ended(ended: RecommendationState) -> None:
    assert not pending(ended)
    for to in get_args(RecommendationState):
        with pytest.raises(IllegalTransition, match=ended):
            step(ended, to)

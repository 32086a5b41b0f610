from __future__ import annotations

import pytest
from lutra_models.errors import IllegalTransition
from lutra_models.lifecycle import RecommendationState, SessionState, advance_recommendation, advance_session

R, S = RecommendationState, SessionState


def test_a_recommendation_goes_from_request_to_confirmed_and_can_always_be_taken_back() -> None:
    state = R.COMPUTING
    for to in (R.PROPOSED, R.APPROVED, R.APPLIED, R.CONFIRMED, R.REVERTED):
        state = advance_recommendation(state, to)
    assert state == "reverted"


@pytest.mark.parametrize("ended", [R.REJECTED, R.REFUSED, R.EXPIRED, R.FAILED])
def test_what_has_ended_is_decided_no_more_and_only_an_agents_late_word_makes_it_active(ended: R) -> None:
    assert advance_recommendation(ended, R.APPLIED) == R.APPLIED
    for to in (R.COMPUTING, R.PROPOSED, R.APPROVED, R.CONFIRMED, R.REJECTED, R.EXPIRED):
        with pytest.raises(IllegalTransition, match=ended):
            advance_recommendation(ended, to)


def test_what_was_taken_back_stays_so() -> None:
    for to in R:
        with pytest.raises(IllegalTransition, match="reverted"):
            advance_recommendation(R.REVERTED, to)


@pytest.mark.parametrize("state", list(R))
def test_no_state_leads_to_itself_and_only_observing_to_its_making(state: R) -> None:
    made_again = () if state is R.OBSERVING else (R.COMPUTING,)
    for to in (state, *made_again):
        with pytest.raises(IllegalTransition):
            advance_recommendation(state, to)


def test_a_session_pauses_and_goes_on_until_it_ends() -> None:
    state = S.RUNNING
    for to in (S.PAUSED, S.RUNNING, S.COMPLETED):
        state = advance_session(state, to)
    assert advance_session(S.PAUSED, S.STOPPED) == S.STOPPED
    for ended in (S.COMPLETED, S.STOPPED):
        with pytest.raises(IllegalTransition, match=f"a {ended} session cannot become running"):
            advance_session(ended, S.RUNNING)

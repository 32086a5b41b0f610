"""REST has the words of the life cycles: no more, and no fewer."""

from __future__ import annotations

from typing import get_args

from lutra_models.advice import SearchOrigin
from lutra_models.lifecycle import Origin, RecommendationKind, RecommendationState, SessionState
from lutra_service.api.recommendations import schemas
from lutra_service.api.sessions.schemas import SessionState as ShownSessionState


def test_every_state_and_kind_is_shown_by_its_own_word() -> None:
    assert get_args(schemas.RecommendationState) == tuple(RecommendationState)
    assert get_args(schemas.RecommendationKind) == tuple(RecommendationKind)
    assert get_args(ShownSessionState) == tuple(SessionState)


def test_every_origin_is_shown_and_every_step_of_the_search_is_one() -> None:
    search, other = get_args(schemas.Origin)
    assert search is SearchOrigin
    assert (*get_args(search), *get_args(other)) == tuple(Origin)

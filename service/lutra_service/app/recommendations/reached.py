"""How far a recommendation has come: what a program waits for."""

from __future__ import annotations

from typing import Literal

from lutra_models.advice import RecommendationState

from lutra_service.db.schema.records import Recommendation

Until = Literal["computed", "decided", "applied", "measured", "ended"]

_BEFORE: dict[Until, tuple[RecommendationState, ...]] = {
    "computed": ("computing",),
    "decided": ("computing", "proposed"),
    "applied": ("computing", "proposed", "approved"),
    "ended": ("computing", "proposed", "approved", "applied"),
}


def reached(recommendation: Recommendation, until: Until) -> bool:
    """Whether it has come so far, or has ended and never will."""
    if until == "measured":
        return recommendation.measured is not None or reached(recommendation, "ended")
    return recommendation.state not in _BEFORE[until]

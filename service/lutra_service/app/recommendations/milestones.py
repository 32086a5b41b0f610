"""How far a recommendation has come: what a program waits for."""

from __future__ import annotations

from typing import Literal

from lutra_models.lifecycle import RecommendationState as State

from lutra_service.db.schema.records import Recommendation

Until = Literal["computed", "decided", "applied", "measured", "ended"]

NOT_COMPUTED = (State.OBSERVING, State.COMPUTING)
_BEFORE: dict[Until, tuple[State, ...]] = {
    "computed": NOT_COMPUTED,
    "decided": (*NOT_COMPUTED, State.PROPOSED),
    "applied": (*NOT_COMPUTED, State.PROPOSED, State.APPROVED),
    "ended": (*NOT_COMPUTED, State.PROPOSED, State.APPROVED, State.APPLIED),
}


def has_reached(recommendation: Recommendation, until: Until) -> bool:
    """Whether it has come so far, or has ended and never will."""
    if until == "measured":
        return recommendation.measured is not None or has_reached(recommendation, "ended")
    return recommendation.state not in _BEFORE[until]
